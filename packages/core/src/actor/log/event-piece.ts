import type { Comparison } from "../../storage/storage.ts";

/** A chunk of a log with its number. */
export type Numbered<Chunk> = Chunk & { seq: number };

/** Events numbered from `first`, as stored in one row. */
export interface EventPiece<Chunk> {
  first: number;
  chunks: Numbered<Chunk>[];
}

/** How many rows are read from the store at a time. */
export const PIECES_AT_ONCE = 16;

export function numbered<Chunk extends object>(chunks: readonly Chunk[], first: number): Numbered<Chunk>[] {
  return chunks.map((chunk, index) => ({ ...chunk, seq: first + index }));
}

/**
 * The rows with events after number `after`, starting with the one that contains the next event. `select` returns rows
 * of one log by their first number.
 */
export async function rowsAfter<R extends { first: number; last: number }>(
  select: (first: Comparison<number>, direction: "asc" | "desc", limit: number) => Promise<R[]>,
  after: number,
  limit: number = PIECES_AT_ONCE,
): Promise<R[]> {
  const rows = await select({ gt: after }, "asc", limit);
  if (rows[0]?.first !== after + 1) {
    // A reconnecting reader may have stopped in the middle of a row.
    const [before] = await select({ lte: after }, "desc", 1);
    if (before && before.last > after) rows.unshift(before);
  }
  return rows;
}
