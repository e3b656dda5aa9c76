import { createHash } from "node:crypto";
import { MESSAGE_STEPS, MESSAGES, type Select, sleep, type System } from "@selvedge/core/storage";
import type { Connection } from "./connection.ts";
import { quote } from "./schema-sql.ts";
import { toTriples } from "./search-index.ts";
import type { Mentions } from "./sql-writer.ts";

const [messages, steps] = [quote(MESSAGES.name), quote(MESSAGE_STEPS.name)];
const INDEX = quote(`${MESSAGES.name}_search`);
/** One row: the messages up to this number are in the index. */
const STATE = quote(`${MESSAGES.name}_search_state`);
/** Indexed messages that have changed since. */
const AGAIN = quote(`${MESSAGES.name}_search_again`);

const PRIVATE_USE = { first: 0xe000, count: 6400 } as const;

/** How long indexing may hold the write lock and the event loop. */
const SLICE_MS = 10;

interface MessageCells {
  seq: number;
  id: string;
  role: string;
  resource_id: string | null;
  content: string;
}

/**
 * Creates the tables of the full-text index of messages. Messages are written often and searched rarely, so a write
 * only marks that an indexed message has changed; new ones are found by their numbers. `MessageIndex` reads them in.
 */
export function addMessageIndex(connection: Connection): void {
  if (connection.all("SELECT 1 FROM sqlite_master WHERE name = ?", [`${MESSAGES.name}_search`]).length > 0)
    return;
  connection.exec(
    `CREATE VIRTUAL TABLE ${INDEX} USING fts5(words, content='', contentless_delete=1, detail=none, tokenize='trigram')`,
  );
  connection.exec(`CREATE TABLE ${STATE} (upto INTEGER NOT NULL)`);
  connection.exec(`INSERT INTO ${STATE} VALUES (0)`);
  connection.exec(`CREATE TABLE ${AGAIN} (seq INTEGER PRIMARY KEY)`);
  const upto = `(SELECT upto FROM ${STATE})`;
  const note = (seq: string): string =>
    `INSERT INTO ${AGAIN} SELECT ${seq} WHERE ${seq} NOT IN (SELECT seq FROM ${AGAIN});`;
  const trigger = (name: string, event: string, when: string, work: string): void =>
    connection.exec(
      `CREATE TRIGGER ${quote(`${MESSAGES.name}_search_${name}`)} AFTER ${event} WHEN ${when} BEGIN ${work} END`,
    );
  const changed = "old.content IS NOT new.content OR old.resource_id IS NOT new.resource_id";
  const update = `UPDATE OF content, resource_id ON ${messages}`;
  trigger("update", update, `old.seq <= ${upto} AND (${changed})`, note("old.seq"));
  trigger("delete", `DELETE ON ${messages}`, `old.seq <= ${upto}`, note("old.seq"));
  const ofStep = (row: "old" | "new"): string =>
    `INSERT INTO ${AGAIN} SELECT seq FROM ${messages} WHERE id = ${row}.message_id AND seq <= ${upto}
       AND seq NOT IN (SELECT seq FROM ${AGAIN});`;
  // In a store that was never searched, this is the whole cost.
  const isUsed = `${upto} > 0`;
  trigger("step_insert", `INSERT ON ${steps}`, isUsed, ofStep("new"));
  trigger("step_update", `UPDATE OF parts ON ${steps}`, isUsed, ofStep("new"));
  trigger("step_delete", `DELETE ON ${steps}`, isUsed, ofStep("old"));
}

/** The full-text index of messages, updated when it is queried. */
export class MessageIndex {
  readonly #connection: Connection;
  readonly #system: System;

  constructor(connection: Connection, system: System) {
    this.#connection = connection;
    this.#system = system;
  }

  /** What the index adds to a query for messages, or `undefined` if it cannot help. */
  mentions({ where, orderBy }: Select, terms: readonly string[]): Mentions | undefined {
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

  /** Reads in what has been written, in slices that let other work run. */
  async catchUp(): Promise<void> {
    // Up to here and no further: others may write as fast as this reads.
    const last = await this.#connection.read(() => this.#last());
    while (!(await this.#connection.read(() => this.#isAt(last)))) {
      await this.#connection.write(() => this.#slice(last));
      await sleep(this.#system, 0);
    }
  }

  #last(): number {
    const sql = `SELECT coalesce(max(seq), 0) AS last FROM ${messages}`;
    return this.#connection.get<{ last: number }>(sql, [])!.last;
  }

  #isAt(last: number): boolean {
    const sql = `SELECT 1 FROM ${STATE} WHERE upto < ? OR EXISTS (SELECT 1 FROM ${AGAIN})`;
    return this.#connection.get(sql, [last]) === undefined;
  }

  #slice(last: number): void {
    const connection = this.#connection;
    const end = this.#system.monotonic() + SLICE_MS;
    do {
      const again = connection.get<{ seq: number }>(`SELECT seq FROM ${AGAIN} LIMIT 1`, []);
      if (again) {
        connection.run(`DELETE FROM ${AGAIN} WHERE seq = ?`, [again.seq]);
        connection.run(`DELETE FROM ${INDEX} WHERE rowid = ?`, [again.seq]);
        const message = this.#message("seq = ?", again.seq);
        if (message) this.#add(message);
        continue;
      }
      const message = this.#message(`seq > (SELECT upto FROM ${STATE}) ORDER BY seq LIMIT 1`);
      if (!message) {
        // Those up to there are gone. No number is reused.
        connection.run(`UPDATE ${STATE} SET upto = max(upto, ?)`, [last]);
        return;
      }
      this.#add(message);
      connection.run(`UPDATE ${STATE} SET upto = ?`, [message.seq]);
    } while (this.#system.monotonic() < end);
  }

  #message(which: string, ...params: number[]): MessageCells | undefined {
    const sql = `SELECT seq, id, role, resource_id, content FROM ${messages} WHERE ${which}`;
    return this.#connection.get<MessageCells>(sql, params);
  }

  #add({ seq, id, role, resource_id: owner, content }: MessageCells): void {
    const texts = textsOf((JSON.parse(content) as { parts?: unknown }).parts);
    if (role === "assistant") {
      const sql = `SELECT parts FROM ${steps} WHERE message_id = ? ORDER BY step`;
      for (const { parts } of this.#connection.all<{ parts: string }>(sql, [id]))
        texts.push(...textsOf(JSON.parse(parts)));
    }
    if (owner !== null) texts.unshift(ownerKey(owner));
    const insert = `INSERT INTO ${INDEX} (rowid, words) VALUES (?, ?)`;
    this.#connection.run(insert, [seq, texts.join("\n")]);
  }
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
