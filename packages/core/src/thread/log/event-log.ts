import type { AgentChunk } from "@selvedge/protocol";
import type { Comparison, Storage, Write } from "../../storage/storage.ts";
import { EVENTS, type EventRow } from "../../storage/thread-tables.ts";
import { toJsonChunk } from "./json-chunk.ts";
import { insert, update } from "../../storage/writes.ts";

/** A chunk of a thread's stream with its number. */
export type NumberedChunk = AgentChunk & { seq: number };

/** Events numbered from `first`, as stored in one row. */
export interface EventPiece {
  first: number;
  chunks: NumberedChunk[];
}

/** One row with the events from `first` on. The thread `rests` if its run ends with them, or it has none. */
export function insertEvents(
  threadId: string,
  runId: string,
  first: number,
  chunks: readonly AgentChunk[],
  { now, rests }: { now: number; rests: boolean },
): Write {
  const time = Math.trunc(now);
  return insert(EVENTS, {
    thread_id: threadId,
    first,
    last: first + chunks.length - 1,
    run_id: runId,
    // The run id is the same in all of them, so the row has it once.
    chunks: chunks.map(({ runId: _, ...chunk }) => chunk) as never,
    created_at: time,
    ...(rests && { rested_at: time }),
  });
}

/** A run that ends without a word: the thread rests after the events that are there. */
export function restAfter(threadId: string, last: number, now: number): Write {
  return update(EVENTS, { where: { thread_id: threadId, last }, set: { rested_at: Math.trunc(now) } });
}

/** How many rows are read from the store at a time. */
export const PIECES_AT_ONCE = 16;

/** The rows with events after number `after`, starting with the one that contains the next event. */
export async function readEvents(
  storage: Storage,
  threadId: string,
  after: number,
  limit: number = PIECES_AT_ONCE,
): Promise<EventPiece[]> {
  const select = (first: Comparison<number>, direction: "asc" | "desc", count: number) =>
    storage.select({
      table: EVENTS,
      where: { thread_id: threadId, first },
      orderBy: [{ column: "first", direction }],
      limit: count,
    });
  const rows = await select({ gt: after }, "asc", limit);
  if (rows[0]?.["first"] !== after + 1) {
    // A reconnecting reader may have stopped in the middle of a row.
    const [before] = await select({ lte: after }, "desc", 1);
    if (before && before.last > after) rows.unshift(before);
  }
  return rows.map(toPiece);
}

/**
 * A chunk for subscribers: always JSON, whatever an app or provider put into it, and without bulky fields that only a
 * direct caller can use.
 */
export function toBroadcast(chunk: AgentChunk): AgentChunk {
  if (chunk.type === "step-start") {
    const { messageId, model } = chunk.payload;
    return toJsonChunk({ ...chunk, payload: { messageId, ...(model !== undefined && { model }) } });
  }
  if (chunk.type === "finish")
    return { ...chunk, payload: { ...chunk.payload, messages: { all: [], user: [], nonUser: [] } } };
  return toJsonChunk(chunk);
}

export function numbered(chunks: readonly AgentChunk[], first: number): NumberedChunk[] {
  return chunks.map((chunk, index) => ({ ...chunk, seq: first + index }));
}

function toPiece(row: EventRow): EventPiece {
  const first = row.first;
  const runId = row.run_id;
  const chunks = row.chunks as unknown as Omit<AgentChunk, "runId">[];
  return {
    first,
    chunks: chunks.map((chunk, index) => ({ ...chunk, runId, seq: first + index }) as NumberedChunk),
  };
}
