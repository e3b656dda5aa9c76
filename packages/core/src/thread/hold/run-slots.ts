import { AgentError, showValue } from "../../errors.ts";
import type { ThreadAddress } from "../threads.ts";
import { keyOf } from "./scheduler.ts";

/** The places for runs in a process. Threads that find none wait in line, in order of arrival. */
export class RunSlots {
  readonly #max: number;
  readonly #onTurn: (address: ThreadAddress) => void;
  readonly #held = new Set<string>();
  readonly #line = new Map<string, ThreadAddress>();

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
    if (this.#held.has(key)) return true;
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

  /** Nothing begins any more: those in line learn it now. */
  close(): void {
    const waiting = [...this.#line.values()];
    this.#line.clear();
    for (const address of waiting) this.#onTurn(address);
  }
}
