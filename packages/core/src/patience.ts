import { onAbort } from "./abort.ts";
import { AgentError } from "./errors.ts";
import { isPromise } from "./is-promise.ts";
import type { System } from "./system.ts";

/** How long code of the app may continue after its run is aborted, before the run ends without it. */
const ABORT_GRACE_MS = 1000;

/** The limit is checked this many times while it lasts, so it is kept to one part in eight, never early. */
const CHECKS_PER_LIMIT = 8;

/**
 * Waits for code of the app, such as a processor, which may never answer. It has a limit, and after an abort of the run
 * only a moment; then it counts as failed. A call costs no timer and no clock: one timer counts how often it has found
 * the same call.
 */
export class Patience {
  readonly #system: System;
  readonly #signal: AbortSignal;
  readonly #limitMs: number;
  readonly #waiting = new Map<(error: AgentError) => void, { what: string; checks: number }>();
  #listens = false;
  #cancelTimer: (() => void) | undefined;
  #closed = false;

  /** `limitMs` is for one answer; 0 for no limit. */
  constructor(system: System, signal: AbortSignal, limitMs: number) {
    this.#system = system;
    this.#signal = signal;
    this.#limitMs = limitMs;
  }

  /** What the promise answers, or a rejection in its place. `what` names it for who reads the error. */
  for<Value>(what: string, answer: Value | Promise<Value>): Value | Promise<Value> {
    if (!isPromise(answer)) return answer;
    return new Promise<Value>((resolve, reject) => {
      this.#waiting.set(reject, { what, checks: 0 });
      if (this.#signal.aborted) this.#hurry(reject);
      else this.#listen();
      this.#watch();
      answer.then(
        (value) => {
          this.#waiting.delete(reject);
          resolve(value);
        },
        (error: unknown) => {
          this.#waiting.delete(reject);
          reject(error as Error);
        },
      );
    });
  }

  /** Nothing is waited for any more. */
  close(): void {
    this.#closed = true;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #watch(): void {
    if (this.#cancelTimer || this.#limitMs === 0 || this.#closed) return;
    const wait = Math.max(1, this.#limitMs / CHECKS_PER_LIMIT);
    this.#cancelTimer = this.#system.setTimer(wait, () => {
      this.#cancelTimer = undefined;
      for (const [giveUp, waiting] of this.#waiting) {
        if (++waiting.checks > CHECKS_PER_LIMIT) {
          this.#waiting.delete(giveUp);
          giveUp(tookTooLong(waiting.what, this.#limitMs));
        }
      }
      if (this.#waiting.size > 0) this.#watch();
    });
  }

  #listen(): void {
    if (this.#listens) return;
    this.#listens = true;
    onAbort(this.#signal, this);
  }

  /** The run was aborted. */
  handleEvent(): void {
    for (const giveUp of this.#waiting.keys()) this.#hurry(giveUp);
  }

  #hurry(giveUp: (error: AgentError) => void): void {
    const onTime = () => {
      const waiting = this.#waiting.get(giveUp);
      if (!waiting) return;
      this.#waiting.delete(giveUp);
      giveUp(new AgentError("internal", `${waiting.what} did not stop after the run was aborted.`));
    };
    this.#system.setTimer(ABORT_GRACE_MS, onTime, { background: true });
  }
}

function tookTooLong(what: string, ms: number): AgentError {
  return new AgentError(
    "processor-failed",
    `${what} did not return within ${ms} ms. Raise \`limits.processorTimeoutMs\` if it needs longer; 0 disables the limit.`,
  );
}
