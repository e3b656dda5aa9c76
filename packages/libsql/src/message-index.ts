import { createHash } from "node:crypto";
import { MESSAGE_STEPS, MESSAGES, type Select } from "@selvedge/core/storage";
import type { Found, Plan } from "./plan.ts";
import { quote } from "./schema-sql.ts";
import { toTriples } from "./search-index.ts";
import type { Mentions, Sql } from "./sql-writer.ts";

const [messages, steps] = [quote(MESSAGES.name), quote(MESSAGE_STEPS.name)];
const INDEX = quote(`${MESSAGES.name}_search`);
/** One row: the messages up to this number are in the index. */
const STATE = quote(`${MESSAGES.name}_search_state`);
/** Indexed messages that have changed since. */
const AGAIN = quote(`${MESSAGES.name}_search_again`);

const PRIVATE_USE = { first: 0xe000, count: 6400 } as const;

/** How many messages are indexed in one transaction, while other writers wait. */
const SLICE = 20;

interface MessageCells {
  seq: number;
  id: string;
  role: string;
  resource_id: string | null;
  content: string;
}

/**
 * Creates the tables of the full-text index of messages. Messages are written often and searched rarely, so a write
 * only marks that an indexed message has changed; new ones are found by their numbers. A search reads them in.
 */
export function messageIndexSql(names: ReadonlySet<string>): string[] {
  if (names.has(`${MESSAGES.name}_search`)) return [];
  const upto = `(SELECT upto FROM ${STATE})`;
  const note = (seq: string): string =>
    `INSERT INTO ${AGAIN} SELECT ${seq} WHERE ${seq} NOT IN (SELECT seq FROM ${AGAIN});`;
  const trigger = (name: string, event: string, when: string, work: string): string =>
    `CREATE TRIGGER ${quote(`${MESSAGES.name}_search_${name}`)} AFTER ${event} WHEN ${when} BEGIN ${work} END`;
  const changed = "old.content IS NOT new.content OR old.resource_id IS NOT new.resource_id";
  const update = `UPDATE OF content, resource_id ON ${messages}`;
  const ofStep = (row: "old" | "new"): string =>
    `INSERT INTO ${AGAIN} SELECT seq FROM ${messages} WHERE id = ${row}.message_id AND seq <= ${upto}
       AND seq NOT IN (SELECT seq FROM ${AGAIN});`;
  // In a store that was never searched, this is the whole cost.
  const isUsed = `${upto} > 0`;
  return [
    `CREATE VIRTUAL TABLE ${INDEX} USING fts5(words, content='', contentless_delete=1, detail=none, tokenize='trigram')`,
    `CREATE TABLE ${STATE} (upto INTEGER NOT NULL)`,
    `INSERT INTO ${STATE} VALUES (0)`,
    `CREATE TABLE ${AGAIN} (seq INTEGER PRIMARY KEY)`,
    trigger("update", update, `old.seq <= ${upto} AND (${changed})`, note("old.seq")),
    trigger("delete", `DELETE ON ${messages}`, `old.seq <= ${upto}`, note("old.seq")),
    trigger("step_insert", `INSERT ON ${steps}`, isUsed, ofStep("new")),
    trigger("step_update", `UPDATE OF parts ON ${steps}`, isUsed, ofStep("new")),
    trigger("step_delete", `DELETE ON ${steps}`, isUsed, ofStep("old")),
  ];
}

/** What the index adds to a query for messages, or `undefined` if it cannot help. */
export function messageMentions({ where, orderBy }: Select, terms: readonly string[]): Mentions | undefined {
  const owner = where?.["resource_id"];
  const triples = toTriples(terms);
  const isOneThread = where?.["thread_id"] !== undefined;
  if (isOneThread && triples.length === 0) return undefined;
  // All owners share the index. With the owner in it, a search costs what the owner has, not what all have.
  if (typeof owner === "string") triples.unshift(`"${ownerKey(owner)}"`);
  if (triples.length === 0) return undefined;
  const match = triples.join(" AND ");
  const [order, ...others] = orderBy ?? [];
  const isNewestFirst = order?.column === "seq" && order.direction === "desc" && others.length === 0;
  if (isOneThread || !isNewestFirst)
    return { text: `seq IN (SELECT rowid FROM ${INDEX} WHERE ${INDEX} MATCH ?)`, params: [match] };
  // Read in index order from the start of the page, a page costs only what is on it.
  const { lt = Number.MAX_SAFE_INTEGER } = (where?.["seq"] ?? {}) as { lt?: number };
  return {
    text: `${INDEX} MATCH ? AND ${INDEX}.rowid < ?`,
    params: [match, lt],
    from: `${INDEX} CROSS JOIN ${messages} ON ${messages}.seq = ${INDEX}.rowid`,
    order: `${INDEX}.rowid DESC`,
  };
}

/** The number of the last message: the index is updated up to here, as others may write as fast as this reads. */
export function* lastMessage(): Plan<number> {
  const text = `SELECT coalesce(max(seq), 0) AS last FROM ${messages}`;
  const [rows] = yield [{ text, params: [] }];
  return rows![0]!["last"] as number;
}

export function* isIndexed(last: number): Plan<boolean> {
  const text = `SELECT 1 FROM ${STATE} WHERE upto < ? OR EXISTS (SELECT 1 FROM ${AGAIN})`;
  const [rows] = yield [{ text, params: [last] }];
  return rows!.length === 0;
}

/** What reads some of the messages into the index. Read and written in one transaction. */
export function* indexSlice(last: number): Plan<Sql[]> {
  const columns = "seq, id, role, resource_id, content";
  const someAgain = `SELECT seq FROM ${AGAIN} ORDER BY seq LIMIT ?`;
  const [again, changed, added] = yield [
    { text: someAgain, params: [SLICE] },
    { text: `SELECT ${columns} FROM ${messages} WHERE seq IN (${someAgain})`, params: [SLICE] },
    {
      text: `SELECT ${columns} FROM ${messages} WHERE seq > (SELECT upto FROM ${STATE}) ORDER BY seq LIMIT ?`,
      params: [SLICE],
    },
  ];
  const all = [...changed!, ...added!] as unknown as MessageCells[];
  const texts = yield* laterTexts(all.filter(({ role }) => role === "assistant"));
  // Those up to there are gone, or in the index. No number is reused.
  const upto = added!.length < SLICE ? last : (added!.at(-1)!["seq"] as number);
  return [
    ...again!.flatMap(({ seq }) => [
      { text: `DELETE FROM ${AGAIN} WHERE seq = ?`, params: [seq!] },
      { text: `DELETE FROM ${INDEX} WHERE rowid = ?`, params: [seq!] },
    ]),
    ...all.map((message) => ({
      text: `INSERT INTO ${INDEX} (rowid, words) VALUES (?, ?)`,
      params: [message.seq, wordsOf(message, texts.get(message.id) ?? [])],
    })),
    { text: `UPDATE ${STATE} SET upto = max(upto, ?, ?)`, params: [upto, lastOf(added!)] },
  ];
}

/** The texts of the later steps of messages, by their ids. */
function* laterTexts(of: readonly MessageCells[]): Plan<Map<string, string[]>> {
  const texts = new Map<string, string[]>();
  if (of.length === 0) return texts;
  const [rows] = yield [
    {
      text: `SELECT message_id, parts FROM ${steps} WHERE message_id IN (SELECT value FROM json_each(?)) ORDER BY message_id, step`,
      params: [JSON.stringify(of.map(({ id }) => id))],
    },
  ];
  for (const { message_id: id, parts } of rows! as { message_id: string; parts: string }[])
    texts.set(id, [...(texts.get(id) ?? []), ...textsOf(JSON.parse(parts))]);
  return texts;
}

function lastOf(rows: readonly Found[]): number {
  return (rows.at(-1)?.["seq"] ?? 0) as number;
}

function wordsOf({ resource_id: owner, content }: MessageCells, later: readonly string[]): string {
  const texts = [...textsOf((JSON.parse(content) as { parts?: unknown }).parts), ...later];
  if (owner !== null) texts.unshift(ownerKey(owner));
  return texts.join("\n");
}

/**
 * A triple of characters that no script uses, so that one entry of the index has all messages of an owner. Two owners
 * may share it: the search also filters by resource.
 */
function ownerKey(resourceId: string): string {
  const hash = createHash("sha256").update(resourceId).digest();
  const character = (index: number): number =>
    PRIVATE_USE.first + (hash.readUInt16LE(index) % PRIVATE_USE.count);
  return String.fromCodePoint(character(0), character(2), character(4));
}

function textsOf(parts: unknown): string[] {
  if (!Array.isArray(parts)) return [];
  return parts.flatMap((part: { type?: unknown; text?: unknown } | null) =>
    part?.type === "text" && typeof part.text === "string" ? [part.text] : [],
  );
}
