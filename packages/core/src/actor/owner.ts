import { AgentError } from "../errors.ts";
import type { Storage } from "../storage/storage.ts";
import { OWNERS, type OwnerRow } from "../storage/thread-tables.ts";
import type { System } from "../system.ts";
import { insert, remove, update } from "../storage/writes.ts";

export interface LeaseLimits {
  leaseMs: number;
  renewMs: number;
}

export const DEFAULT_LEASE: LeaseLimits = { leaseMs: 15_000, renewMs: 5_000 };

// One per store and process, even if the process has two copies of this package.
const KEY = Symbol.for("selvedge.owner");

/**
 * This process as the store knows it. One row represents everything it runs, so keeping a thousand threads costs one
 * write every few seconds, and an idle process writes nothing.
 *
 * Machines need not agree on the time. An owner changes its row with every beat; observers measure on their own
 * monotonic clock how long the row has not changed. `lease_until` is that value, the time of the beat for people to read:
 * only its changes matter, and 0 means that the owner has given up.
 */
export class Owner {
  readonly id: string;
  readonly #storage: Storage;
  readonly #system: System;
  readonly #lease: LeaseLimits;
  /** Other owners: the last value of their row, and since when. */
  readonly #others = new Map<string, { mark: number; since: number }>();
  #mark = 0;
  #beatAt = Number.NEGATIVE_INFINITY;
  #held = 0;
  /** Threads, workflows: those who take things under this name. */
  #users = 0;
  #cancelTimer: (() => void) | undefined;

  private constructor(storage: Storage, system: System, lease: LeaseLimits) {
    this.id = storage.ownerId();
    this.#storage = storage;
    this.#system = system;
    this.#lease = lease;
  }

  /** The owner for one more user, who retires when it closes. The first decides clock and lease. */
  static of(storage: Storage, system: System, lease: LeaseLimits): Owner {
    const owner = storage.attach(KEY, () => new Owner(storage, system, lease));
    owner.#users++;
    return owner;
  }

  /** Before taking a thread: makes sure that others see this process as alive. */
  hold(): Promise<void> {
    this.#held++;
    this.#schedule();
    if (this.#system.monotonic() - this.#beatAt < this.#lease.leaseMs / 2) return Promise.resolve();
    return this.#beat();
  }

  release(): void {
    this.#held--;
    if (this.#held > 0) return;
    // The row stops changing; the next thread taken changes it again.
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Whether a thread may be taken from its owner. */
  async mayTake({ owner }: { owner: string | undefined }): Promise<boolean> {
    return owner === undefined || this.isGone(owner);
  }

  /** Whether another process's threads may be taken. */
  async isGone(id: string): Promise<boolean> {
    if (id === this.id) return false;
    if (this.#storage.isOwnerDead(id)) return true;
    const [row] = await this.#storage.select({ table: OWNERS, where: { id }, limit: 1 });
    return !row || this.#isGone(row);
  }

  /** Live owners, including this one, and those whose threads may be taken. */
  async gone(): Promise<{ live: Set<string>; dead: OwnerRow[] }> {
    const rows = await this.#storage.select({ table: OWNERS });
    const live = new Set([this.id]);
    const dead: OwnerRow[] = [];
    for (const row of rows) {
      if (row.id === this.id) continue;
      if (this.#isGone(row)) dead.push(row);
      else live.add(row.id);
    }
    const known = new Set(rows.map(({ id }) => id));
    for (const id of this.#others.keys()) if (!known.has(id)) this.#others.delete(id);
    return { live, dead };
  }

  /** Owners that are gone and have no threads need no row, unless one shows up again. */
  async forget(dead: readonly OwnerRow[]): Promise<void> {
    if (dead.length === 0) return;
    await this.#storage.commit(dead.map(({ id, lease_until }) => remove(OWNERS, { id, lease_until })));
  }

  /** Gives up when the last user does: what this process has may be taken at once. */
  async retire(): Promise<void> {
    if (--this.#users > 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#beatAt = Number.NEGATIVE_INFINITY;
    const where = { id: this.id };
    await this.#storage.commit([
      this.#held > 0 ? update(OWNERS, { where, set: { lease_until: 0 } }) : remove(OWNERS, where),
    ]);
  }

  /** Whether an owner has given up, is known to be dead, or has not changed its row for the length of a lease. */
  #isGone({ id, lease_until }: OwnerRow): boolean {
    const mark = lease_until ?? 0;
    if (mark === 0 || this.#storage.isOwnerDead(id)) return true;
    const now = this.#system.monotonic();
    const seen = this.#others.get(id);
    if (seen?.mark === mark) return now - seen.since >= this.#lease.leaseMs;
    this.#others.set(id, { mark, since: now });
    return false;
  }

  async #beat(): Promise<void> {
    const at = this.#system.monotonic();
    // Always a different number, whatever the clock does.
    this.#mark = Math.max(this.#mark + 1, Math.trunc(this.#system.now()));
    await this.#storage.commit([insert(OWNERS, { id: this.id, lease_until: this.#mark }, "update")]);
    this.#beatAt = at;
  }

  #schedule(): void {
    if (this.#cancelTimer) return;
    this.#cancelTimer = this.#system.setTimer(
      this.#lease.renewMs,
      () => {
        this.#cancelTimer = undefined;
        if (this.#held === 0) return;
        this.#schedule();
        // A failed beat is retried with the next one; if others take the threads in the meantime, the fence keeps
        // order.
        this.#beat().catch((error: unknown) => {
          if (AgentError.is(error, "storage-closed")) this.#cancelTimer?.();
        });
      },
      { background: true },
    );
  }
}
