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
 * A slow store, or a process that has more to do than it can, flushes less often, so that it does not become slower still: from
 * the moment when it is due until it is stored, a flush takes at most this share of the time.
 */
const BUSY_SHARE = 0.3;
/** The weight of the newest flush in the averages. */
const NEWEST = 1 / 4;
const MAX_FLUSH_MS = 1_000;

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
  /** How long flushes have taken lately. */
  #tookMs = 0;
  /** How long after they were due this process got round to them. */
  #lateMs = 0;

  private constructor(storage: Storage, system: System) {
    this.#storage = storage;
    this.#system = system;
    const onBeat = (lateMs: number): void => void (this.#lateMs += (lateMs - this.#lateMs) * NEWEST);
    this.#atOnce = new Beat(system, onBeat);
    this.#next = new Beat(system, onBeat);
  }

  static of(storage: Storage, system: System): Flusher {
    return storage.attach(KEY, () => new Flusher(storage, system));
  }

  /**
   * Calls back when a thread that last flushed at `flushedAt` may flush again. The first chunk after a pause is sent at
   * once, with everything this turn of the event loop still adds. Returns a function that cancels.
   */
  whenDue(flushedAt: number, flush: () => void): () => void {
    const flushMs = Math.max(
      this.#storage.flushMs,
      Math.min(Math.trunc((this.#tookMs + this.#lateMs) / BUSY_SHARE), MAX_FLUSH_MS),
    );
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
    const began = this.#system.monotonic();
    const outcomes = await this.#storage
      .commitAll(all.map(({ commit }) => commit))
      .catch((error: unknown): CommitOutcome[] => all.map(() => ({ error })));
    this.#tookMs += (this.#system.monotonic() - began - this.#tookMs) * NEWEST;
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
  readonly #onBeat: (lateMs: number) => void;
  #waiting = new Set<() => void>();
  #cancel: (() => void) | undefined;

  constructor(system: System, onBeat: (lateMs: number) => void) {
    this.#system = system;
    this.#onBeat = onBeat;
  }

  add(work: () => void, wait: number): () => void {
    const waiting = this.#waiting;
    waiting.add(work);
    if (this.#cancel) return () => this.#drop(work, waiting);
    const due = this.#system.monotonic() + wait;
    this.#cancel = this.#system.setTimer(wait, () => {
      this.#waiting = new Set();
      this.#cancel = undefined;
      this.#onBeat(Math.max(0, this.#system.monotonic() - due));
      for (const one of waiting) one();
    });
    return () => this.#drop(work, waiting);
  }

  #drop(work: () => void, waiting: Set<() => void>): void {
    waiting.delete(work);
    if (waiting !== this.#waiting || waiting.size > 0) return;
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
