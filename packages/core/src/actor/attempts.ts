import { AgentError } from "../errors.ts";

/** A run that was started this often without completing a step is abandoned. */
export const MAX_ATTEMPTS = 5;

/** How long a run that was started `n` times without progress waits before the next start. */
const WAIT_MS: readonly number[] = [0, 0, 100, 500, 2_000];

/**
 * Decides when something that failed may be retried. Time is counted on this process's monotonic clock, from the moment
 * it first saw that many attempts, so machines need not agree on the time.
 */
export class Attempts {
  #mark: string | undefined;
  #until = 0;

  /** Milliseconds left to wait. `id` and `attempts` identify the state to wait out. */
  wait(id: string, attempts: number, now: number): number {
    const mark = `${id} ${attempts}`;
    if (mark !== this.#mark) {
      this.#mark = mark;
      this.#until = now + (WAIT_MS[attempts] ?? 0);
    }
    return Math.max(0, this.#until - now);
  }
}

/** Why a run is abandoned. */
export function exhausted(runId: string): AgentError {
  return new AgentError(
    "attempts-exhausted",
    `Run "${runId}" was started ${MAX_ATTEMPTS} times without completing a step, so it was abandoned. Check the logs of the processes that ran it.`,
  );
}
