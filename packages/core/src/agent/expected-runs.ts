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
    let cancel = (): void => {};
    // Several calls of one run may be answered at once, by several callers.
    const all = this.#byRun.get(runId) ?? new Set();
    this.#byRun.set(runId, all);
    const expectation: Expectation = {
      options,
      resolve: (run) => {
        cancel();
        resolve(run);
      },
      reject: (error) => {
        cancel();
        reject(error);
      },
    };
    all.add(expectation);
    const forget = () => {
      cancel();
      all.delete(expectation);
      if (all.size === 0 && this.#byRun.get(runId) === all) this.#byRun.delete(runId);
    };
    const elsewhere = () => {
      if (isInLine()) return wait();
      forget();
      reject(
        new AgentError(
          "superseded",
          `Run "${runId}" continues in another process. Subscribe to its thread to follow it.`,
        ),
      );
    };
    const wait = () => {
      cancel = system.setTimer(CONTINUE_WITHIN_MS, elsewhere, { background: true });
    };
    wait();
    promise.catch(() => {});
    return { run: promise, forget };
  }

  /** The callers who wait for a run that continues now. */
  take(runId: string): readonly Expectation[] {
    const expected = this.#byRun.get(runId) ?? [];
    this.#byRun.delete(runId);
    return [...expected];
  }
}
