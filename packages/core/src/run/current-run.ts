import { AsyncLocalStorage } from "node:async_hooks";
import { AgentError } from "../errors.ts";
import type { Storage } from "../storage/storage.ts";
import type { Run } from "./run.ts";

/** A run under way, and the run whose code started it. */
interface Current {
  run: Run;
  startedBy: Current | undefined;
}

/** Which run the code that is executed belongs to: its tools, processors and callbacks, and what they call. */
const current = new AsyncLocalStorage<Current | undefined>();

/** How deep agents may be in agents. Only a model that goes round in circles gets further. */
const MAX_LEVELS = 10;

/** Carries out a run. What its code starts with `stream()` or `generate()` counts as awaited by it. */
export function insideRun<Value>(run: Run, work: () => Value): Value {
  return current.run({ run, startedBy: underWay() }, work);
}

/** Whether a run that is still under way made this call. */
export function isInsideRun(): boolean {
  return underWay() !== undefined;
}

/** The innermost run around this call that has not ended. */
function underWay(): Current | undefined {
  let at = current.getStore();
  while (at?.run.stream.events.ended) at = at.startedBy;
  return at;
}

/** An agent that is a tool of itself, or of one it calls, would call on without end. */
export function refuseTooDeep(agent: string): void {
  let levels = 0;
  for (let at = current.getStore(); at; at = at.startedBy) levels++;
  if (levels < MAX_LEVELS) return;
  throw new AgentError(
    "limit-exceeded",
    `Agent "${agent}" was not called: agents already call each other ${MAX_LEVELS} levels deep. Answer without it.`,
  );
}

/** Carries out what no run waits for, such as a run that a message opened. */
export function outsideRuns<Value>(work: () => Value): Value {
  return current.run(undefined, work);
}

/** A run that waits for a thread which waits for that run would never begin. */
export function refuseOwnThread(storage: Storage, threadId: string): void {
  const holder = findHolder(({ spec }) => spec.threadId === threadId && spec.storage === storage);
  if (!holder) return;
  throw busy(
    holder,
    "Send a signal with sendMessage() or queueMessage(), use another thread, or read this one with memory.readOnly.",
  );
}

/** A run that waits for an answer goes on when it has let go of its thread, and that waits for the code that calls. */
export function refuseOwnRun(runId: string): void {
  const holder = findHolder(({ spec }) => spec.runId === runId);
  if (holder) throw busy(holder, "Answer its call with sendToolApproval(), which does not wait for the run.");
}

/** The run that the code belongs to, or one that waits for it, as long as it holds its thread. */
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

/** The run that the code belongs to. */
export function currentRun(): Run | undefined {
  return current.getStore()?.run;
}
