import type { KnownStatuses } from "./known-statuses.ts";
import type { RunImage } from "./run-image.ts";
import type { Accepted } from "./workflow-engine.ts";

interface Waiter {
  resolve(image: RunImage): void;
  reject(error: unknown): void;
}

/** Callers of this process that wait until a run ends, suspends or pauses, wherever that happens. */
export class RestWaiters {
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #statuses: KnownStatuses;

  constructor(statuses: KnownStatuses) {
    this.#statuses = statuses;
  }

  get runIds(): string[] {
    return [...this.#waiters.keys()];
  }

  get isEmpty(): boolean {
    return this.#waiters.size === 0;
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
    // A caller may not be interested.
    promise.catch(() => {});
    const forget = (): void => {
      const known = this.#waiters.get(runId);
      if (known?.delete(waiter) && known.size === 0) this.#waiters.delete(runId);
    };
    return { rest: promise, forget };
  }

  resolve(runId: string, image: RunImage): void {
    this.#statuses.set(runId, image.status);
    for (const { resolve } of this.#take(runId)) resolve(image);
  }

  reject(runId: string, error: unknown): void {
    for (const { reject } of this.#take(runId)) reject(error);
  }

  #take(runId: string): Iterable<Waiter> {
    const waiters = this.#waiters.get(runId) ?? [];
    this.#waiters.delete(runId);
    return waiters;
  }
}
