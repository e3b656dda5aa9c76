import type { Commit, CommitOutcome, Storage } from "../../storage/storage.ts";
import type { System } from "../../system.ts";

interface Waiting {
  commit: Commit;
  resolve(): void;
  reject(error: unknown): void;
}

// One per store and process, even if the process has two copies of this package.
const KEY = Symbol.for("selvedge.flusher");
/** The most commits in one round trip: other writers wait that long. */
const MAX_TOGETHER = 256;

/**
 * Decides when the chunks of a store's threads are written. All threads share one beat, so that chunks due at the same
 * moment share a round trip, each with its own outcome.
 */
export class Flusher {
  readonly #storage: Storage;
  readonly #system: System;
  readonly #atOnce: Beat;
  readonly #next: Beat;
  #together: Waiting[] = [];

  private constructor(storage: Storage, system: System) {
    this.#storage = storage;
    this.#system = system;
    this.#atOnce = new Beat(system);
    this.#next = new Beat(system);
  }

  static of(storage: Storage, system: System): Flusher {
    return storage.attach(KEY, () => new Flusher(storage, system));
  }

  /**
   * Calls back when a thread that last flushed at `flushedAt` may flush again. The first chunk after a pause is sent at
   * once, with everything this turn of the event loop still adds. Returns a function that cancels.
   */
  whenDue(flushedAt: number, flush: () => void): () => void {
    const { flushMs } = this.#storage;
    const now = this.#system.monotonic();
    return now - flushedAt >= flushMs
      ? this.#atOnce.add(flush, 0)
      : this.#next.add(flush, flushMs - (now % flushMs));
  }

  /** Commits together with what other threads flush now. */
  commit(commit: Commit): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#together.push({ commit, resolve, reject });
      if (this.#together.length === 1) void Promise.resolve().then(() => this.#send());
    });
  }

  #send(): void {
    const all = this.#together;
    this.#together = [];
    for (let first = 0; first < all.length; first += MAX_TOGETHER)
      void this.#sendTogether(all.slice(first, first + MAX_TOGETHER));
  }

  async #sendTogether(all: readonly Waiting[]): Promise<void> {
    const outcomes = await this.#storage
      .commitAll(all.map(({ commit }) => commit))
      .catch((error: unknown): CommitOutcome[] => all.map(() => ({ error })));
    for (const [index, { resolve, reject }] of all.entries()) {
      const outcome = outcomes[index]!;
      if ("error" in outcome) reject(outcome.error);
      else resolve();
    }
  }
}

/** A moment that several callers wait for. */
class Beat {
  readonly #system: System;
  #waiting = new Set<() => void>();
  #cancel: (() => void) | undefined;

  constructor(system: System) {
    this.#system = system;
  }

  add(work: () => void, wait: number): () => void {
    const waiting = this.#waiting;
    waiting.add(work);
    this.#cancel ??= this.#system.setTimer(wait, () => {
      this.#waiting = new Set();
      this.#cancel = undefined;
      for (const one of waiting) one();
    });
    return () => {
      waiting.delete(work);
      if (waiting !== this.#waiting || waiting.size > 0) return;
      this.#cancel?.();
      this.#cancel = undefined;
    };
  }
}
