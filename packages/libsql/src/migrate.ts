import { AgentError } from "@selvedge/core/errors";
import { SCHEMA_VERSION, TABLES, type Table } from "@selvedge/core/storage";
import type { Connection } from "./connection.ts";
import { addSearchIndex } from "./search-index.ts";
import { columnSql, createIndexSql, createTableSql, quote } from "./sql.ts";

/**
 * Brings the database to this version: tables, columns and indexes (full-text ones too) that are missing are added, in one transaction.
 * Several processes may do it at once; whoever gets the lock second finds nothing left to do. A database that is
 * already there is only read, so a read-only one can be opened.
 */
export function migrate(connection: Connection, now: number): void {
  if (storedVersion(connection) === SCHEMA_VERSION) return;
  connection.transaction(() => {
    connection.exec(
      "CREATE TABLE IF NOT EXISTS selvedge_migrations (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)",
    );
    if (storedVersion(connection) === SCHEMA_VERSION) return;
    for (const table of TABLES) addTable(connection, table);
    connection.run("INSERT INTO selvedge_migrations (version, applied_at) VALUES (?, ?)", [
      SCHEMA_VERSION,
      now,
    ]);
  });
}

function addTable(connection: Connection, table: Table): void {
  connection.exec(createTableSql(table));
  const present = new Set(
    connection
      .all<{ name: string }>("SELECT name FROM pragma_table_info(?)", [table.name])
      .map(({ name }) => name),
  );
  for (const column of Object.keys(table.columns)) {
    if (!present.has(column)) {
      connection.exec(`ALTER TABLE ${quote(table.name)} ADD COLUMN ${columnSql(table, column)}`);
    }
  }
  for (const index of createIndexSql(table)) connection.exec(index);
  addSearchIndex(connection, table);
}

function storedVersion(connection: Connection): number | undefined {
  const known = connection.all("SELECT 1 FROM sqlite_master WHERE name = 'selvedge_migrations'");
  if (known.length === 0) return undefined;
  const [row] = connection.all<{ version: number | null }>(
    "SELECT max(version) AS version FROM selvedge_migrations",
  );
  const version = row?.version ?? undefined;
  if (version !== undefined && version > SCHEMA_VERSION) {
    throw new AgentError(
      "storage-failed",
      `Database ${connection.path} was written by a newer version (schema ${version}, this one knows ${SCHEMA_VERSION}); ` +
        "upgrade @selvedge/libsql to open it",
      { details: { found: version, known: SCHEMA_VERSION } },
    );
  }
  return version;
}
