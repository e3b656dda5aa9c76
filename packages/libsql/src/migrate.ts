import { AgentError } from "@selvedge/core/errors";
import { READABLE_FROM, SCHEMA_VERSION, TABLES, type Table } from "@selvedge/core/storage";
import { messageIndexSql } from "./message-index.ts";
import { NEWS_TABLE } from "./news.ts";
import type { Found, Plan } from "./plan.ts";
import { columnSql, createIndexSql, createTableSql, indexNames, quote } from "./schema-sql.ts";
import { searchIndexSql } from "./search-index.ts";
import type { Sql } from "./sql-writer.ts";

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
 * What brings a database to this version: adds missing tables, columns and indexes (including full-text ones), drops
 * unused indexes and converts rows. Nothing, if it is up to date, so a read-only one can be opened. A newer one that
 * declares itself compatible with this version is left as it is. Run it in one transaction; several processes may do so
 * at once if they read and write in that transaction, or read again when it is refused.
 */
export function* migrate(place: string, now: number): Plan<Sql[]> {
  const version = yield* storedVersion(place);
  if (version !== undefined && version >= SCHEMA_VERSION) return [];
  const found = yield* readSchema();
  const changes = CHANGES.filter(({ before }) => version !== undefined && version < before);
  const versions = found.columns.get(VERSIONS);
  return [
    ...toSql([
      `CREATE TABLE IF NOT EXISTS ${VERSIONS} (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL, readable_from INTEGER)`,
      ...TABLES.flatMap((table) => tableSql(table, found)),
      ...messageIndexSql(found.names),
      NEWS_TABLE,
      ...changes.flatMap(({ sql }) => sql),
      ...(versions && !versions.has("readable_from")
        ? [`ALTER TABLE ${VERSIONS} ADD COLUMN readable_from INTEGER`]
        : []),
    ]),
    {
      text: `INSERT INTO ${VERSIONS} (version, applied_at, readable_from) VALUES (?, ?, ?)`,
      // A new file lacks the table of responses that older versions expect.
      params: [SCHEMA_VERSION, now, version === undefined ? SCHEMA_VERSION : READABLE_FROM],
    },
  ];
}

/** What adds the missing tables, columns and indexes of a domain. */
export function* addTables(tables: readonly Table[]): Plan<Sql[]> {
  const found = yield* readSchema();
  return toSql(tables.flatMap((table) => tableSql(table, found)));
}

const VERSIONS = "selvedge_migrations";

interface Schema {
  /** The columns of each table. */
  columns: ReadonlyMap<string, ReadonlySet<string>>;
  /** The indexes of each table that were created by name. */
  indexes: ReadonlyMap<string, ReadonlySet<string>>;
  names: ReadonlySet<string>;
}

function* readSchema(): Plan<Schema> {
  const [names, columns] = yield toSql([
    `SELECT name, tbl_name AS "table", type = 'index' AND sql IS NOT NULL AS is_index FROM sqlite_master`,
    `SELECT known.name AS "table", info.name AS name FROM sqlite_master AS known, pragma_table_info(known.name) AS info
     WHERE known.type = 'table'`,
  ]);
  return {
    names: new Set(names!.map(({ name }) => String(name))),
    indexes: byTable(names!.filter(({ is_index: isIndex }) => isIndex === 1)),
    columns: byTable(columns!),
  };
}

function byTable(rows: readonly Found[]): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>();
  for (const { table, name } of rows) {
    const known = names.get(String(table)) ?? new Set();
    names.set(String(table), known.add(String(name)));
  }
  return names;
}

/** Adds a table, or its missing columns and indexes. */
function tableSql(table: Table, { columns, indexes, names }: Schema): string[] {
  const present = columns.get(table.name);
  const missing = Object.keys(table.columns).filter((column) => present && !present.has(column));
  const wanted = indexNames(table);
  // Other names are not ours.
  const unused = [...(indexes.get(table.name) ?? [])].filter(
    (name) => name.startsWith(`${table.name}_by_`) && !wanted.includes(name),
  );
  return [
    createTableSql(table),
    ...missing.map((column) => `ALTER TABLE ${quote(table.name)} ADD COLUMN ${columnSql(table, column)}`),
    ...unused.map((name) => `DROP INDEX IF EXISTS ${quote(name)}`),
    ...createIndexSql(table),
    ...searchIndexSql(table, names),
  ];
}

function* storedVersion(place: string): Plan<number | undefined> {
  const [columns] = yield [{ text: "SELECT name FROM pragma_table_info(?)", params: [VERSIONS] }];
  if (columns!.length === 0) return undefined;
  // A separate column since version 7; before that, no newer version was readable.
  const readableFrom = columns!.some(({ name }) => name === "readable_from") ? "readable_from" : "version";
  const [rows] = yield toSql([
    `SELECT version, ${readableFrom} AS readable_from FROM ${VERSIONS} ORDER BY version DESC LIMIT 1`,
  ]);
  const [row] = rows! as { version: number; readable_from: number | null }[];
  if (row && row.version > SCHEMA_VERSION && (row.readable_from ?? row.version) > SCHEMA_VERSION) {
    throw new AgentError(
      "storage-failed",
      `Database ${place} was written by a newer version (schema ${row.version}, this one supports ${SCHEMA_VERSION}); ` +
        "upgrade @selvedge/libsql to open it",
      { details: { found: row.version, known: SCHEMA_VERSION } },
    );
  }
  return row?.version;
}

function toSql(texts: readonly string[]): Sql[] {
  return texts.map((text) => ({ text, params: [] }));
}
