import { createHash } from "node:crypto";
import type { AgentChunk, WorkflowTripwire } from "@selvedge/protocol";
import { AgentError, errorMessage } from "../errors.ts";
import type { Schema } from "../schema/schema.ts";
import { RUNS } from "../storage/thread-tables.ts";
import { readRunRecord, type RunRecord } from "../thread/inspect/thread-overview.ts";
import type { AgentLike } from "./agent-like.ts";
import { StepTripwire } from "./execute-step.ts";
import { type ExecuteParams, LIFE, type Question, type Step, type StepScorers, WITHDRAW } from "./step.ts";

export interface AgentStepOptions<Output extends Schema | undefined = Schema | undefined> {
  retries?: number;
  scorers?: StepScorers;
  metadata?: Record<string, unknown>;
  structuredOutput?: { schema: Output; [key: string]: unknown };
  onFinish?: (event: any) => unknown;
  /** The options of `stream()`. */
  [option: string]: unknown;
}

const PROMPT = {
  type: "object",
  properties: { prompt: { type: "string" } },
  required: ["prompt"],
} as const;
const TEXT = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;
const ANYTHING = {} as const;

/** A step that asks an agent. Its chunks go to the run's stream; a tool call that waits for a person suspends the step. */
export function agentStep(agent: AgentLike, options: AgentStepOptions = {}, id: string = agent.id): Step {
  const { retries, scorers, metadata, ...runOptions } = options;
  return {
    id,
    description: agent.description,
    inputSchema: PROMPT,
    outputSchema: runOptions.structuredOutput?.schema ?? TEXT,
    resumeSchema: ANYTHING,
    suspendSchema: ANYTHING,
    component: "AGENT",
    ...(retries !== undefined && { retries }),
    ...(scorers && { scorers }),
    ...(metadata && { metadata }),
    execute: (params: ExecuteParams) => askAgent(agent, params, runOptions),
    [WITHDRAW]: (question: Question) => withdraw(agent, question),
  } as Step;
}

async function askAgent(
  agent: AgentLike,
  params: ExecuteParams,
  options: Record<string, unknown>,
): Promise<unknown> {
  const { inputData, resumeData, suspendData, requestContext } = params;
  const waits = suspendData as WaitingCall | undefined;
  const isAnswer = resumeData !== undefined && waits?.toolCallId !== undefined;
  const life = (isAnswer ? waits.life : params[LIFE]) ?? 1;
  const key = keyOf(params, life);
  const thread = await threadOf(agent, key, params, options);
  // The agent's run is stored: after a crash it continues by itself, and the step reads along.
  const { runId, record } = await findRun(agent, thread, key, params);
  const mayFollow = record !== undefined && !(isAnswer && record.state === "suspended");
  if (mayFollow) return finish(params, options, life, await followRun(agent, thread!, record, params));
  try {
    const output = isAnswer
      ? await answer(agent, { ...waits, runId }, resumeData)
      : await agent.stream((inputData as { prompt: string }).prompt, {
          ...options,
          ...(thread && { memory: { thread: thread.threadId, resource: thread.resourceId } }),
          runId,
          requestContext,
          abortSignal: thread ? cancellationOf(params.abortSignal) : params.abortSignal,
        });
    if (thread && isAnswer) abortOnCancel(agent, thread, runId, params.abortSignal);
    return finish(params, options, life, await readAnswer(output, params));
  } catch (error) {
    if (!thread || !AgentError.is(error, "superseded")) throw error;
    // Another process has the agent's run, and this one still has the step.
    const { record: elsewhere } = await findRun(agent, thread, key, params);
    if (!elsewhere) throw error;
    return finish(params, options, life, await followRun(agent, thread, elsewhere, params));
  }
}

/**
 * A step is told to stop when its run is canceled, and also when its process gives the run up. A stored run of the agent is
 * aborted only in the first case: in the second, it belongs to the next process.
 */
function cancellationOf(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const passOn = (): void => {
    if (isCanceled(signal)) controller.abort(signal.reason);
  };
  if (signal.aborted) passOn();
  else signal.addEventListener("abort", passOn, { once: true });
  return controller.signal;
}

function isCanceled({ aborted, reason }: AbortSignal): boolean {
  return aborted && !AgentError.is(reason, "superseded");
}

/** Aborts a run that was answered: an answer comes without a signal. */
function abortOnCancel(agent: AgentLike, thread: Thread, runId: string, signal: AbortSignal): void {
  const canceled = cancellationOf(signal);
  const abort = (): void => void abortRun(agent, thread, runId).catch(() => {});
  canceled.addEventListener("abort", abort, { once: true });
}

async function abortRun(
  agent: AgentLike,
  thread: Partial<Thread> & { threadId: string },
  runId: string,
): Promise<void> {
  const subscription = await agent.subscribeToThread({ ...thread, after: 0 });
  if (subscription.activeRunId() === runId) subscription.abort();
  subscription.unsubscribe();
}

/** Aborts the run of the agent, if it waits for a person or is under way. Returns whether it was. */
async function withdraw(
  agent: AgentLike,
  { idempotencyKey, suspendData, attempt, life: known = 1 }: Question,
): Promise<boolean> {
  const { life = known } = (suspendData ?? {}) as Partial<WaitingCall>;
  const key = keyOf({ idempotencyKey }, life);
  const ids = Array.from({ length: attempt }, (_, retry) => runIdOf(key, retry));
  const storage = await agent.getThreadStorage();
  const open = await storage.select({
    table: RUNS,
    where: { id: { in: ids }, state: { in: ["running", "suspended"] } },
    columns: ["id", "thread_id"],
  });
  for (const { id, thread_id: threadId } of open) await abortRun(agent, { threadId }, id);
  return open.length > 0;
}

async function readAnswer(
  output: Awaited<ReturnType<AgentLike["stream"]>>,
  { writer }: ExecuteParams,
): Promise<AgentEnd> {
  let waiting: WaitingCall | undefined;
  for await (const chunk of output.fullStream as AsyncIterable<AgentChunk>) {
    await writer.write(chunk);
    waiting = waitingAfter(chunk, waiting);
  }
  const { text, object, tripwire, finishReason } = await output.getFullOutput();
  return { text, object, tripwire, waiting: finishReason === "suspended" ? waiting : undefined } as AgentEnd;
}

/** The run for this attempt. A retry of a run that failed is another run; that of a step alone is the same one. */
async function findRun(
  agent: AgentLike,
  thread: Thread | undefined,
  key: string,
  { retryCount }: ExecuteParams,
): Promise<{ runId: string; record?: RunRecord | undefined }> {
  if (!thread) return { runId: runIdOf(key, retryCount) };
  const storage = await agent.getThreadStorage();
  for (let retry = 0; ; retry++) {
    const runId = runIdOf(key, retry);
    const record = await readRunRecord(storage, { ...thread, runId });
    if (record?.state !== "failed" || retry >= retryCount) return { runId, record };
  }
}

function runIdOf(key: string, retry: number): string {
  return shortId(retry === 0 ? key : `${key}#${retry}`);
}

/** How a run of an agent ended. */
interface AgentEnd {
  text: string;
  object?: unknown;
  tripwire?: WorkflowTripwire | undefined;
  waiting?: WaitingCall | undefined;
}

/** A tool call that waits for a person. The step suspends with it. */
interface WaitingCall {
  toolCallId: string;
  toolName: string;
  args: unknown;
  suspendPayload?: unknown;
  /** Which execution of the workflow's run asked, if that was after a time travel. */
  life?: number;
}

/** Names the agent's run and thread: the same in every execution of the step, until a time travel asks the agent again. */
function keyOf({ idempotencyKey }: Pick<ExecuteParams, "idempotencyKey">, life: number): string {
  return life === 1 ? idempotencyKey : `${idempotencyKey}@${life}`;
}

function finish(
  params: ExecuteParams,
  options: Record<string, unknown>,
  life: number,
  end: AgentEnd,
): unknown {
  const { text, object, tripwire, waiting } = end;
  if (tripwire) throw new StepTripwire(tripwire);
  if (waiting) return params.suspend({ ...waiting, ...(life > 1 && { life }) });
  return options["structuredOutput"] === undefined ? { text } : object;
}

function waitingAfter(chunk: AgentChunk, waiting: WaitingCall | undefined): WaitingCall | undefined {
  if (chunk.type === "tool-call-approval" || chunk.type === "tool-call-suspended") {
    const { toolCallId, toolName, args } = chunk.payload;
    const { suspendPayload } = chunk.payload as { suspendPayload?: unknown };
    return { toolCallId, toolName, args, ...(suspendPayload !== undefined && { suspendPayload }) };
  }
  return chunk.type === "tool-call-decided" ? undefined : waiting;
}

/** Reads along with a stored run until it ends or waits for a person. */
async function followRun(
  agent: AgentLike,
  thread: Thread,
  { runId, firstSeq }: { runId: string; firstSeq: number },
  { writer, abortSignal }: ExecuteParams,
): Promise<AgentEnd> {
  const storage = await agent.getThreadStorage();
  const reader = await agent.subscribeToThread({ ...thread, after: firstSeq - 1 });
  const stop = (): void => {
    if (isCanceled(abortSignal)) reader.abort();
    reader.unsubscribe();
  };
  abortSignal.addEventListener("abort", stop, { once: true });
  if (abortSignal.aborted) stop();
  const end: AgentEnd = { text: "" };
  try {
    for await (const chunk of reader.stream) {
      if (chunk.runId !== runId) continue;
      await writer.write(chunk);
      end.waiting = waitingAfter(chunk, end.waiting);
      if (chunk.type === "step-start") end.text = "";
      else if (chunk.type === "text-delta") end.text += chunk.payload.text;
      else if (chunk.type === "object-result") end.object = chunk.object;
      else if (chunk.type === "tripwire") end.tripwire = chunk.payload as WorkflowTripwire;
      else if (chunk.type === "error" || chunk.type === "abort" || chunk.type === "finish") {
        const now = await readRunRecord(storage, { ...thread, runId });
        if (now?.state === "running" || now?.state === "suspended") {
          // It was answered since, and goes on.
          if (now.state === "suspended" && end.waiting) return end;
          continue;
        }
        // A part of the run ended here with a question. It was answered since, and the rest follows.
        if (chunk.type === "finish" && end.waiting) continue;
        if (now?.state === "failed" && !end.tripwire)
          throw new Error(errorMessage(now.error?.["message"] ?? "The agent's run failed."));
        return { ...end, waiting: undefined };
      }
    }
    throw new Error(`The stream of agent run "${runId}" ended before the run did.`);
  } finally {
    abortSignal.removeEventListener("abort", stop);
    reader.unsubscribe();
  }
}

/** A person's answer: `{ approved: false }` declines, anything else approves and is passed on. */
function answer(
  agent: AgentLike,
  { runId, toolCallId }: { runId: string; toolCallId: string },
  resumeData: unknown,
): ReturnType<AgentLike["stream"]> {
  const declined = (resumeData as { approved?: unknown } | null)?.approved === false;
  return declined
    ? agent.declineToolCall({ runId, toolCallId })
    : agent.approveToolCall({ runId, toolCallId, resumeData });
}

interface Thread {
  threadId: string;
  resourceId: string;
}

/** The thread of the agent's run: the given one, or its own. An agent without memory has none. */
async function threadOf(
  agent: AgentLike,
  key: string,
  { runId, resourceId = runId, requestContext }: ExecuteParams,
  options: Record<string, unknown>,
): Promise<Thread | undefined> {
  const memory = options["memory"] as { thread?: string | { id: string }; resource?: string } | undefined;
  if (memory?.thread !== undefined) {
    const threadId = typeof memory.thread === "string" ? memory.thread : memory.thread.id;
    return { threadId, resourceId: memory.resource ?? resourceId };
  }
  if (!(await agent.getMemory({ requestContext }))) return undefined;
  return { threadId: shortId(`workflow-${key}`), resourceId: memory?.resource ?? resourceId };
}

const MAX_ID = 80;

/** An id that fits into a column, whatever the path of the step is. */
function shortId(id: string): string {
  if (id.length <= MAX_ID) return id;
  return `${id.slice(0, MAX_ID - 44)}-${createHash("sha256").update(id).digest("base64url")}`;
}
