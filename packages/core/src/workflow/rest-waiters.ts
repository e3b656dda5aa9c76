import type { System } from "../system.ts";
import type { KnownStatuses } from "./known-statuses.ts";
import type { RunImage } from "./run-image.ts";
import type { Accepted } from "./workflow-engine.ts";

interface Waiter {
  resolve(image: RunImage): void;
  reject(error: unknown): void;
}

/** Only keeps the process alive: it is set again. */
const LONG_MS = 86_400_000;

/**
 * Callers of this process that wait until a run ends, suspends or pauses, wherever that happens. The process stays alive
 * for them.
 */
export class RestWaiters {
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #statuses: KnownStatuses;
  readonly #system: System;
  #letGo: (() => void) | undefined;

  constructor(statuses: KnownStatuses, system: System) {
    this.#statuses = statuses;
    this.#system = system;
  }

  get runIds(): string[] {
    return [...this.#waiters.keys()];
  }

  has(runId: string): boolean {
    return this.#waiters.has(runId);
  }

  expect(runId: string): Accepted {
    const { promise, resolve, reject } = Promise.withResolvers<RunImage>();
    const waiter = { resolve, reject };
    let waiters = this.#waiters.get(runId);
    if (!waiters) this.#waiters.set(runId, (waiters = new Set()));
    waiters.add(waiter);
    this.#keepAlive();
    // A caller may not be interested.
    promise.catch(() => {});
    return { rest: promise, forget: () => this.#forget(runId, waiter) };
  }

  resolve(runId: string, image: RunImage): void {
    this.#statuses.set(runId, image.status);
    for (const { resolve } of this.#take(runId)) resolve(image);
  }

  reject(runId: string, error: unknown): void {
    for (const { reject } of this.#take(runId)) reject(error);
  }

  /** Rejects those that wait for a run now. The run may begin until this is called. */
  rejecting(runId: string): (error: unknown) => void {
    const known = [...(this.#waiters.get(runId) ?? [])];
    return (error) => {
      for (const waiter of known) {
        this.#forget(runId, waiter);
        waiter.reject(error);
      }
    };
  }

  #forget(runId: string, waiter: Waiter): void {
    const known = this.#waiters.get(runId);
    if (known?.delete(waiter) && known.size === 0) this.#take(runId);
  }

  #take(runId: string): Iterable<Waiter> {
    const waiters = this.#waiters.get(runId) ?? [];
    this.#waiters.delete(runId);
    if (this.#waiters.size === 0) {
      this.#letGo?.();
      this.#letGo = undefined;
    }
    return waiters;
  }

  #keepAlive(): void {
    this.#letGo ??= this.#system.setTimer(LONG_MS, () => {
      this.#letGo = undefined;
      if (this.#waiters.size > 0) this.#keepAlive();
    });
  }
}
