import { AsyncLocalStorage } from "node:async_hooks";
import { AgentError } from "../errors.ts";
import type { Storage } from "../storage/storage.ts";
import type { Run } from "./run.ts";

/** An active run, and the run whose code started it. */
interface Current {
  run: Run;
  startedBy: Current | undefined;
}

/** The run that the executing code belongs to: its tools, processors and callbacks, and whatever they call. */
const current = new AsyncLocalStorage<Current | undefined>();

/** How deeply agents may be nested. Only a model that loops gets further. */
const MAX_LEVELS = 10;

/** Carries out a run. Runs that its code starts with `stream()` or `generate()` count as awaited by it. */
export function insideRun<Value>(run: Run, work: () => Value): Value {
  return current.run({ run, startedBy: underWay() }, work);
}

/** Whether an active run made this call. */
export function isInsideRun(): boolean {
  return underWay() !== undefined;
}

/** The innermost active run around this call. */
function underWay(): Current | undefined {
  let at = current.getStore();
  while (at?.run.stream.events.ended) at = at.startedBy;
  return at;
}

/** An agent that is a tool of itself, or of one it calls, would recurse without end. */
export function refuseTooDeep(agent: string): void {
  let levels = 0;
  for (let at = current.getStore(); at; at = at.startedBy) levels++;
  if (levels < MAX_LEVELS) return;
  throw new AgentError(
    "limit-exceeded",
    `Agent "${agent}" was not called: agents already call each other ${MAX_LEVELS} levels deep. Answer without it.`,
  );
}

/** Runs work that no run waits for, such as a run opened by a message. */
export function outsideRuns<Value>(work: () => Value): Value {
  return current.run(undefined, work);
}

/** A run that waits for a thread that waits for that run would never start. */
export function refuseOwnThread(storage: Storage, threadId: string): void {
  const holder = findHolder(({ spec }) => spec.threadId === threadId && spec.storage === storage);
  if (!holder) return;
  throw busy(
    holder,
    "Send a signal with sendMessage() or queueMessage(), use another thread, or read this one with memory.readOnly.",
  );
}

/** A run that waits for an answer continues after it has released its thread, and that waits for the calling code. */
export function refuseOwnRun(runId: string): void {
  const holder = findHolder(({ spec }) => spec.runId === runId);
  if (holder) throw busy(holder, "Answer its call with sendToolApproval(), which does not wait for the run.");
}

/** The run the code belongs to, or one that waits for it, while it holds its thread. */
function findHolder(matches: (run: Run) => boolean): Run | undefined {
  for (let at = current.getStore(); at; at = at.startedBy)
    if (at.run.spec.journal?.isOver === false && matches(at.run)) return at.run;
  return undefined;
}

function busy({ spec: { threadId, runId } }: Run, advice: string): AgentError {
  return new AgentError(
    "thread-busy",
    `Thread "${threadId}" is busy with run "${runId}", which waits for the code that makes this call. ${advice}`,
    { details: { runId } },
  );
}

/** The run the code belongs to. */
export function currentRun(): Run | undefined {
  return current.getStore()?.run;
}
