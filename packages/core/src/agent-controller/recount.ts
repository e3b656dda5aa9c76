import type { System } from "../system.ts";

const RETRY_MS = 1_000;

/**
 * Reads something again when it may have changed. One look at a time, and the last begins after the last change. A look that
 * fails is repeated a little later.
 */
export class Recount {
  readonly #look: () => Promise<void>;
  readonly #system: () => System;
  readonly #failed: (error: unknown) => void;
  #looking: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #stopped = false;

  constructor(look: () => Promise<void>, system: () => System, failed: (error: unknown) => void) {
    this.#look = look;
    this.#system = system;
    this.#failed = failed;
  }

  /** Resolves when a look that began after this call is over. Never rejects. */
  now(): Promise<void> {
    if (!this.#looking) return this.#begin();
    return (this.#next ??= this.#looking.then(() => this.#begin()));
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
      .catch((error: unknown) => {
        if (this.#stopped) return;
        this.#failed(error);
        this.#cancelTimer = this.#system().setTimer(RETRY_MS, () => void this.now(), { background: true });
      })
      .finally(() => (this.#looking = undefined));
    return this.#looking;
  }
}
