import { AgentError } from "../errors.ts";
import { sleep, type System } from "../system.ts";

/** Runs work one at a time per key, in the order it was asked for. */
export class KeyedLock {
  readonly #system: System;
  readonly #last = new Map<string, Promise<void>>();

  constructor(system: System) {
    this.#system = system;
  }

  /** Rejects with `conflict` if earlier work on the key takes longer than `ms`. */
  async run<Result>(key: string, ms: number, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key);
    let release!: () => void;
    const turn = new Promise<void>((resolve) => (release = resolve));
    const last = before ? before.then(() => turn) : turn;
    this.#last.set(key, last);
    try {
      if (before) await this.#wait(before, ms, key);
      return await work();
    } finally {
      release();
      if (this.#last.get(key) === last) this.#last.delete(key);
    }
  }

  async #wait(before: Promise<void>, ms: number, key: string): Promise<void> {
    const stop = new AbortController();
    const late = sleep(this.#system, ms, stop.signal, { background: true }).then(
      () => true,
      () => false,
    );
    const isLate = await Promise.race([before.then(() => false), late]);
    stop.abort();
    if (isLate) {
      throw new AgentError(
        "conflict",
        `Another change to ${key} did not finish within ${ms} ms. Try again later.`,
      );
    }
  }
}
