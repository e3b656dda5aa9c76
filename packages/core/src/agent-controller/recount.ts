import { AgentError } from "../errors.ts";
import type { System } from "../system.ts";

const RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

/**
 * Repeats a check when something may have changed. Checks do not overlap, and the last one starts after the last change.
 * A failed check is retried a little later.
 */
export class Recount {
  readonly #look: () => Promise<void>;
  readonly #system: () => System;
  readonly #failed: (error: unknown) => void;
  #looking: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #retryMs = RETRY_MS;
  #stopped = false;
  /** Whether a check was requested. */
  asked = false;

  constructor(look: () => Promise<void>, system: () => System, failed: (error: unknown) => void) {
    this.#look = look;
    this.#system = system;
    this.#failed = failed;
  }

  /** Resolves when a check that began after this call has finished. Never rejects. */
  now(): Promise<void> {
    this.asked = true;
    if (!this.#looking) return this.#begin();
    return (this.#next ??= this.#looking.then(() => this.#begin()));
  }

  get isLooking(): boolean {
    return this.#looking !== undefined;
  }

  /** Resolves when no check is in progress. */
  async settled(): Promise<void> {
    while (this.#looking) await this.#looking;
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
  }

  #begin(): Promise<void> {
    this.#next = undefined;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#stopped) return Promise.resolve();
    this.#looking = this.#look()
      .then(
        () => void (this.#retryMs = RETRY_MS),
        (error: unknown) => this.#onFailure(error),
      )
      .finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  #onFailure(error: unknown): void {
    if (this.#stopped) return;
    this.#failed(error);
    if (AgentError.is(error, "storage-closed")) return this.stop();
    const again = () => void this.now();
    this.#cancelTimer = this.#system().setTimer(this.#retryMs, again, { background: true });
    this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS);
  }
}
