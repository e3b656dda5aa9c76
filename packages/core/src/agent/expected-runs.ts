import { AgentError } from "../errors.ts";
import type { Run } from "../run/run.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import type { System } from "../system.ts";

/** How long a run whose call was answered may take to continue here. */
const CONTINUE_WITHIN_MS = 10_000;

/** A caller who answered a call and waits for its run to continue. */
export interface Expectation {
  options: AgentExecutionOptions;
  resolve(run: Run): void;
  reject(error: unknown): void;
}

/** Runs that callers wait for because they answered one of their calls. */
export class ExpectedRuns {
  readonly #byRun = new Map<string, Set<Expectation>>();

  /** Expects a run to continue in this process. Call it before the answer is stored. */
  expect(
    runId: string,
    options: AgentExecutionOptions,
    system: System,
    /** Whether the run waits for its turn in this process. */
    isInLine: () => boolean,
  ): { run: Promise<Run>; forget(): void } {
    const { promise, resolve, reject } = Promise.withResolvers<Run>();
    // Several calls of one run may be answered at once, by several callers.
    const all = this.#byRun.get(runId) ?? new Set<Expectation>();
    const expectation = { options, resolve, reject };
    this.#byRun.set(runId, all.add(expectation));
    let cancel = (): void => {};
    const forget = () => {
      cancel();
      all.delete(expectation);
      if (all.size === 0 && this.#byRun.get(runId) === all) this.#byRun.delete(runId);
    };
    const wait = () => {
      cancel = system.setTimer(CONTINUE_WITHIN_MS, () => (isInLine() ? wait() : reject(elsewhere(runId))), {
        background: true,
      });
    };
    wait();
    promise.then(forget, forget);
    return { run: promise, forget };
  }

  /** The callers who wait for a run that continues now. */
  take(runId: string): readonly Expectation[] {
    const expected = this.#byRun.get(runId) ?? [];
    this.#byRun.delete(runId);
    return [...expected];
  }
}

function elsewhere(runId: string): AgentError {
  return new AgentError(
    "superseded",
    `Run "${runId}" continues in another process. Subscribe to its thread to follow it.`,
  );
}
