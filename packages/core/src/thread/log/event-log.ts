import type { AgentChunk } from "@selvedge/protocol";
import { type EventPiece, type Numbered, rowsAfter } from "../../actor/log/event-piece.ts";
import type { Storage, Write } from "../../storage/storage.ts";
import { EVENTS, type EventRow } from "../../storage/thread-tables.ts";
import { toJsonChunk } from "./json-chunk.ts";
import { insert, update } from "../../storage/writes.ts";

/** A chunk of a thread's stream with its number. */
export type NumberedChunk = Numbered<AgentChunk>;

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

/** The rows with events after number `after`, starting with the one that contains the next event. */
export async function readEvents(
  storage: Storage,
  threadId: string,
  after: number,
  limit?: number,
): Promise<EventPiece<AgentChunk>[]> {
  const rows = await rowsAfter(
    (first, direction, count) =>
      storage.select({
        table: EVENTS,
        where: { thread_id: threadId, first },
        orderBy: [{ column: "first", direction }],
        limit: count,
      }),
    after,
    limit,
  );
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

function toPiece(row: EventRow): EventPiece<AgentChunk> {
  const first = row.first;
  const runId = row.run_id;
  const chunks = row.chunks as unknown as Omit<AgentChunk, "runId">[];
  return {
    first,
    chunks: chunks.map((chunk, index) => ({ ...chunk, runId, seq: first + index }) as NumberedChunk),
  };
}
