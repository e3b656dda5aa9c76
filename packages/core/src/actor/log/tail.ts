import { type EventPiece, numbered, PIECES_AT_ONCE } from "./event-piece.ts";

const MAX_CHUNKS = 4096;

/**
 * The newest events of a log, kept for the readers of this process, so that each piece is built or read once for all of
 * them. A reader that is further back reads the store. The log only grows, so what is kept stays right.
 */
export class Tail<Chunk extends object> {
  #pieces: EventPiece<Chunk>[] = [];
  #count = 0;
  #waiting: (() => void)[] = [];
  #fetching: { after: number; pieces: Promise<readonly EventPiece<Chunk>[]> } | undefined;
  /** Others may have written after what is kept. */
  #mayBeBehind = true;

  append(first: number, chunks: readonly Chunk[]): void {
    // Nobody reads along: remember nothing.
    if (this.#waiting.length === 0 && this.#pieces.length === 0 && !this.#fetching) return;
    this.#mayBeBehind = false;
    this.#add({ first, chunks: numbered(chunks, first) });
    this.wake();
  }

  /** Pieces with events after `after`; `undefined` when only the store knows. */
  read(after: number): EventPiece<Chunk>[] | undefined {
    const [oldest] = this.#pieces;
    if (!oldest || oldest.first > after + 1) return undefined;
    const newer = this.#pieces.filter((piece) => endOf(piece) > after);
    return newer.length === 0 && this.#mayBeBehind ? undefined : newer;
  }

  /** What follows `after` in the store, read once for all readers that are there. */
  async catchUp(
    after: number,
    readEvents: (after: number) => Promise<EventPiece<Chunk>[]>,
  ): Promise<readonly EventPiece<Chunk>[]> {
    if (this.#fetching?.after === after) return this.#fetching.pieces;
    const pieces = this.#fetch(after, readEvents);
    const fetching = { after, pieces };
    this.#fetching ??= fetching;
    try {
      return await pieces;
    } finally {
      if (this.#fetching === fetching) this.#fetching = undefined;
    }
  }

  async #fetch(
    after: number,
    readEvents: (after: number) => Promise<EventPiece<Chunk>[]>,
  ): Promise<readonly EventPiece<Chunk>[]> {
    const last = this.#pieces.at(-1);
    const isAtEnd = !last || endOf(last) === after;
    // What is written from here on says so itself.
    if (isAtEnd) this.#mayBeBehind = false;
    try {
      const pieces = await readEvents(after);
      if (!isAtEnd) return pieces;
      for (const piece of pieces) if (this.#fits(piece, after)) this.#add(piece);
      if (pieces.length >= PIECES_AT_ONCE) this.#mayBeBehind = true;
      if (pieces.length > 0) this.wake();
      return pieces;
    } catch (error) {
      this.#mayBeBehind = true;
      throw error;
    }
  }

  /** Resolves at the next change, in this process or another. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Others may have written. */
  behind(): void {
    this.#mayBeBehind = true;
    this.wake();
  }

  /** What is kept may not be so any more: it was deleted, or an outcome is unknown. */
  refresh(): void {
    this.#pieces = [];
    this.#count = 0;
    this.behind();
  }

  wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #fits(piece: EventPiece<Chunk>, after: number): boolean {
    const last = this.#pieces.at(-1);
    return last ? piece.first === endOf(last) + 1 : endOf(piece) > after;
  }

  #add(piece: EventPiece<Chunk>): void {
    const last = this.#pieces.at(-1);
    if (last && endOf(last) + 1 !== piece.first) {
      this.#pieces = [];
      this.#count = 0;
    }
    this.#pieces.push(piece);
    this.#count += piece.chunks.length;
    while (this.#count > MAX_CHUNKS && this.#pieces.length > 1)
      this.#count -= this.#pieces.shift()!.chunks.length;
  }
}

function endOf({ first, chunks }: EventPiece<object>): number {
  return first + chunks.length - 1;
}
