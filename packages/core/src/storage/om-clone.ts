import type { StoredThread } from "@selvedge/protocol";
import type { System } from "../system.ts";
import { newRecord } from "./om-address.ts";
import {
  OM_CHUNKS,
  OM_EVENTS,
  OM_JOBS,
  OM_RECORDS,
  type OmChunkRow,
  type OmRecordRow,
  recordKey,
} from "./om-tables.ts";
import type { Storage, Write } from "./storage.ts";
import { MESSAGES } from "./tables.ts";
import { insert, remove, update } from "./writes.ts";

/** A message of the source, and the id of its copy. */
export interface CopiedMessage {
  seq: number;
  id: string;
}

/** The messages of a copied record, by id: the store numbers them when it stores them. */
interface Unbound {
  covered: string | null;
  cursor: string | null;
  shown: string | null;
  chunks: { id: string; first: string; last: string }[];
}

/**
 * The log of a thread for its copy, in the commit of the copy. Jobs are not copied: what no chunk covers becomes due
 * again. In resource scope the log is shared, and only what is known of the messages is copied. For another resource,
 * the copy begins a log with what was noted of this thread alone: nothing that was reflected together with others.
 */
export async function cloneOmWrites(
  storage: Storage,
  source: StoredThread,
  copy: StoredThread,
  messages: readonly CopiedMessage[],
  system: System,
): Promise<Write[]> {
  const resource = recordKey("resource", "", source.resourceId);
  const target = recordKey("resource", "", copy.resourceId);
  const [records, chunks, parts, shared, [other]] = await storage.selectAll([
    { table: OM_RECORDS, where: { thread_id: source.id, source: "" } },
    { table: OM_CHUNKS, where: { thread_id: source.id }, orderBy: [{ column: "number" }] },
    { table: OM_RECORDS, where: { thread_id: resource, source: source.id } },
    {
      table: OM_CHUNKS,
      where: {
        thread_id: resource,
        source: source.id,
        kind: "observe",
        state: { in: ["active", "buffered"] },
      },
      orderBy: [{ column: "number" }],
    },
    { table: OM_RECORDS, where: { thread_id: target, source: "" }, limit: 1 },
  ]);
  const writes: Write[] = [];
  const [record] = records;
  if (record) {
    const copied = chunks.map((chunk) => copyChunk(chunk, copy.id, messages, system));
    writes.push(
      insert(
        OM_RECORDS,
        copyRecord(record, copy, { thread_id: copy.id, source: "" }, messages, copied, system),
      ),
      ...copied.map(({ row }) => insert(OM_CHUNKS, row)),
    );
  }
  const [part] = parts;
  if (!part) return writes;
  const isShared = copy.resourceId === source.resourceId;
  const key = { thread_id: target, source: copy.id };
  const version = other?.version ?? 0;
  const copied = isShared
    ? []
    : shared.map((chunk) => {
        const { row, bound } = copyChunk(chunk, copy.id, messages, system);
        const position = row.state === "active" ? version + 1 : null;
        return { row: { ...row, thread_id: target, generation: other?.generation ?? 0, position }, bound };
      });
  const own = copyRecord(part, copy, key, messages, copied, system);
  writes.push(insert(OM_RECORDS, own));
  if (isShared) return writes;
  const address = { scope: "resource" as const, threadId: copy.id, resourceId: copy.resourceId };
  const active = copied.filter(({ row }) => row.state === "active");
  return [
    ...writes,
    insert(OM_RECORDS, newRecord(address, "", system), "ignore"),
    update(OM_RECORDS, {
      // A reflection that has begun must not stand for chunks that it did not read.
      where: { thread_id: target, source: "", version },
      increment: { version: 1, log_tokens: active.reduce((sum, { row }) => sum + row.tokens!, 0) },
      require: true,
    }),
    ...copied.map(({ row }) => insert(OM_CHUNKS, row)),
  ];
}

interface CopiedChunk {
  row: Partial<OmChunkRow>;
  bound: Unbound["chunks"];
}

function copyChunk(
  { number: _, ...chunk }: OmChunkRow,
  threadId: string,
  messages: readonly CopiedMessage[],
  system: System,
): CopiedChunk {
  const own = messages.filter(({ seq }) => seq >= chunk.first_seq && seq <= chunk.last_seq);
  const first = own[0]?.id ?? null;
  const last = own.at(-1)?.id ?? null;
  const id = system.newId();
  const isGone = chunk.kind === "observe" && last === null;
  return {
    row: {
      ...chunk,
      id,
      thread_id: threadId,
      source: threadId,
      first_seq: 0,
      last_seq: 0,
      first_id: first,
      last_id: last,
      message_count: own.length,
      // What waits for messages that were left out waits for nothing.
      ...(isGone && chunk.state === "buffered" && { state: "active" as const, position: 0 }),
      ...(isGone && { message_tokens: 0 }),
    },
    bound: first !== null && last !== null ? [{ id, first, last }] : [],
  };
}

function copyRecord(
  record: OmRecordRow,
  copy: StoredThread,
  key: { thread_id: string; source: string },
  messages: readonly CopiedMessage[],
  chunks: readonly CopiedChunk[],
  system: System,
): OmRecordRow {
  const upTo = (seq: number): string | null => messages.findLast((message) => message.seq <= seq)?.id ?? null;
  const unbound: Unbound = {
    covered: upTo(record.covered_seq),
    cursor: upTo(record.cursor_seq),
    shown: upTo(Math.min(record.shown_seq, record.cursor_seq)),
    chunks: chunks.flatMap(({ bound }) => bound),
  };
  const now = Math.trunc(system.now());
  const active = chunks.filter(({ row }) => row.state === "active");
  return {
    ...record,
    ...key,
    id: system.newId(),
    resource_id: copy.resourceId,
    ...(chunks.length > 0 && { log_tokens: active.reduce((sum, { row }) => sum + row.tokens!, 0) }),
    // The sums are computed again when the copy is first used.
    pending_tokens: 0,
    pending_count: -1,
    planned_id: unbound.covered,
    planned_tokens: 0,
    covered_seq: 0,
    covered_id: unbound.covered,
    cursor_seq: 0,
    shown_seq: 0,
    omitted_count: 0,
    omitted_tokens: 0,
    unbound,
    created_at: now,
    updated_at: now,
  };
}

/** Puts the numbers of the messages into a copied record. Doing it twice is harmless. */
export async function bindWrites(storage: Storage, part: OmRecordRow): Promise<Write[]> {
  const { covered, cursor, shown, chunks } = part.unbound as Unbound;
  const ids = [covered, cursor, shown, ...chunks.flatMap(({ first, last }) => [first, last])];
  const rows = await storage.select({
    table: MESSAGES,
    where: { id: { in: ids.filter((id) => id !== null) } },
    columns: ["id", "seq"],
  });
  const seqs = new Map(rows.map(({ id, seq }) => [id, seq]));
  const seq = (id: string | null): number => (id === null ? 0 : (seqs.get(id) ?? 0));
  const { thread_id, source } = part;
  return [
    update(OM_RECORDS, {
      where: { thread_id, source, unbound: { ne: null } as never },
      set: { covered_seq: seq(covered), cursor_seq: seq(cursor), shown_seq: seq(shown), unbound: null },
      require: true,
    }),
    ...chunks.map(({ id, first, last }) =>
      update(OM_CHUNKS, { where: { thread_id, id }, set: { first_seq: seq(first), last_seq: seq(last) } }),
    ),
  ];
}

/** Takes a thread out of the log that its resource shares. What was reflected together with others stays. */
export async function forgetSource(storage: Storage, threadId: string, resourceId: string): Promise<Write[]> {
  const key = recordKey("resource", "", resourceId);
  const where = { thread_id: key, source: threadId };
  const [[part], active] = await storage.selectAll([
    { table: OM_RECORDS, where, limit: 1 },
    { table: OM_CHUNKS, where: { ...where, kind: "observe", state: "active" }, columns: ["tokens"] },
  ]);
  if (!part) return [];
  const tokens = active.reduce((sum, chunk) => sum + chunk.tokens, 0);
  return [
    update(OM_RECORDS, {
      where: { thread_id: key, source: "" },
      increment: { log_tokens: -tokens, version: 1 },
    }),
    remove(OM_RECORDS, where),
    remove(OM_CHUNKS, { ...where, kind: "observe", state: { in: ["active", "buffered"] } }),
    remove(OM_JOBS, { ...where, kind: "observe" }),
    remove(OM_EVENTS, where),
  ];
}
