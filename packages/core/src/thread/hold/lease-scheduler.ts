import type { Logger } from "../../logger.ts";
import type { Storage } from "../../storage/storage.ts";
import { sleep, type System } from "../../system.ts";
import type { ThreadAddress } from "../threads.ts";
import type { Owner } from "./owner.ts";
import { Recovery } from "./recovery.ts";
import { RunSlots } from "./run-slots.ts";
import { keyOf, type Scheduler } from "./scheduler.ts";

export interface LeaseSchedulerOptions {
  storage: Storage;
  system: System;
  logger: Logger;
  owner: Owner;
  limits: { recoverAtOnce: number; maxRuns: number };
  /** Called whenever the process searches for threads that others left. */
  onLook(): void;
}

/**
 * Schedules the threads of one process among others that share its store. The leases in the store say who carries out a
 * thread; every process searches for those whose owner is gone.
 */
export class LeaseScheduler implements Scheduler {
  readonly #options: LeaseSchedulerOptions;
  readonly #recovery: Recovery;
  readonly #slots: RunSlots;
  /** Threads to check later, with the functions that cancel that. */
  readonly #later = new Map<string, () => void>();
  /** Threads to check that no caller here waits for: a few at a time. */
  readonly #queue = new Map<string, ThreadAddress>();
  readonly #underWay = new Set<string>();
  #work: (key: ThreadAddress) => Promise<void> = () => Promise.resolve();
  #stopped = false;

  constructor(options: LeaseSchedulerOptions) {
    this.#options = options;
    const { storage, system, logger, owner, onLook } = options;
    const onFound = (thread: ThreadAddress): void => this.#enqueue(thread);
    this.#recovery = new Recovery({ storage, system, logger, owner, onLook, onFound });
    this.#slots = new RunSlots(options.limits.maxRuns, (thread) => this.wake(thread));
  }

  onWake(work: (key: ThreadAddress) => Promise<void>): void {
    this.#work = work;
  }

  wake(thread: ThreadAddress, when?: { afterMs: number; urgent: boolean }): void {
    if (!when) return void this.#work(thread);
    if (this.#stopped) return;
    const key = keyOf(thread);
    this.#later.get(key)?.();
    const look = (): void => {
      // A thread is remembered until its turn in the queue, together with how long it has waited.
      if (!when.urgent && !this.#underWay.has(key)) return this.#enqueue(thread);
      this.#later.delete(key);
      this.wake(thread);
    };
    // A call that waits for the thread keeps the process alive; a mere check does not.
    this.#later.set(key, this.#options.system.setTimer(when.afterMs, look, { background: !when.urgent }));
  }

  /** Whether a thread will be checked later. */
  isPending(thread: ThreadAddress): boolean {
    return this.#later.size > 0 && this.#later.has(keyOf(thread));
  }

  enter(thread: ThreadAddress): boolean {
    return this.#slots.enter(thread);
  }

  leave(thread: ThreadAddress): void {
    this.#slots.leave(thread);
  }

  get hasRoom(): boolean {
    return this.#slots.hasRoom;
  }

  isInLine(thread: ThreadAddress): boolean {
    return this.#slots.isInLine(thread);
  }

  /** Finds what other processes left, now and from then on. Resolves when everything present was found. */
  start(): Promise<void> {
    return this.#recovery.start();
  }

  /** There is a new agent: what could not be taken before may be taken now. */
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

  #enqueue(thread: ThreadAddress): void {
    const key = keyOf(thread);
    if (!this.#underWay.has(key)) this.#queue.set(key, thread);
    this.#next();
  }

  #next(): void {
    for (const [key, thread] of this.#queue) {
      if (this.#stopped || this.#underWay.size >= this.#options.limits.recoverAtOnce) return;
      this.#queue.delete(key);
      this.#underWay.add(key);
      void this.#carryOut(key, thread);
    }
  }

  async #carryOut(key: string, thread: ThreadAddress): Promise<void> {
    try {
      this.#later.get(key)?.();
      this.#later.delete(key);
      await this.#work(thread);
      // A store may respond without yielding, and checking a thread may be all there is to do.
      await sleep(this.#options.system, 0);
    } finally {
      this.#underWay.delete(key);
      this.#next();
    }
  }
}
