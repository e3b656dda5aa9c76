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

/** Carries out a run. What its code starts with `stream()` or `generate()` counts as awaited by it. */
export function insideRun<Value>(run: Run, work: () => Value): Value {
  return current.run({ run, startedBy: current.getStore() }, work);
}

/** Carries out what no run waits for, such as a run that a message opened. */
export function outsideRuns<Value>(work: () => Value): Value {
  return current.run(undefined, work);
}

/** A run that waits for a thread which waits for that run would never begin. */
export function refuseOwnThread(storage: Storage, threadId: string): void {
  for (let at = current.getStore(); at; at = at.startedBy) {
    const { spec, status } = at.run;
    if (status !== "running" || spec.threadId !== threadId || spec.storage !== storage || !spec.thread)
      continue;
    throw new AgentError(
      "thread-busy",
      `Thread "${threadId}" is busy with run "${spec.runId}", which waits for the code that makes this call. Send a signal with sendMessage() or queueMessage(), use another thread, or read this one with memory.readOnly.`,
      { details: { runId: spec.runId } },
    );
  }
}
