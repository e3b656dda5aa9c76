import { type Change, type Commit, keysOf, type Write } from "@selvedge/core/storage";
import type { Connection } from "./connection.ts";

const EVENTS = "selvedge_events";
const MAILBOX = "selvedge_mailbox";
const RUNS = "selvedge_runs";
/** Changes of commits that leave no other trace. */
const NEWS = "selvedge_news";
const KEPT = 10_000;

export function addNews(connection: Connection): void {
  connection.exec(
    `CREATE TABLE IF NOT EXISTS ${NEWS} (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL)`,
  );
}

/**
 * Reports which keys other processes changed. Frequent changes need no extra write: the events of a run and sent
 * messages have rising row numbers, so checking the last rows is enough. Other commits, such as an answer to a tool
 * call, add a row for each of their keys.
 */
export class News {
  readonly #connection: Connection;
  #seen: { events: number; mailbox: number; news: number } | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Records the keys of a silent commit. Inside its transaction. */
  tell(commit: Commit): void {
    for (const key of keysOf(commit)) {
      const { lastInsertRowid } = this.#connection.run(`INSERT INTO ${NEWS} (key) VALUES (?)`, [key]);
      const id = Number(lastInsertRowid);
      if (id % KEPT === 0) this.#connection.run(`DELETE FROM ${NEWS} WHERE id <= ?`, [id - KEPT]);
    }
  }

  /** Remembers the position in the file, so that the next check reports what came after. */
  start(): void {
    this.#seen ??= this.#last();
  }

  /** The keys written since the last check, by any process. */
  look(): Change {
    const before = this.#seen;
    const now = (this.#seen = this.#last());
    // The numbers went back: rows were deleted, or the file was rewritten.
    if (!before || now.events < before.events || now.news < before.news) return "unknown";
    const keys = new Set<string>();
    const collect = (sql: string, after: number): void => {
      for (const { key } of this.#connection.all<{ key: string }>(sql, [after])) keys.add(key);
    };
    if (now.events > before.events)
      collect(`SELECT DISTINCT thread_id AS key FROM ${EVENTS} WHERE rowid > ?`, before.events);
    if (now.mailbox > before.mailbox)
      collect(`SELECT DISTINCT thread_id AS key FROM ${MAILBOX} WHERE seq > ?`, before.mailbox);
    if (now.news > before.news) collect(`SELECT key FROM ${NEWS} WHERE id > ?`, before.news);
    return { keys };
  }

  #last(): { events: number; mailbox: number; news: number } {
    const [row] = this.#connection.all<{ events: number; mailbox: number; news: number }>(
      `SELECT (SELECT coalesce(max(rowid), 0) FROM ${EVENTS}) AS events,
              (SELECT coalesce(max(seq), 0) FROM ${MAILBOX}) AS mailbox,
              (SELECT coalesce(max(id), 0) FROM ${NEWS}) AS news`,
    );
    return row!;
  }
}

/** Whether others would not notice: no event, no message, and nothing that only the run itself needs. */
export function isSilent(writes: readonly Write[]): boolean {
  return !writes.some(
    ({ op, table }) =>
      table.name === RUNS || (op === "insert" && (table.name === EVENTS || table.name === MAILBOX)),
  );
}
