import type { Storage } from "../storage/storage.ts";
import { OWNERS } from "../storage/thread-tables.ts";
import type { System } from "../system.ts";
import type { Actor } from "./actor.ts";
import { insert, remove, update } from "../storage/writes.ts";

export interface LeaseLimits {
  leaseMs: number;
  renewMs: number;
}

/** An owner's row, as it was read. */
interface SeenOwner {
  id: string;
  leaseUntil: number;
}

export const DEFAULT_LEASE: LeaseLimits = { leaseMs: 15_000, renewMs: 5_000 };

/**
 * This process as the store knows it. One row with a time limit stands for all threads it runs, so keeping a thousand
 * of them costs one write every few seconds, and a process that runs nothing writes nothing.
 */
export class Owner {
  readonly id: string;
  readonly #storage: Storage;
  readonly #system: System;
  readonly #lease: LeaseLimits;
  #leaseUntil = 0;
  #held = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(storage: Storage, system: System, lease: LeaseLimits) {
    this.id = storage.ownerId();
    this.#storage = storage;
    this.#system = system;
    this.#lease = lease;
  }

  /** Before taking a thread: makes sure that others see this process live. */
  hold(): Promise<void> {
    this.#held++;
    this.#schedule();
    if (this.#leaseUntil - this.#system.now() > this.#lease.leaseMs / 2) return Promise.resolve();
    return this.#beat();
  }

  release(): void {
    this.#held--;
    if (this.#held > 0) return;
    // The row runs out by itself; the next thread taken writes it anew.
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Whether a thread may be taken from its owner. */
  async mayTake(actor: Actor): Promise<boolean> {
    if (actor.owner === undefined) return true;
    if (actor.owner === this.id) return false;
    if (this.#storage.isOwnerDead(actor.owner)) return true;
    const [row] = await this.#storage.select({ table: OWNERS, where: { id: actor.owner }, limit: 1 });
    return !row || (row.lease_until ?? 0) < this.#system.now();
  }

  /** Owners that live, this one among them, and those whose threads may be taken. */
  async gone(): Promise<{ live: Set<string>; dead: SeenOwner[] }> {
    const rows = await this.#storage.select({ table: OWNERS });
    const live = new Set([this.id]);
    const dead: SeenOwner[] = [];
    for (const row of rows) {
      const seen = { id: row.id, leaseUntil: row.lease_until ?? 0 };
      if (seen.id === this.id) continue;
      if (seen.leaseUntil < this.#system.now() || this.#storage.isOwnerDead(seen.id)) dead.push(seen);
      else live.add(seen.id);
    }
    return { live, dead };
  }

  /** Owners that are gone and have no threads any more need no row, unless one showed up again. */
  async forget(dead: readonly SeenOwner[]): Promise<void> {
    if (dead.length === 0) return;
    await this.#storage.commit(
      dead.map(({ id, leaseUntil }) => remove(OWNERS, { id, lease_until: leaseUntil })),
    );
  }

  /** Gives up: threads of this process may be taken at once. */
  async retire(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#leaseUntil = 0;
    const where = { id: this.id };
    await this.#storage.commit([
      this.#held > 0 ? update(OWNERS, { where, set: { lease_until: 0 } }) : remove(OWNERS, where),
    ]);
  }

  async #beat(): Promise<void> {
    const leaseUntil = Math.trunc(this.#system.now() + this.#lease.leaseMs);
    await this.#storage.commit([insert(OWNERS, { id: this.id, lease_until: leaseUntil }, "update")]);
    this.#leaseUntil = leaseUntil;
  }

  #schedule(): void {
    if (this.#cancelTimer) return;
    this.#cancelTimer = this.#system.setTimer(
      this.#lease.renewMs,
      () => {
        this.#cancelTimer = undefined;
        if (this.#held === 0) return;
        // A beat that fails is tried again with the next one; if the lease runs out meanwhile, the fence keeps order.
        this.#beat().catch(() => {});
        this.#schedule();
      },
      { background: true },
    );
  }
}
