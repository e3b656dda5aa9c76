import type { System } from "../system.ts";

/** How long a session stays open after its last user has left. */
const IDLE_MS = 30_000;

/** Who uses which session. Unused sessions are closed a little later. */
export class SessionLeases {
  readonly #system: () => System;
  readonly #close: (id: string) => void;
  readonly #uses = new Map<string, { count: number; cancel: (() => void) | undefined }>();

  constructor(system: () => System, close: (id: string) => void) {
    this.#system = system;
    this.#close = close;
  }

  /** Returns a function that ends this use. Safe to call again. */
  take(id: string): () => void {
    const use = this.#uses.get(id) ?? { count: 0, cancel: undefined };
    this.#uses.set(id, use);
    use.count++;
    use.cancel?.();
    use.cancel = undefined;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--use.count === 0) this.#closeLater(id, use);
    };
  }

  stop(): void {
    for (const { cancel } of this.#uses.values()) cancel?.();
    this.#uses.clear();
  }

  #closeLater(id: string, use: { count: number; cancel: (() => void) | undefined }): void {
    use.cancel = this.#system().setTimer(
      IDLE_MS,
      () => {
        this.#uses.delete(id);
        this.#close(id);
      },
      { background: true },
    );
  }
}
