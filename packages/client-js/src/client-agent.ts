import { AgentError, type AgentChunk, type PayloadChunk, type ToolCallPayload } from "@selvedge/protocol";
import type {
  AgentInfo,
  AnswerCallBody,
  DeclineCallBody,
  ExecuteToolBody,
  GenerateBody,
  GenerateResult,
  ObserveBody,
  RouteCalls,
  RunOptions,
  SendMessageBody,
  SendNotificationBody,
  SendNotificationResult,
  SendResult,
  SendSignalBody,
  SendStateBody,
  SendStateResult,
  SubscribeBody,
  ThreadAddress,
  ToolApprovalBody,
  ToolInfo,
} from "@selvedge/protocol/routes";
import { checkName } from "./check-name.ts";
import { call, type CallResult } from "./call.ts";
import { ChunkStream, END_OF_RUN, type Place, type Reopen, type WireChunk } from "./chunk-stream.ts";
import {
  describeOptions,
  localCalls,
  type LocalTools,
  OpenCalls,
  runTools,
  type ToolResultMessage,
} from "./client-tools.ts";
import type { Connection } from "./connection.ts";
import { newId } from "./new-id.ts";
import { type NextRun, RunStream } from "./run-stream.ts";
import { ThreadSubscription } from "./thread-subscription.ts";
import type { RequestInput, Transport } from "./transport.ts";

/** Run options, with tools that run here. */
type WithTools<Options> = Omit<Options, "clientTools"> & { clientTools?: LocalTools; signal?: AbortSignal };

/** The input of a run: a text, texts, or messages `{ role, content }`. */
export type Messages = GenerateBody["messages"];
export type GenerateOptions = WithTools<Omit<GenerateBody, "messages">>;
export type AnswerOptions = WithTools<AnswerCallBody>;
export type DeclineOptions = WithTools<DeclineCallBody>;

type WakeOptions = {
  ifIdle?: Omit<NonNullable<SendMessageBody["ifIdle"]>, "streamOptions"> & {
    streamOptions?: WithTools<RunOptions>;
  };
};
export type SendMessageOptions = Omit<SendMessageBody, "ifIdle"> & WakeOptions;
export type SendSignalOptions = Omit<SendSignalBody, "ifIdle"> & WakeOptions;
export type SendStateOptions = Omit<SendStateBody, "ifIdle"> & WakeOptions;
export type ToolApprovalOptions = Omit<ToolApprovalBody, "streamOptions"> & {
  streamOptions?: WithTools<RunOptions>;
};

export interface SubscribeOptions extends SubscribeBody {
  /**
   * Tools that run here when a run on this thread calls them. Two subscribers with the same tool both run it; the
   * server uses the first result.
   */
  clientTools?: LocalTools;
  signal?: AbortSignal;
}

/** The limit for a model that calls client tools repeatedly. */
const MAX_ROUNDS = 50;

/** An agent on a server. */
export class ClientAgent {
  readonly id: string;
  readonly #transport: Transport;

  constructor(transport: Transport, id: string) {
    this.#transport = transport;
    this.id = checkName("an agent", id);
  }

  details(): Promise<AgentInfo> {
    return this.#call("getAgent", {});
  }

  /** Runs to the end. Client tools are executed here, and their results sent, until the model is done. */
  async generate(messages: Messages, options: GenerateOptions = {}): Promise<GenerateResult> {
    const { signal, ...rest } = options;
    const { clientTools: tools = {} } = options;
    const thread = threadOf(options);
    let body = describeOptions({ ...rest, messages });
    for (let round = 0; ; round++) {
      const result = await this.#call("generate", { body, signal });
      const calls = localCalls(openCallsOf(result), tools);
      if (!calls || round >= MAX_ROUNDS) return result;
      const where = { runId: result.runId, ...thread };
      const answers = await runTools(calls, tools, where, signal ?? new AbortController().signal);
      body = nextBody(body, result.messages, answers);
    }
  }

  /**
   * Runs and streams the chunks. On a thread, run and stream survive a broken connection. Client tools are executed
   * here, and the run that continues with their results follows on the same stream.
   */
  async stream(messages: Messages, options: GenerateOptions = {}): Promise<RunStream> {
    const { signal, ...rest } = options;
    const { clientTools: tools } = options;
    const { threadId, resourceId } = threadOf(options);
    let body = describeOptions({ ...rest, messages });
    const open = async () => {
      const connection = await this.#call("stream", { body, signal });
      return this.#runStream(connection, options);
    };
    const stream = await open();
    if (!tools) return new RunStream(stream);
    if (threadId === undefined) {
      return new RunStream(
        stream,
        this.#answering(tools, {}, (answers, { payload }) => {
          body = nextBody(body, payload.messages.all, answers);
          return open();
        }),
      );
    }
    const thread = { threadId, ...(resourceId !== undefined && { resourceId }) };
    return new RunStream(
      stream,
      this.#answering(tools, thread, async (answers, _, after) => {
        const { runId } = await this.#sendResults(thread, answers, runOptions(body));
        return this.#observed({ ...thread, runId, ...(after !== undefined && { after }) });
      }),
    );
  }

  /** Sends a user message to the active run, or starts one. The message is stored when this resolves. */
  sendMessage(params: SendMessageOptions): Promise<SendResult> {
    return this.#send("sendMessage", params);
  }

  /** Queues a user message for a separate run after the active one. */
  queueMessage(params: SendMessageOptions): Promise<SendResult> {
    return this.#send("queueMessage", params);
  }

  sendSignal(params: SendSignalOptions): Promise<SendResult> {
    return this.#send("sendSignal", params);
  }

  /** Sends a thread the current state of something, if it changed. */
  sendStateSignal(params: SendStateOptions): Promise<SendStateResult> {
    return this.#call("sendStateSignal", { body: describeWake(params) });
  }

  /** Adds one or several external events to the inbox of a thread. */
  sendNotificationSignal(
    params: SendNotificationBody,
  ): Promise<SendNotificationResult | SendNotificationResult[]> {
    return this.#call("sendNotification", { body: params });
  }

  /** Subscribes to a thread. Subscribe before you send: whatever is sent afterwards is on the stream. */
  async subscribeToThread(params: SubscribeOptions): Promise<ThreadSubscription> {
    const { clientTools, signal: given, after, ...thread } = params;
    const open = ({ after: from }: Place, signal: AbortSignal | undefined, repeatable = false) => {
      const body = { ...thread, ...(from !== undefined && { after: from }) };
      return this.#call("subscribe", { body, signal }, repeatable);
    };
    const stream = new ChunkStream(await open({ after }, given, true), open, { after });
    given?.addEventListener("abort", () => stream.leave(), { once: true });
    const abort = async () => (await this.abortThread(thread)).aborted;
    return new ThreadSubscription(stream, abort, clientTools && this.#answersOn(thread, clientTools));
  }

  /** Aborts the active run of a thread, in whichever process it runs. */
  abortThread(params: ThreadAddress): Promise<{ aborted: boolean; runId?: string }> {
    return this.#call("abortThread", { body: params });
  }

  /** Approves or declines a waiting call; its run continues on the thread's stream. */
  sendToolApproval(
    params: ToolApprovalOptions,
  ): Promise<{ accepted: true; runId: string; toolCallId: string }> {
    const { streamOptions, ...rest } = params;
    return this.#call("sendToolApproval", {
      body: { ...rest, ...(streamOptions && { streamOptions: describeOptions(streamOptions) }) },
    });
  }

  /** Approves a waiting call and returns the rest of its run as a separate stream. */
  async approveToolCall(params: AnswerOptions): Promise<RunStream> {
    return this.#continued("approveToolCall", params);
  }

  async declineToolCall(params: DeclineOptions): Promise<RunStream> {
    return this.#continued("declineToolCall", params);
  }

  /** Answers a suspended call with `resumeData` and returns the rest of its run. */
  async resumeStream(params: AnswerOptions): Promise<RunStream> {
    return this.#continued("resumeStream", params);
  }

  approveToolCallGenerate({ signal, ...params }: AnswerOptions): Promise<GenerateResult> {
    return this.#call("approveToolCallGenerate", { body: describeOptions(params), signal });
  }

  declineToolCallGenerate({ signal, ...params }: DeclineOptions): Promise<GenerateResult> {
    return this.#call("declineToolCallGenerate", { body: describeOptions(params), signal });
  }

  /** The chunks of one run on a thread, from its start or after a number. */
  async observe(params: ObserveBody): Promise<RunStream> {
    return new RunStream(await this.#observed(params));
  }

  listSuspendedRuns(
    query: RouteCalls["listSuspendedRuns"]["query"] = {},
  ): Promise<RouteCalls["listSuspendedRuns"]["response"]> {
    return this.#call("listSuspendedRuns", { query });
  }

  getTool(toolId: string): Promise<ToolInfo> {
    return this.#call("getAgentTool", { params: { toolId } });
  }

  executeTool(toolId: string, body: ExecuteToolBody = {}): Promise<unknown> {
    return this.#call("executeAgentTool", { params: { toolId }, body });
  }

  #call<Name extends keyof RouteCalls>(
    name: Name,
    input: RequestInput,
    repeatable?: boolean,
  ): Promise<CallResult<Name>> {
    return call(
      this.#transport,
      name,
      { ...input, params: { agentId: this.id, ...input.params } },
      repeatable === undefined ? {} : { repeatable },
    );
  }

  /** With a key, so that it can be retried until it is acknowledged and still counts once. */
  #send<Name extends "sendMessage" | "queueMessage" | "sendSignal">(
    name: Name,
    params: (SendMessageOptions | SendSignalOptions) & { idempotencyKey?: string },
  ): Promise<CallResult<Name>> {
    const headers = { "idempotency-key": params.idempotencyKey ?? newId() };
    return this.#call(name, { body: describeWake(params), headers });
  }

  async #continued(
    name: "approveToolCall" | "declineToolCall" | "resumeStream",
    { signal, ...params }: AnswerOptions | DeclineOptions,
  ): Promise<RunStream> {
    const connection = (await this.#call(name, {
      body: describeOptions(params),
      signal,
    })) as Connection<WireChunk>;
    const stream = new ChunkStream(connection, undefined, { end: END_OF_RUN });
    signal?.addEventListener("abort", () => stream.leave(), { once: true });
    return new RunStream(stream);
  }

  #runStream(connection: Connection<WireChunk>, options: GenerateOptions): ChunkStream {
    const { threadId, resourceId } = threadOf(options);
    const reopen: Reopen = ({ after, runId }, signal) => {
      if (runId === undefined)
        throw new AgentError("connection-failed", "The stream ended before the run had an id.");
      const thread = { threadId: threadId as string, ...(resourceId !== undefined && { resourceId }) };
      return this.#openObserved({ ...thread, runId, ...(after !== undefined && { after }) }, signal);
    };
    const stream = new ChunkStream(connection, threadId === undefined ? undefined : reopen, {
      end: END_OF_RUN,
    });
    options.signal?.addEventListener("abort", () => stream.leave(), { once: true });
    return stream;
  }

  async #observed(params: ObserveBody): Promise<ChunkStream> {
    const open = ({ after }: Place, signal?: AbortSignal, repeatable = false) =>
      this.#openObserved({ ...params, ...(after !== undefined && { after }) }, signal, repeatable);
    const connection = await open(params, undefined, true);
    return new ChunkStream(connection, open, { after: params.after, end: END_OF_RUN });
  }

  #openObserved(
    body: ObserveBody,
    signal: AbortSignal | undefined,
    repeatable = false,
  ): Promise<Connection<WireChunk>> {
    return this.#call("observe", { body, signal }, repeatable);
  }

  /** Executes the calls a run leaves to this client, then continues with `follow`. */
  #answering(
    tools: LocalTools,
    thread: Partial<ThreadAddress>,
    follow: (
      answers: ToolResultMessage,
      finish: PayloadChunk<"finish">,
      after: number | undefined,
    ) => Promise<ChunkStream>,
  ): NextRun {
    const open = new OpenCalls();
    let rounds = 0;
    return async (chunk, after, signal) => {
      const calls = localCalls(open.take(chunk), tools);
      if (!calls || ++rounds > MAX_ROUNDS) return undefined;
      const answers = await runTools(calls, tools, { runId: chunk.runId, ...thread }, signal);
      return signal.aborted ? undefined : follow(answers, chunk as PayloadChunk<"finish">, after);
    };
  }

  #answersOn(
    thread: ThreadAddress,
    tools: LocalTools,
  ): (chunk: AgentChunk, signal: AbortSignal) => Promise<void> | undefined {
    const open = new OpenCalls();
    let rounds = 0;
    return (chunk, signal) => {
      if (chunk.type === "data-user-message") rounds = 0;
      const calls = localCalls(open.take(chunk), tools);
      if (!calls || ++rounds > MAX_ROUNDS) return undefined;
      return this.#answerCalls(thread, tools, calls, chunk.runId, signal);
    };
  }

  async #answerCalls(
    thread: ThreadAddress,
    tools: LocalTools,
    calls: Parameters<typeof runTools>[0],
    runId: string,
    signal: AbortSignal,
  ): Promise<void> {
    const answers = await runTools(calls, tools, { runId, ...thread }, signal);
    if (signal.aborted) return;
    try {
      await this.#sendResults(thread, answers, describeOptions({ clientTools: tools }));
    } catch (error) {
      // Another reader of the thread was first.
      if (!AgentError.is(error, "already-decided") && !AgentError.is(error, "not-found")) throw error;
    }
  }

  /** Retried until it is acknowledged: the server accepts the results of a call once. */
  #sendResults(
    thread: ThreadAddress,
    answers: ToolResultMessage,
    streamOptions: RunOptions,
  ): Promise<{ runId: string }> {
    const body: ToolApprovalBody = { ...thread, approved: true, messages: [{ ...answers }], streamOptions };
    return this.#call("sendToolApproval", { body }, true);
  }
}

function describeWake<Params extends WakeOptions>(params: Params): Params {
  const streamOptions = params.ifIdle?.streamOptions;
  if (!streamOptions) return params;
  return { ...params, ifIdle: { ...params.ifIdle, streamOptions: describeOptions(streamOptions) } };
}

function threadOf({ memory, threadId, resourceId }: GenerateOptions): Partial<ThreadAddress> {
  const thread = memory?.thread ?? threadId;
  const resource = memory?.resource ?? resourceId;
  return {
    ...(thread !== undefined && { threadId: typeof thread === "string" ? thread : thread.id }),
    ...(resource !== undefined && { resourceId: resource }),
  };
}

/** The calls of a complete answer that have no result. */
function openCallsOf({ finishReason, toolCalls, toolResults }: GenerateResult): ToolCallPayload[] {
  if (finishReason !== "tool-calls") return [];
  const settled = new Set((toolResults as ToolCallPayload[]).map(({ toolCallId }) => toolCallId));
  return (toolCalls as ToolCallPayload[]).filter(
    ({ toolCallId, providerExecuted }) => !settled.has(toolCallId) && !providerExecuted,
  );
}

/** A thread knows the conversation; without one, all messages are sent again, with the results. */
function nextBody<Body extends Partial<GenerateBody>>(
  body: Body,
  said: readonly object[],
  answers: ToolResultMessage,
): Body {
  const { context: _, ...rest } = body;
  const before = threadOf(body as GenerateOptions).threadId === undefined ? said : [];
  return { ...rest, messages: [...before, answers] } as unknown as Body;
}

/** The options of a run, without those for its first call. */
function runOptions(body: GenerateBody): RunOptions {
  const { messages: _m, memory: _y, threadId: _t, resourceId: _r, runId: _i, ...options } = body;
  return options;
}
