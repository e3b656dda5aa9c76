import { AgentError, showValue } from "../../errors.ts";
import type { ThreadAddress } from "../threads.ts";
import { keyOf } from "./scheduler.ts";

/** The places for runs in a process. Threads that find none wait in line and get one in the order they came. */
export class RunSlots {
  readonly #max: number;
  readonly #onTurn: (address: ThreadAddress) => void;
  readonly #held = new Set<string>();
  readonly #line = new Map<string, ThreadAddress>();
  /** Threads that runs of this process wait for, and how many do. */
  readonly #awaited = new Map<string, number>();

  /** `onTurn` is called with a thread that got the place it waited for. */
  constructor(max: number, onTurn: (address: ThreadAddress) => void) {
    if (!(max >= 1))
      throw new AgentError("invalid-argument", `threads.maxRuns must be 1 or more, got ${showValue(max)}.`);
    this.#max = max;
    this.#onTurn = onTurn;
  }

  get hasRoom(): boolean {
    return this.#held.size < this.#max;
  }

  isInLine(address: ThreadAddress): boolean {
    return this.#line.size > 0 && this.#line.has(keyOf(address));
  }

  enter(address: ThreadAddress): boolean {
    const key = keyOf(address);
    if (this.#held.has(key) || this.#awaited.has(key)) return true;
    if (this.hasRoom) this.#held.add(key);
    else if (!this.#line.has(key)) this.#line.set(key, address);
    return this.#held.has(key);
  }

  leave(address: ThreadAddress): void {
    if (!this.#held.delete(keyOf(address))) return;
    for (const [key, next] of this.#line) {
      if (!this.hasRoom) return;
      this.#line.delete(key);
      this.#held.add(key);
      this.#onTurn(next);
    }
  }

  /**
   * A run of this process waits for one on the thread. It has a place already, and may not have to wait for itself: until
   * the returned function is called, the thread needs none.
   */
  awaits(address: ThreadAddress): () => void {
    const key = keyOf(address);
    this.#awaited.set(key, (this.#awaited.get(key) ?? 0) + 1);
    if (this.#line.delete(key)) this.#onTurn(address);
    return () => {
      const left = this.#awaited.get(key)! - 1;
      if (left > 0) this.#awaited.set(key, left);
      else this.#awaited.delete(key);
    };
  }

  /** Nothing begins any more: those in line learn it now. */
  close(): void {
    const waiting = [...this.#line.values()];
    this.#line.clear();
    for (const address of waiting) this.#onTurn(address);
  }
}
