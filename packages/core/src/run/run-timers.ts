import type { System } from "../system.ts";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface Pending {
  readonly due: number;
  readonly callback: () => void;
}

/**
 * The time limits of a run's model calls and tools. Each step sets two that almost never fire. They share one real timer,
 * which stays where it is when they are cancelled: if it fires too early, it is set again for the next one.
 */
export class RunTimers implements Pick<System, "setTimer"> {
  readonly #system: System;
  readonly #pending = new Set<Pending>();
  /** When the real timer fires. */
  #firesAt = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(system: System) {
    this.#system = system;
  }

  setTimer(ms: number, callback: () => void): () => void {
    const now = this.#system.monotonic();
    const pending = { due: now + ms, callback };
    this.#pending.add(pending);
    if (pending.due < this.#firesAt) this.#fireAt(pending.due, now);
    return () => this.#pending.delete(pending);
  }

  /** The run is over: nothing fires any more. */
  close(): void {
    this.#pending.clear();
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #fireAt(due: number, now: number): void {
    this.#cancel?.();
    this.#firesAt = due;
    const wait = Math.max(1, Math.ceil(due - now));
    this.#cancel = this.#system.setTimer(Math.min(wait, LONGEST_TIMER_MS), this.#fire);
  }

  readonly #fire = (): void => {
    this.#cancel = undefined;
    this.#firesAt = Number.POSITIVE_INFINITY;
    const now = this.#system.monotonic();
    for (const pending of this.#pending) {
      if (pending.due > now || !this.#pending.delete(pending)) continue;
      pending.callback();
    }
    let next = Number.POSITIVE_INFINITY;
    for (const { due } of this.#pending) next = Math.min(next, due);
    if (next < this.#firesAt) this.#fireAt(next, now);
  };
}
