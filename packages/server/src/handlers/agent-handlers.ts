import { AgentError } from "@selvedge/core";
import {
  type AgentExecutionOptions,
  DEFAULT_RUN_LIMITS,
  type MessageInput,
  type MessagesInput,
  type RunOutput,
  type SendToThreadOptions,
  type SendResult,
  type SignalInput,
} from "@selvedge/core/agent";
import { safeWaitingCall } from "@selvedge/core/guards";
import { ownerOfRun, readRunRecord, watchQueue } from "@selvedge/core/threads";
import { callTool, type ToolLike } from "@selvedge/core/tools";
import type { StoredMessage } from "@selvedge/protocol";
import type * as Wire from "@selvedge/protocol/routes";
import type { AnyAgent, App } from "../app.ts";
import { type Answer, type Call, type Handlers, ownerOf, type Tagged } from "../handler.ts";
import { admitContents } from "../admit-contents.ts";
import { checkMetadata } from "../check-metadata.ts";
import { toRequestContext, toRunOptions } from "../run-options.ts";
import { opening, startHeader, startAfter } from "../sse/frames.ts";
import { ThreadEvents } from "../sse/thread-events.ts";
import { neutraliseContents, neutraliseDeep, neutraliseReasons } from "../untrusted-text.ts";
import { agentInfo, toolInfo } from "./agent-info.ts";
import { generateResult } from "./generate-result.ts";
import {
  chunkResponse,
  endIfRunning,
  followRun,
  readDirectly,
  type RunReader,
  saysWhose,
  startDirectly,
  startOnThread,
  withReader,
} from "./run-answers.ts";

export const AGENT_HANDLERS: Handlers<Tagged<"agents">> = {
  listAgents: async ({ app, caller }) => {
    const agents = Object.entries(app.mastra.listAgents()) as [string, AnyAgent][];
    const infos = agents.map(async ([name, agent]) => [name, await agentInfo(agent, caller)] as const);
    return Object.fromEntries(await Promise.all(infos));
  },
  getAgent: async ({ app, caller, params }) => agentInfo(app.agent(params.agentId), caller),

  generate: async (call) => wholeRun(call, await startRun(call)),
  stream: async (call) => chunkResponse(call, await startRun(call)),
  observe,

  sendMessage: (call) => sendPersons(call, "sendMessage"),
  queueMessage: (call) => sendPersons(call, "queueMessage"),
  sendSignal: async (call) => {
    const { app, body, params } = call;
    const options = await sendOptions(call, body);
    return sent(app.agent(params.agentId).sendSignal(await toSignal(call, body.signal), options));
  },
  sendStateSignal: async (call) => {
    const { app, body, params } = call;
    const state = { ...body.state, contents: await admitContents(call, body.state.contents) };
    const result = await app.agent(params.agentId).sendStateSignal(state, await sendOptions(call, body));
    return result.skipped ? result : sent(result);
  },
  sendNotification: async (call) => {
    const { app, body, params } = call;
    const agent = app.agent(params.agentId);
    const address = { threadId: body.threadId, resourceId: ownerOf(call) };
    const list = Array.isArray(body.notification) ? body.notification : [body.notification];
    const results = await agent.sendNotificationSignal(list, address);
    const sent = results.map(({ record, decision: { streamOptions: _, ...decision }, runId, signal }) => ({
      accepted: true as const,
      record,
      decision,
      runId,
      signal,
    }));
    return Array.isArray(body.notification) ? sent : sent[0]!;
  },

  subscribe: async (call) => follow(call, call.params.agentId, call.body.threadId, call.body.after),
  watchThread: async (call) => follow(call, call.params.agentId, call.params.threadId, call.query.after),
  abortThread: async (call) => {
    const subscription = await call.app
      .agent(call.params.agentId)
      .subscribeToThread({ threadId: call.body.threadId, resourceId: ownerOf(call) });
    const runId = subscription.activeRunId();
    const aborted = subscription.abort();
    subscription.unsubscribe();
    return { aborted, ...(runId !== null && { runId }) };
  },

  sendToolApproval: async (call) => {
    const { app, body, params, caller } = call;
    const agent = app.agent(params.agentId);
    const { messages, streamOptions, requestContext, resourceId: _, declineContext, ...decision } = body;
    const options = messages && {
      messages: await admitMessages(call, messages),
      streamOptions: await toRunOptions(
        { ...streamOptions, ...(requestContext && { requestContext }) },
        call,
        agent,
      ),
    };
    const { accepted, runId, toolCallId } = await agent.sendToolApproval({
      ...decision,
      ...(declineContext && {
        declineContext: caller.has("signals") ? declineContext : neutraliseReasons(declineContext),
      }),
      ...options,
      resourceId: ownerOf(call),
    });
    return { accepted, runId, toolCallId };
  },
  approveToolCall: async (call) => chunkResponse(call, await answer(call, true)),
  declineToolCall: async (call) => chunkResponse(call, await answer(call, false)),
  resumeStream: async (call) => chunkResponse(call, await answer(call, true)),
  approveToolCallGenerate: async (call) => wholeRun(call, await answer(call, true)),
  declineToolCallGenerate: async (call) => wholeRun(call, await answer(call, false)),
  listSuspendedRuns: async ({ app, params, query, resourceId, caller }) => {
    const { fromDate, toDate, resourceId: _, ...rest } = query;
    const { runs, total } = await app.agent(params.agentId).listSuspendedRuns({
      ...rest,
      ...(resourceId !== undefined && { resourceId }),
      ...(fromDate !== undefined && { fromDate: new Date(fromDate) }),
      ...(toDate !== undefined && { toDate: new Date(toDate) }),
    });
    const shown = caller.has("inspect")
      ? runs
      : runs.map((run) => ({ ...run, toolCalls: run.toolCalls.map(safeWaitingCall) }));
    return { runs: shown, total };
  },

  getAgentTool: async (call) => {
    const { name, tool } = await findTool(call);
    return toolInfo(name, tool);
  },
  executeAgentTool: async (call) => {
    const { name, tool } = await findTool(call);
    return runTool(call, name, tool);
  },
};

/** Runs a tool for a caller. A tool that requires approval needs a caller who may approve. */
export async function runTool(
  call: Pick<Call<"executeTool">, "app" | "body" | "caller" | "request" | "resourceId">,
  name: string,
  tool: ToolLike,
): Promise<unknown> {
  const { app, body, caller } = call;
  if (body.approved === true) caller.require("approve-tools", "approved: true");
  if (body.requestContext !== undefined) caller.require("run-options", "requestContext");
  return callTool(tool, {
    name,
    input: body.data,
    limits: DEFAULT_RUN_LIMITS,
    approved: body.approved,
    requestContext: toRequestContext(body.requestContext, caller),
    mastra: app.mastra,
    resourceId: call.resourceId,
    abortSignal: call.request.signal,
    system: app.system,
  });
}

async function findTool({
  app,
  params,
  caller,
}: Pick<Call<"getAgentTool">, "app" | "params" | "caller">): Promise<{ name: string; tool: ToolLike }> {
  const agent = app.agent(params.agentId);
  const tools: Record<string, ToolLike> = await agent.listTools({
    requestContext: toRequestContext(undefined, caller),
  });
  return pickTool(tools, params.toolId);
}

/** Finds a tool by its registered name or its id. */
export function pickTool(tools: Record<string, ToolLike>, toolId: string): { name: string; tool: ToolLike } {
  if (Object.hasOwn(tools, toolId)) return { name: toolId, tool: tools[toolId] as ToolLike };
  const found = Object.entries(tools).find(([, tool]) => tool.id === toolId);
  if (found) return { name: found[0], tool: found[1] };
  throw new AgentError("tool-not-found", `There is no tool "${toolId}".`);
}

/** Run options that only the server sets. */
export interface RunPlace {
  runId?: string | undefined;
  /** Earlier messages, for a run without a thread. */
  history?: readonly StoredMessage[] | undefined;
  /** Leaves the thread unchanged. */
  readOnly?: boolean | undefined;
}

/** Starts the run of a request, on its thread or without one. */
export async function startRun(
  call: Pick<Call<"generate">, "app" | "body" | "params" | "caller" | "threadId" | "resourceId">,
  place: RunPlace = {},
): Promise<RunReader & { output: RunOutput }> {
  const { app, body, params, caller } = call;
  const agent = app.agent(params.agentId);
  const { messages: given, memory, threadId: _, resourceId: __, runId, ...asked } = body;
  const said = await admitMessages(call, given);
  const messages = place.history ? ([...place.history, ...(said as never[])] as MessagesInput) : said;
  if (memory?.options !== undefined) caller.require("run-options", "memory.options");
  const options = await toRunOptions(asked, call, agent);
  // A caller must not choose an id that another caller's run has or will have.
  if (runId !== undefined) {
    caller.require("run-options", "runId");
    options.runId = await freeRunId(app, agent, runId);
  }
  if (place.runId !== undefined) options.runId = place.runId;
  if (call.threadId === undefined) {
    const reader = await startDirectly(agent, messages, options, ownerOf(call));
    app.keepRun(reader.output.runId, ownerOf(call));
    app.countRun(ownerOf(call), reader.output);
    return reader;
  }
  const address = { threadId: call.threadId, resourceId: ownerOf(call) };
  const thread = typeof memory?.thread === "object" ? memory.thread : call.threadId;
  if (typeof thread === "object") checkMetadata(caller, thread.metadata);
  const onThread: AgentExecutionOptions = {
    ...options,
    memory: {
      ...memory,
      thread,
      resource: address.resourceId,
      ...(place.readOnly && { readOnly: true }),
    },
  };
  if (memory?.readOnly || place.readOnly) {
    const reader = await startDirectly(agent, messages, onThread, address.resourceId);
    app.countRun(address.resourceId, reader.output);
    return reader;
  }
  return startOnThread(agent, address, () => agent.stream(messages, onThread));
}

/** The full result of a run, at its end. */
async function wholeRun(
  call: Pick<Call, "request" | "caller">,
  reader: RunReader & { output: RunOutput },
): Promise<Answer<"generate">> {
  return withReader(call.request, reader, async () =>
    generateResult(await reader.output.getFullOutput(), call.caller),
  );
}

/** Two runs with one id would receive each other's approvals. */
async function freeRunId(app: App, agent: AnyAgent, runId: string): Promise<string> {
  // The id is also sent in a header.
  if (!/^[\x21-\x7e]+$/.test(runId))
    throw new AgentError("invalid-argument", "body.runId: Use visible ASCII characters only.");
  const isKept = app.ownerOfKeptRun(runId) !== undefined;
  if (isKept || (await ownerOfRun(await agent.getThreadStorage(), runId)))
    throw new AgentError("conflict", `There is already a run "${runId}". Leave the id out, or use another.`);
  return runId;
}

/** Converts messages for a run. Callers speak as a user; other roles need a grant. */
export async function admitMessages(
  call: Pick<Call, "app" | "caller">,
  given: unknown,
): Promise<MessagesInput> {
  if (Array.isArray(given) && given.length === 0)
    throw new AgentError("invalid-argument", "There is no message in this request. Send at least one.");
  const messages = (await admitContents(call, given)) as MessagesInput;
  if (call.caller.has("run-options")) return messages;
  for (const message of Array.isArray(messages) ? (messages as unknown[]) : []) {
    const role = (message as { role?: unknown } | null)?.role;
    if (role === "system" || role === "signal" || role === "developer")
      throw new AgentError("forbidden", `Messages with the role "${role}" need the grant "run-options".`);
  }
  return neutraliseDeep(messages);
}

/** The chunks of one run, while they are stored. */
async function observe(call: Call<"observe">): Promise<Response> {
  const { app, params, body, request } = call;
  const { runId, threadId } = body;
  const agent = app.agent(params.agentId);
  if (!(await readRunRecord(await agent.getThreadStorage(), body)))
    throw new AgentError("not-found", `There is no run "${runId}" on thread "${threadId}".`);
  const run = { threadId, resourceId: ownerOf(call), runId };
  return chunkResponse(call, await followRun(agent, run, startAfter(request, body.after)));
}

async function follow(
  call: Pick<Call, "app" | "caller" | "request" | "resourceId">,
  agentId: string,
  threadId: string,
  said: number | undefined,
): Promise<Response> {
  const after = startAfter(call.request, said);
  const agent = call.app.agent(agentId);
  const storage = await agent.getThreadStorage();
  const subscription = await agent.subscribeToThread({
    threadId,
    resourceId: ownerOf(call),
    ...(after !== undefined && { after }),
  });
  return call.app.stream(
    call,
    new ThreadEvents(subscription, call.app.frames(call.caller, call.request), call.app.pace, (onChange) =>
      watchQueue(storage, threadId, onChange),
    ),
    opening(subscription.after),
    startHeader(subscription.after),
  );
}

async function answer(
  call: Pick<Call<"approveToolCall">, "app" | "params" | "caller" | "threadId" | "resourceId"> & {
    body: Wire.AnswerCallBody | Wire.DeclineCallBody;
  },
  approved: boolean,
): Promise<RunReader & { output: RunOutput }> {
  const { app, params, caller } = call;
  const agent = app.agent(params.agentId);
  const { runId, toolCallId, resumeData, reason, ...asked } = call.body as Wire.AnswerCallBody &
    Wire.DeclineCallBody;
  const controller = new AbortController();
  const options = {
    ...(await toRunOptions(asked, call, agent)),
    ...(call.threadId === undefined && { abortSignal: controller.signal }),
    runId,
    ...(toolCallId !== undefined && { toolCallId }),
    ...(resumeData !== undefined && { resumeData }),
  };
  const given = reason === undefined ? {} : { reason };
  const why = caller.has("signals") ? given : neutraliseReasons(given);
  const start = () =>
    approved ? agent.approveToolCall(options) : agent.declineToolCall({ ...options, ...why });
  if (call.threadId !== undefined)
    return startOnThread(agent, { threadId: call.threadId, resourceId: ownerOf(call) }, start);
  saysWhose(options, ownerOf(call));
  const output = await start();
  app.countRun(ownerOf(call), output);
  return Object.assign(
    readDirectly(output, () => endIfRunning(output, controller)),
    { output },
  );
}

async function sendPersons(
  call: Call<"sendMessage"> | Call<"queueMessage">,
  method: "sendMessage" | "queueMessage",
): Promise<Answer<"sendMessage">> {
  const { app, body, params } = call;
  const options = await sendOptions(call, body);
  return sent(app.agent(params.agentId)[method](await toMessage(call, body.message), options));
}

async function sendOptions(
  call: Pick<Call<"sendMessage">, "app" | "params" | "caller" | "request" | "threadId" | "resourceId">,
  body: Wire.SendTarget,
): Promise<SendToThreadOptions> {
  const { app, params, caller, request } = call;
  const key = request.headers.get("idempotency-key") ?? body.idempotencyKey;
  const { ifActive, ifIdle } = body;
  if (call.threadId === undefined)
    throw new AgentError("invalid-argument", "Pass threadId, or the runId of an active run.");
  const streamOptions =
    ifIdle?.streamOptions || Object.keys(caller.requestContext).length > 0
      ? await toRunOptions(ifIdle?.streamOptions ?? {}, call, app.agent(params.agentId))
      : undefined;
  return {
    threadId: call.threadId,
    resourceId: ownerOf(call),
    ...(ifActive && { ifActive }),
    ...((ifIdle || streamOptions) && {
      ifIdle: { ...ifIdle, streamOptions } as NonNullable<SendToThreadOptions["ifIdle"]>,
    }),
    ...(key !== undefined && key !== null && { idempotencyKey: key }),
  };
}

async function toMessage(
  call: Pick<Call, "app" | "caller">,
  given: Wire.MessageInput,
): Promise<MessageInput> {
  const message = await admitContents(call, given);
  if (call.caller.has("signals")) return message;
  if (typeof message === "string" || Array.isArray(message)) return neutraliseContents(message);
  return { ...message, contents: neutraliseContents(message.contents) };
}

/** Only user messages, unless the caller has a grant. */
async function toSignal(call: Pick<Call, "app" | "caller">, given: Wire.SignalBody): Promise<SignalInput> {
  const { caller } = call;
  const signal = await admitContents(call, given);
  if (caller.has("signals")) return signal;
  const { type, tagName = "user" } = signal;
  if ((type !== "user" && type !== "user-message") || tagName !== "user")
    caller.require("signals", `A signal of type "${type}" with the tag "${tagName}"`);
  return { ...signal, contents: neutraliseContents(signal.contents) };
}

async function sent(result: SendResult): Promise<Answer<"sendMessage">> {
  const { runId = result.runId, action, duplicate } = await result.admitted;
  // Counted only after admission: a message that was sent before returns its first result.
  const { signal } = result;
  return { accepted: true, runId, signal, action, duplicate };
}
