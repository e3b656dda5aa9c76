import { type Change, type Commit, keysOf } from "@selvedge/core/storage";
import type { Plan } from "./plan.ts";
import type { Sql } from "./sql-writer.ts";

const EVENTS = "selvedge_events";
const WORKFLOW_EVENTS = "selvedge_workflow_events";
const MAILBOX = "selvedge_mailbox";
const RUNS = "selvedge_runs";
/** Changes of commits that leave no other trace. */
const NEWS = "selvedge_news";
const KEPT = 10_000;

export const NEWS_TABLE: string = `CREATE TABLE IF NOT EXISTS ${NEWS} (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL)`;

/** What a silent commit adds, inside its transaction: its keys. Now and then, old ones are deleted. */
export function newsSql(commit: Commit): Sql[] {
  const keys = keysOf(commit);
  if (keys.length === 0) return [];
  return [
    { text: `INSERT INTO ${NEWS} (key) SELECT value FROM json_each(?)`, params: [JSON.stringify(keys)] },
    {
      text: `DELETE FROM ${NEWS} WHERE id <= CASE WHEN last_insert_rowid() % ? < ? THEN last_insert_rowid() - ? ELSE -1 END`,
      params: [KEPT, keys.length, KEPT],
    },
  ];
}

/**
 * Reports which keys other processes changed. Frequent changes need no extra write: the events of runs and sent
 * messages have rising row numbers, so checking the last rows is enough. Other commits, such as an answer to a tool
 * call, add a row for each of their keys.
 */
export class News {
  #seen: Numbers | undefined;
  /** The tables of workflows are added when an app first uses them. */
  #hasWorkflows = false;

  /** Remembers the position in the database, so that the next check reports what came after. */
  *start(): Plan<void> {
    this.#seen ??= yield* this.#last();
  }

  /** The keys written since the last check, by any process. */
  *look(): Plan<Change> {
    const before = this.#seen;
    const now = (this.#seen = yield* this.#last());
    // The numbers went back: rows were deleted, or the file was rewritten.
    if (!before || now.events < before.events || now.workflows < before.workflows || now.news < before.news)
      return "unknown";
    const since: Sql[] = [];
    if (now.workflows > before.workflows)
      since.push({
        text: `SELECT DISTINCT run_id AS key FROM ${WORKFLOW_EVENTS} WHERE rowid > ?`,
        params: [before.workflows],
      });
    if (now.events > before.events)
      since.push({
        text: `SELECT DISTINCT thread_id AS key FROM ${EVENTS} WHERE rowid > ?`,
        params: [before.events],
      });
    if (now.mailbox > before.mailbox)
      since.push({
        text: `SELECT DISTINCT thread_id AS key FROM ${MAILBOX} WHERE seq > ?`,
        params: [before.mailbox],
      });
    if (now.news > before.news)
      since.push({ text: `SELECT key FROM ${NEWS} WHERE id > ?`, params: [before.news] });
    const found = since.length === 0 ? [] : yield since;
    return { keys: new Set(found.flatMap((rows) => rows.map(({ key }) => String(key)))) };
  }

  *#last(): Plan<Numbers> {
    if (!this.#hasWorkflows) {
      const text = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?";
      const [found] = yield [{ text, params: [WORKFLOW_EVENTS] }];
      this.#hasWorkflows = found!.length > 0;
    }
    const [rows] = yield [{ text: this.#hasWorkflows ? LAST_WITH_WORKFLOWS : LAST, params: [] }];
    return rows![0] as Numbers;
  }
}

type Numbers = { events: number; workflows: number; mailbox: number; news: number };

const LAST = lastSql("0");
const LAST_WITH_WORKFLOWS = lastSql(`(SELECT coalesce(max(rowid), 0) FROM ${WORKFLOW_EVENTS})`);

function lastSql(workflows: string): string {
  return `SELECT (SELECT coalesce(max(rowid), 0) FROM ${EVENTS}) AS events,
                 ${workflows} AS workflows,
                 (SELECT coalesce(max(seq), 0) FROM ${MAILBOX}) AS mailbox,
                 (SELECT coalesce(max(id), 0) FROM ${NEWS}) AS news`;
}

/** Whether others would not notice a commit: no event, no message, and nothing that only the run itself needs. */
export function isSilent(commit: Commit): boolean {
  const { writes } = commit;
  for (const { op, table } of writes) {
    if (table.name === RUNS) return false;
    if (op !== "insert") continue;
    if (table.name === EVENTS || table.name === MAILBOX) return false;
    // Its events name the run, and nothing else.
    if (table.name === WORKFLOW_EVENTS) return keysOf(commit).length > 1;
  }
  return true;
}
