import { AgentError } from "@selvedge/core";
import type { AgentExecutionOptions, MessagesInput, RunOutput } from "@selvedge/core/agent";
import { RESOURCE_ID_KEY } from "@selvedge/core/request-context";
import { readRunRecord, readThreadOverview, toBroadcast } from "@selvedge/core/threads";
import type { AgentChunk } from "@selvedge/protocol";
import type { AnyAgent } from "../app.ts";
import type { Call } from "../handler.ts";
import type { EventSourceText } from "../sse/event-body.ts";
import { endFrame, opening, startHeader } from "../sse/frames.ts";
import { RunEvents, type RunOver } from "../sse/run-events.ts";

/** The chunks of a run for an outside reader. */
export interface RunReader {
  next(): Promise<readonly AgentChunk[]>;
  leave(): void;
  /** On a thread: the number of the last chunk. */
  readonly after: number | undefined;
}

/** Starts a run on a thread and reads it from the thread's log, so that its chunks have numbers. */
export async function startOnThread(
  agent: AnyAgent,
  address: { threadId: string; resourceId: string },
  start: () => Promise<RunOutput>,
): Promise<RunReader & { output: RunOutput }> {
  const storage = await agent.getThreadStorage();
  const before = await readThreadOverview(storage, address.threadId);
  const subscription = await agent.subscribeToThread({ ...address, after: before?.lastSeq ?? 0 });
  try {
    const output = await start();
    const over = output.consumeStream().then(() => runOver(agent, address.threadId, output));
    const events = new RunEvents(subscription, output.runId, over);
    return Object.assign(events, { output });
  } catch (error) {
    subscription.unsubscribe();
    throw error;
  }
}

/** Reads one run of a thread from a number or its start, whichever process carries it out. */
export async function followRun(
  agent: AnyAgent,
  { runId, ...address }: { threadId: string; resourceId: string; runId: string },
  after?: number,
): Promise<RunReader> {
  const storage = await agent.getThreadStorage();
  const run = await readRunRecord(storage, { threadId: address.threadId, runId });
  const overview = await readThreadOverview(storage, address.threadId);
  const start = run ? run.firstSeq - 1 : (overview?.activeRunAfter ?? 0);
  const subscription = await agent.subscribeToThread({ ...address, after: Math.max(after ?? 0, start) });
  const isOver = run?.endedAt !== undefined;
  const over = isOver ? Promise.resolve({ lastSeq: overview?.lastSeq ?? 0 }) : new Promise<never>(() => {});
  return new RunEvents(subscription, runId, over);
}

/** A run without a thread: it has one reader and ends when that reader leaves. */
export function readDirectly(output: RunOutput, onLeave: () => void): RunReader {
  const chunks = output.fullStream[Symbol.asyncIterator]();
  let left = false;
  return {
    after: undefined,
    next: async () => {
      const { done, value } = await chunks.next();
      return done ? [] : [withoutRequest(value)];
    },
    leave: () => {
      if (left) return;
      left = true;
      onLeave();
    },
  };
}

/** A run as frames of chunks. */
export function chunkResponse(
  call: Pick<Call, "app" | "caller" | "request">,
  reader: RunReader & { output?: RunOutput },
): Response {
  const { app } = call;
  const frames = app.frames(call.caller, call.request);
  const source: EventSourceText = {
    next: async () => {
      const chunks = await reader.next();
      return chunks.length === 0 ? undefined : chunks.map((chunk) => frames.frame(chunk)).join("");
    },
    leave: () => reader.leave(),
    farewell: (error) => endFrame(error, reader.after),
  };
  // Lets a reader whose connection breaks before the first chunk know what to ask for.
  return app.stream(call, source, opening(reader.after), {
    ...startHeader(reader.after),
    ...(reader.output && { "x-run-id": reader.output.runId }),
  });
}

/** Starts a run without a thread. It ends when its caller leaves. */
export async function startDirectly(
  agent: AnyAgent,
  messages: MessagesInput,
  options: AgentExecutionOptions,
  resourceId: string,
): Promise<RunReader & { output: RunOutput }> {
  saysWhose(options, resourceId);
  const controller = new AbortController();
  const output = await agent.stream(messages, { ...options, abortSignal: controller.signal });
  return Object.assign(
    readDirectly(output, () => endIfRunning(output, controller)),
    { output },
  );
}

/** Reads a run to its end for a plain response. Stops when the caller leaves. */
export async function withReader<Result>(
  { signal }: Request,
  reader: RunReader,
  read: () => Promise<Result>,
): Promise<Result> {
  const leave = () => reader.leave();
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  try {
    return await read();
  } finally {
    signal.removeEventListener("abort", leave);
    leave();
  }
}

/** A run without a thread has no other owner, and waiting work in this process is shared fairly by owner. */
export function saysWhose({ requestContext }: AgentExecutionOptions, resourceId: string): void {
  requestContext?.set(RESOURCE_ID_KEY, resourceId);
}

/** A run that waits for an answer keeps waiting. */
export function endIfRunning(output: RunOutput, controller: AbortController): void {
  if (output.status === "running") controller.abort();
}

/** Messages are kept: a caller of a run without a thread has no other source for them. */
function withoutRequest(chunk: AgentChunk): AgentChunk {
  return chunk.type === "finish" ? chunk : toBroadcast(chunk);
}

/** What a run left on its thread. A run that could not start left nothing; its end is reported here. */
async function runOver(agent: AnyAgent, threadId: string, output: RunOutput): Promise<RunOver> {
  const { error, runId, status } = output;
  // It continues in another process, and its chunks appear on this thread.
  if (AgentError.is(error, "superseded")) return new Promise<never>(() => {});
  const overview = await readThreadOverview(await agent.getThreadStorage(), threadId);
  const base = { runId, from: "AGENT" } as const;
  const lastChunk: AgentChunk =
    status === "failed"
      ? toBroadcast({ ...base, type: "error", payload: { error } })
      : { ...base, type: "abort", payload: {} };
  return { lastSeq: overview?.lastSeq ?? 0, lastChunk };
}
