import { AgentError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { prune, type Retention } from "../storage/prune.ts";
import type { Storage } from "../storage/storage.ts";
import { CHORES } from "../storage/thread-tables.ts";
import type { System } from "../system.ts";
import { insert, update } from "../storage/writes.ts";

const EVERY_MS = 60_000;
const CHORE = "retention";

/** Deletes old finished data periodically. One of the processes that share a store does it at a time. */
export class Janitor {
  readonly #host: { storage: Storage; system: System; logger: Logger; limits: Retention };
  readonly #everyMs: number;
  #nextAt: number;
  #working: Promise<void> | undefined;

  constructor(host: { storage: Storage; system: System; logger: Logger; limits: Retention }) {
    this.#host = host;
    this.#everyMs = Math.max(1, Math.min(EVERY_MS, host.limits.retentionMs));
    this.#nextAt = host.system.monotonic() + this.#everyMs;
  }

  /** Call it whenever there may be something to do. Usually costs nothing. */
  nudge(): void {
    const { system, logger } = this.#host;
    if (this.#working || system.monotonic() < this.#nextAt) return;
    this.#nextAt = system.monotonic() + this.#everyMs;
    this.#working = this.#work()
      .catch((error: unknown) => {
        if (!AgentError.is(error, "storage-closed"))
          logger.warn("Old chunks and runs could not be deleted; this will be retried", error);
      })
      .finally(() => (this.#working = undefined));
  }

  /** Waits for the work in progress. */
  async close(): Promise<void> {
    this.#nextAt = Number.POSITIVE_INFINITY;
    await this.#working;
  }

  async #work(): Promise<void> {
    const { storage, system, limits } = this.#host;
    if (await this.#claim()) await prune(storage, system, limits);
  }

  /** Whether it is this process's turn. */
  async #claim(): Promise<boolean> {
    const { storage, system } = this.#host;
    const now = Math.trunc(system.now());
    const next_at = now + this.#everyMs;
    const { changes } = await storage.commit([
      insert(CHORES, { id: CHORE, next_at: 0 }, "ignore"),
      update(CHORES, { where: { id: CHORE, next_at: { lte: now } }, set: { next_at } }),
      // A clock that was far ahead must not block everyone.
      update(CHORES, { where: { id: CHORE, next_at: { gt: now + 2 * EVERY_MS } }, set: { next_at } }),
    ]);
    return (changes[1] ?? 0) + (changes[2] ?? 0) > 0;
  }
}
