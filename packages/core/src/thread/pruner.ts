import type { Write } from "../storage/storage.ts";
import { EVENTS, RUNS, SENDS } from "../storage/thread-tables.ts";

/** How long the same idempotency key is the same message. */
const KEEP_KEYS_MS = 86_400_000;
const PRUNE_EVERY_MS = 60_000;

/** What is over and old goes now and then, not at every end of a run: events, runs that ended, answered keys. */
export class Pruner {
  readonly #threadId: string;
  #prunedAt = Number.NEGATIVE_INFINITY;

  constructor(threadId: string) {
    this.#threadId = threadId;
  }

  /** The thread is new. */
  nothingOld(now: number): void {
    this.#prunedAt = now;
  }

  prune(now: number, retentionMs: number): Write[] {
    if (now - this.#prunedAt < Math.min(PRUNE_EVERY_MS, retentionMs)) return [];
    this.#prunedAt = now;
    const here = { thread_id: this.#threadId };
    const past = { lt: now - retentionMs };
    const over = { state: { in: ["done", "failed", "aborted"] }, ended_at: past };
    return [
      { op: "delete", table: EVENTS, where: { ...here, created_at: past } },
      { op: "delete", table: RUNS, where: { ...here, ...over } },
      { op: "delete", table: SENDS, where: { ...here, created_at: { lt: now - KEEP_KEYS_MS } } },
    ];
  }
}
