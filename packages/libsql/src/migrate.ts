import { AgentError } from "@selvedge/core/errors";
import { READABLE_FROM, SCHEMA_VERSION, TABLES, type Table } from "@selvedge/core/storage";
import type { Connection } from "./connection.ts";
import { addMessageIndex } from "./message-index.ts";
import { addNews } from "./news.ts";
import { columnSql, createIndexSql, createTableSql, indexNames, quote } from "./schema-sql.ts";
import { addSearchIndex } from "./search-index.ts";

/** How to convert the rows of a database that is older than a version. */
const CHANGES: readonly { before: number; sql: readonly string[] }[] = [
  {
    // The first step of a message is stored in the message.
    before: 5,
    sql: [
      `UPDATE selvedge_messages SET content = json_set(content, '$.parts', (
         SELECT json(parts) FROM selvedge_message_steps WHERE message_id = selvedge_messages.id AND step = 0))
       WHERE id IN (SELECT message_id FROM selvedge_message_steps WHERE step = 0)`,
      "DELETE FROM selvedge_message_steps WHERE step = 0",
    ],
  },
  {
    // A thread records whether something waits in its mailbox.
    before: 7,
    sql: ["UPDATE selvedge_actors SET has_mail = 1 WHERE mailbox_count > 0"],
  },
  {
    // The table of responses belongs to a domain, which upgrades it. Until then its rows are deleted with their
    // threads.
    before: 8,
    sql: [
      `INSERT INTO selvedge_domains (name, version, readable_from, applied_at, tables)
       SELECT 'openai-responses', 0, 0, 0, '[{"name":"selvedge_responses","columns":{"id":"text","thread_id":"text"},"key":["id"],"partition":"thread_id","indexes":[]}]'
       WHERE EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'selvedge_responses')`,
    ],
  },
  {
    // Lists leave out the threads of subagents.
    before: 10,
    sql: [
      `UPDATE selvedge_threads SET parent_id = coalesce(json_extract(metadata, '$.parentThreadId'), '')
       WHERE json_extract(metadata, '$.subagent') = 1`,
    ],
  },
  {
    // Old events are found through the last ones of a run.
    before: 11,
    sql: [
      `UPDATE selvedge_events SET rested_at = created_at
       WHERE rowid IN (SELECT max(rowid) FROM selvedge_events GROUP BY thread_id)`,
    ],
  },
];

/**
 * Upgrades the database to this version in one transaction: adds missing tables, columns and indexes (including
 * full-text ones), drops unused indexes and converts rows. Several processes may do it at once; the second to get the
 * lock finds nothing left to do. An up-to-date database is only read, so a read-only one can be opened. A newer one
 * that declares itself compatible with this version is left as it is.
 */
export function migrate(connection: Connection, now: number): void {
  if (isUpToDate(storedVersion(connection))) return;
  connection.transaction(() => {
    connection.exec(
      "CREATE TABLE IF NOT EXISTS selvedge_migrations (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)",
    );
    const version = storedVersion(connection);
    if (isUpToDate(version)) return;
    for (const table of TABLES) addTable(connection, table);
    addMessageIndex(connection);
    addNews(connection);
    for (const { before, sql } of CHANGES)
      if (version !== undefined && version < before) for (const one of sql) connection.exec(one);
    if (!columnsOf(connection, "selvedge_migrations").has("readable_from"))
      connection.exec("ALTER TABLE selvedge_migrations ADD COLUMN readable_from INTEGER");
    connection.run("INSERT INTO selvedge_migrations (version, applied_at, readable_from) VALUES (?, ?, ?)", [
      SCHEMA_VERSION,
      now,
      // A new file lacks the table of responses that older versions expect.
      version === undefined ? SCHEMA_VERSION : READABLE_FROM,
    ]);
  });
}

function isUpToDate(version: number | undefined): boolean {
  return version !== undefined && version >= SCHEMA_VERSION;
}

function columnsOf(connection: Connection, table: string): Set<string> {
  const columns = connection.all<{ name: string }>("SELECT name FROM pragma_table_info(?)", [table]);
  return new Set(columns.map(({ name }) => name));
}

/** Adds missing columns and indexes of a table, or the table. Inside a transaction. */
export function addTable(connection: Connection, table: Table): void {
  connection.exec(createTableSql(table));
  const present = columnsOf(connection, table.name);
  for (const column of Object.keys(table.columns)) {
    if (!present.has(column)) {
      connection.exec(`ALTER TABLE ${quote(table.name)} ADD COLUMN ${columnSql(table, column)}`);
    }
  }
  const wanted = indexNames(table);
  const known = connection.all<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
    [table.name],
  );
  for (const { name } of known) {
    // Other names are not ours.
    const isOurs = name.startsWith(`${table.name}_by_`);
    if (isOurs && !wanted.includes(name)) connection.exec(`DROP INDEX ${quote(name)}`);
  }
  for (const index of createIndexSql(table)) connection.exec(index);
  addSearchIndex(connection, table);
}

function storedVersion(connection: Connection): number | undefined {
  const known = connection.all("SELECT 1 FROM sqlite_master WHERE name = 'selvedge_migrations'");
  if (known.length === 0) return undefined;
  // A separate column since version 7; before that, no newer version was readable.
  const readableFrom = columnsOf(connection, "selvedge_migrations").has("readable_from")
    ? "readable_from"
    : "version";
  const [row] = connection.all<{ version: number; readable_from: number | null }>(
    `SELECT version, ${readableFrom} AS readable_from FROM selvedge_migrations ORDER BY version DESC LIMIT 1`,
  );
  if (row && row.version > SCHEMA_VERSION && (row.readable_from ?? row.version) > SCHEMA_VERSION) {
    throw new AgentError(
      "storage-failed",
      `Database ${connection.path} was written by a newer version (schema ${row.version}, this one supports ${SCHEMA_VERSION}); ` +
        "upgrade @selvedge/libsql to open it",
      { details: { found: row.version, known: SCHEMA_VERSION } },
    );
  }
  return row?.version;
}
