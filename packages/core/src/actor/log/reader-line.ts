import type { Storage } from "../../storage/storage.ts";

// One per store and process, even if the process has two copies of this package.
const KEY = Symbol.for("selvedge.reader-line");
/** Fewer than a store has connections. */
const AT_ONCE = 8;

/**
 * The reads of all readers of a store, a few at a time. Thousands of readers may want to read at the same moment, as after
 * a deploy. Messages, runs and leases use the same connections, and would wait behind all of them.
 */
export class ReaderLine {
  #arrived: (() => void)[] = [];
  /** Those that arrived before, the first one last. */
  #next: (() => void)[] = [];
  #underWay = 0;

  static of(storage: Storage): ReaderLine {
    return storage.attach(KEY, () => new ReaderLine());
  }

  /** Reads when it is its turn. `read` must not wait for another turn. */
  async read<Value>(read: () => Promise<Value>): Promise<Value> {
    if (this.#underWay < AT_ONCE) this.#underWay++;
    else await new Promise<void>((resolve) => this.#arrived.push(resolve));
    try {
      return await read();
    } finally {
      this.#passOn();
    }
  }

  #passOn(): void {
    if (this.#next.length === 0) {
      this.#next = this.#arrived.reverse();
      this.#arrived = [];
    }
    const next = this.#next.pop();
    if (next) next();
    else this.#underWay--;
  }
}
