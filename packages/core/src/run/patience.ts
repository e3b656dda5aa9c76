import { AgentError } from "../errors.ts";
import type { System } from "../system.ts";

/** How long code of the app may go on after the abort of its run, before the run goes on without it. */
const ABORT_GRACE_MS = 1000;

/**
 * Waits for code of the app, such as a processor, which may never answer. While a run goes on that is the app's affair;
 * after an abort it gets a moment, and then counts as failed, so that every run that is aborted ends.
 */
export class Patience {
  readonly #system: System;
  readonly #signal: AbortSignal;
  readonly #waiting = new Set<(reason: unknown) => void>();
  #listens = false;

  constructor(system: System, signal: AbortSignal) {
    this.#system = system;
    this.#signal = signal;
  }

  /** What the promise answers, or a rejection in its place. `what` names it for who reads the error. */
  for<Value>(what: string, answer: Value | Promise<Value>): Value | Promise<Value> {
    if (!isPromise(answer)) return answer;
    return new Promise<Value>((resolve, reject) => {
      const giveUp = () =>
        reject(new AgentError("internal", `${what} did not end after the run was aborted.`));
      this.#waiting.add(giveUp);
      if (this.#signal.aborted) this.#hurry(giveUp);
      else this.#listen();
      answer.then(
        (value) => {
          this.#waiting.delete(giveUp);
          resolve(value);
        },
        (error: unknown) => {
          this.#waiting.delete(giveUp);
          reject(error as Error);
        },
      );
    });
  }

  #listen(): void {
    if (this.#listens) return;
    this.#listens = true;
    this.#signal.addEventListener("abort", () => this.#waiting.forEach((giveUp) => this.#hurry(giveUp)), {
      once: true,
    });
  }

  #hurry(giveUp: (reason: unknown) => void): void {
    this.#system.setTimer(
      ABORT_GRACE_MS,
      () => {
        if (this.#waiting.delete(giveUp)) giveUp(undefined);
      },
      { background: true },
    );
  }
}

function isPromise<Value>(answer: Value | Promise<Value>): answer is Promise<Value> {
  return typeof (answer as Promise<Value> | undefined)?.then === "function";
}
