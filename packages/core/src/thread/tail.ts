import type { AgentChunk } from "@selvedge/protocol";
import { type EventPiece, numbered } from "./event-log.ts";

const MAX_CHUNKS = 4096;

/**
 * The newest events of a thread, kept for the readers of this process so that each piece is built once for all of
 * them. A reader that is further back reads the store.
 */
export class Tail {
  #pieces: EventPiece[] = [];
  #count = 0;
  #waiting: (() => void)[] = [];
  /** No run is here, so others may have written after what is kept. */
  #mayBeBehind = true;

  append(first: number, chunks: readonly AgentChunk[]): void {
    const last = this.#pieces.at(-1);
    if (last && last.first + last.chunks.length !== first) this.#clear();
    if (this.#waiting.length === 0 && this.#pieces.length === 0) {
      // Nobody reads along: remember nothing.
      return;
    }
    this.#mayBeBehind = false;
    this.#pieces.push({ first, chunks: numbered(chunks, first) });
    this.#count += chunks.length;
    while (this.#count > MAX_CHUNKS && this.#pieces.length > 1)
      this.#count -= this.#pieces.shift()!.chunks.length;
    this.wake();
  }

  /** Pieces with events after `after`; `undefined` when only the store knows. */
  read(after: number): EventPiece[] | undefined {
    const [oldest] = this.#pieces;
    if (!oldest || oldest.first > after + 1) return undefined;
    const newer = this.#pieces.filter((piece) => piece.first + piece.chunks.length - 1 > after);
    return newer.length === 0 && this.#mayBeBehind ? undefined : newer;
  }

  /** The run that was here is over: what comes next may be written elsewhere. */
  release(): void {
    this.#mayBeBehind = true;
    this.wake();
  }

  /** Resolves at the next change, in this process or another. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Somebody else wrote: readers look into the store. */
  refresh(): void {
    this.#clear();
    this.wake();
  }

  wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #clear(): void {
    this.#pieces = [];
    this.#count = 0;
  }
}
