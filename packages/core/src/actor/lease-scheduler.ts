import type { Logger } from "../logger.ts";
import type { Storage } from "../storage/storage.ts";
import { sleep, type System } from "../system.ts";
import type { Owner } from "./owner.ts";
import { Recovery, type Search } from "./recovery.ts";
import { RunSlots } from "./run-slots.ts";
import type { Scheduler } from "./scheduler.ts";

export interface LeaseSchedulerOptions<Address> {
  storage: Storage;
  system: System;
  logger: Logger;
  owner: Owner;
  limits: { recoverAtOnce: number; maxRuns: number };
  /** What is scheduled, in the plural: `threads`. */
  what: string;
  keyOf(address: Address): string;
  /** Finds what has work to do and no process. */
  search: Search<Address>;
  /** Called whenever the process searches for what others left. */
  onLook(): void;
}

/**
 * Schedules the actors of one process among others that share its store. The leases in the store say who carries out an
 * actor; every process searches for those whose owner is gone.
 */
export class LeaseScheduler<Address> implements Scheduler<Address> {
  readonly #options: LeaseSchedulerOptions<Address>;
  readonly #recovery: Recovery<Address>;
  readonly #slots: RunSlots<Address>;
  /** Actors to check later, with the functions that cancel that. */
  readonly #later = new Map<string, () => void>();
  /** Actors to check that no caller here waits for: a few at a time. */
  readonly #queue = new Map<string, Address>();
  readonly #underWay = new Set<string>();
  #work: (address: Address) => Promise<void> = () => Promise.resolve();
  #stopped = false;

  constructor(options: LeaseSchedulerOptions<Address>) {
    this.#options = options;
    const { keyOf, what } = options;
    this.#recovery = new Recovery({ ...options, onFound: (address) => this.#enqueue(address) });
    const slots = { max: options.limits.maxRuns, name: `${what}.maxRuns`, keyOf };
    this.#slots = new RunSlots(slots, (address) => this.wake(address));
  }

  onWake(work: (address: Address) => Promise<void>): void {
    this.#work = work;
  }

  wake(address: Address, when?: { afterMs: number; urgent: boolean }): void {
    if (!when) return void this.#work(address);
    if (this.#stopped) return;
    const key = this.#options.keyOf(address);
    this.#later.get(key)?.();
    const look = (): void => {
      // An actor is remembered until its turn in the queue, together with how long it has waited.
      if (!when.urgent && !this.#underWay.has(key)) return this.#enqueue(address);
      this.#later.delete(key);
      this.wake(address);
    };
    // A call that waits for the actor keeps the process alive; a mere check does not.
    this.#later.set(key, this.#options.system.setTimer(when.afterMs, look, { background: !when.urgent }));
  }

  /** Whether an actor will be checked later. */
  isPending(address: Address): boolean {
    return this.#later.size > 0 && this.#later.has(this.#options.keyOf(address));
  }

  enter(address: Address): boolean {
    return this.#slots.enter(address);
  }

  leave(address: Address): void {
    this.#slots.leave(address);
  }

  get hasRoom(): boolean {
    return this.#slots.hasRoom;
  }

  isInLine(address: Address): boolean {
    return this.#slots.isInLine(address);
  }

  /** Finds what other processes left, now and from then on. Resolves when everything present was found. */
  start(): Promise<void> {
    return this.#recovery.start();
  }

  /** There is a new agent or workflow: what could not be taken before may be taken now. */
  lookAgain(): void {
    this.#recovery.lookAgain();
  }

  /** Nothing starts any more. */
  stop(): void {
    this.#stopped = true;
    this.#recovery.stop();
    for (const cancel of this.#later.values()) cancel();
    this.#later.clear();
    this.#queue.clear();
    this.#slots.close();
  }

  #enqueue(address: Address): void {
    const key = this.#options.keyOf(address);
    if (!this.#underWay.has(key)) this.#queue.set(key, address);
    this.#next();
  }

  #next(): void {
    for (const [key, address] of this.#queue) {
      if (this.#stopped || this.#underWay.size >= this.#options.limits.recoverAtOnce) return;
      this.#queue.delete(key);
      this.#underWay.add(key);
      void this.#carryOut(key, address);
    }
  }

  async #carryOut(key: string, address: Address): Promise<void> {
    try {
      this.#later.get(key)?.();
      this.#later.delete(key);
      await this.#work(address);
      // A store may respond without yielding, and checking an actor may be all there is to do.
      await sleep(this.#options.system, 0);
    } finally {
      this.#underWay.delete(key);
      this.#next();
    }
  }
}
