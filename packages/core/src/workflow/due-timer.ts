import type { System } from "../system.ts";

/** The longest that a timer waits before it is set again: timers of the platform overflow. */
const MAX_MS = 86_400_000;

/** One timer for all sleeping runs of a process: it knows the earliest moment, and the store knows the runs. */
export class DueTimer {
  readonly #system: System;
  readonly #onDue: () => void;
  #at = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(system: System, onDue: () => void) {
    this.#system = system;
    this.#onDue = onDue;
  }

  /** Something is due at this time. */
  at(time: number): void {
    if (time >= this.#at) return;
    this.#cancel?.();
    this.#at = time;
    const wait = Math.min(MAX_MS, Math.max(0, this.#at - this.#system.now()));
    this.#cancel = this.#system.setTimer(
      wait,
      () => {
        this.#at = Number.POSITIVE_INFINITY;
        this.#cancel = undefined;
        this.#onDue();
      },
      // Callers that wait keep the process alive.
      { background: true },
    );
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
