import { AgentError, errorMessage } from "@selvedge/core/errors";
import { READABLE_FROM, SCHEMA_VERSION, type Table } from "@selvedge/core/storage";
import type { ClientBase } from "pg";
import { codeOf } from "../to-pg-error.ts";

export const SQL_TYPES = { text: "text", integer: "bigint", real: "double precision", json: "text" } as const;

/** The function that fails a statement whose condition is false, and the SQLSTATE it fails with. */
export const REQUIRE = "selvedge_require";
export const CONDITION_FAILED = "SV409";
const LACKS_PERMISSION = "42501";

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Brings core's tables to this version, in one transaction. The process that gets the lock second finds nothing left to
 * do. A user without the right to create anything can open a store that is up to date.
 */
export async function migrate(
  client: ClientBase,
  schema: string,
  tables: readonly Table[],
  now: number,
): Promise<void> {
  if ((await storedVersion(client, schema)) >= SCHEMA_VERSION) return;
  const versions = `${quote(schema)}.${VERSIONS}`;
  await locked(client, schema, async () => {
    await checkEncoding(client);
    await addSchema(client, schema);
    if ((await storedVersion(client, schema)) >= SCHEMA_VERSION) return;
    await run(client, [
      `CREATE TABLE IF NOT EXISTS ${versions} (version bigint PRIMARY KEY, applied_at bigint, readable_from bigint)`,
      requireSql(schema),
      ...(await missingSql(client, schema, tables)),
    ]);
    await client.query(`INSERT INTO ${versions} VALUES ($1, $2, $3)`, [SCHEMA_VERSION, now, READABLE_FROM]);
  });
}

export async function addTables(client: ClientBase, schema: string, tables: readonly Table[]): Promise<void> {
  try {
    await locked(client, schema, () => createTables(client, schema, tables));
  } catch (error) {
    if (codeOf(error) !== LACKS_PERMISSION) throw error;
    const names = tables.map(({ name }) => name).join(", ");
    throw new AgentError(
      "storage-failed",
      `PostgreSQL: the user may not create ${names} in the schema "${schema}". Grant CREATE on the schema, or run this ` +
        `program once as a user that has it (${errorMessage(error)})`,
      { cause: error },
    );
  }
}

/** Creates what is missing, in the transaction of the caller. */
export async function createTables(
  client: ClientBase,
  schema: string,
  tables: readonly Table[],
): Promise<void> {
  await run(client, await missingSql(client, schema, tables));
}

const VERSIONS = "selvedge_migrations";

/** 0 if there is no store. Throws if it cannot be read here. */
async function storedVersion(client: ClientBase, schema: string): Promise<number> {
  const { rows: found } = await client.query(
    "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = $2",
    [schema, VERSIONS],
  );
  if (found.length === 0) return 0;
  const { rows } = await client.query<{ version: string; readable_from: string }>(
    `SELECT version, readable_from FROM ${quote(schema)}.${VERSIONS} ORDER BY version DESC LIMIT 1`,
  );
  const [version, readableFrom] = [Number(rows[0]?.version ?? 0), Number(rows[0]?.readable_from ?? 0)];
  if (version > SCHEMA_VERSION && readableFrom > SCHEMA_VERSION) {
    throw new AgentError(
      "storage-failed",
      `The schema "${schema}" was written by a newer version (schema ${version}, this one supports ${SCHEMA_VERSION}); ` +
        "upgrade @selvedge/pg to open it",
      { details: { found: version, known: SCHEMA_VERSION } },
    );
  }
  return version;
}

/** In another encoding, a message with a character that it lacks could not be stored. */
async function checkEncoding(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ server_encoding: string }>("SHOW server_encoding");
  const encoding = rows[0]!.server_encoding;
  if (encoding === "UTF8") return;
  throw new AgentError(
    "storage-failed",
    `The database has the encoding ${encoding}. Create one with ENCODING 'UTF8' and use that.`,
  );
}

/** CREATE SCHEMA IF NOT EXISTS needs a right even if the schema exists. */
async function addSchema(client: ClientBase, schema: string): Promise<void> {
  const { rows } = await client.query("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", [schema]);
  if (rows.length === 0) await client.query(`CREATE SCHEMA ${quote(schema)}`);
}

/** Building an index on a large table takes long. */
async function run(client: ClientBase, statements: readonly string[]): Promise<void> {
  const query = { text: statements.join(";\n"), query_timeout: 3_600_000 };
  await client.query(query);
}

/** Building an index may take long, and so may another process that is doing it. A process that stands still gives up its locks. */
const NO_TIMEOUTS =
  "SET LOCAL statement_timeout TO 0; SET LOCAL lock_timeout TO 0; SET LOCAL idle_in_transaction_session_timeout TO 10000";
/**
 * A table that is being changed is waited for, and everyone who uses the table waits behind that: as long as a backup takes,
 * without this. It is longer than PostgreSQL needs to stop an autovacuum.
 */
const LOCK_TIMEOUT = "SET LOCAL lock_timeout TO 3000";

/** Work that changes the schema: one process at a time, in a transaction. */
export async function locked(client: ClientBase, schema: string, work: () => Promise<void>): Promise<void> {
  // What the process before changed must be seen, whatever the default isolation of the database is.
  await client.query("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
  try {
    await client.query(NO_TIMEOUTS);
    const lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
    await client.query(lock, [`selvedge migrate ${schema}`]);
    await client.query(LOCK_TIMEOUT);
    await work();
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** What the tables lack. Even a statement that finds nothing to do would lock its table. */
async function missingSql(client: ClientBase, schema: string, tables: readonly Table[]): Promise<string[]> {
  const names = tables.map(({ name }) => name);
  const { rows } = await client.query<{ table: string; columns: string[]; indexes: string[] }>(PRESENT, [
    schema,
    names,
  ]);
  const present = new Map(rows.map((row) => [row.table, row]));
  return tables.flatMap((table) => {
    const { columns = [], indexes = [] } = present.get(table.name) ?? {};
    return [
      ...(present.has(table.name) ? columnsSql(schema, table, columns) : [tableSql(schema, table)]),
      ...indexesSql(schema, table, indexes),
    ];
  });
}

const PRESENT = `SELECT class.relname AS table,
    ARRAY(SELECT attname::text FROM pg_catalog.pg_attribute WHERE attrelid = class.oid AND attnum > 0 AND NOT attisdropped) AS columns,
    ARRAY(SELECT indexname::text FROM pg_catalog.pg_indexes WHERE schemaname = $1 AND tablename = class.relname) AS indexes
  FROM pg_catalog.pg_class AS class JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = class.relnamespace
  WHERE nspname = $1 AND relname = ANY ($2)`;

function tableSql(schema: string, table: Table): string {
  const columns = Object.keys(table.columns).map((column) => columnSql(table, column));
  const key = `PRIMARY KEY (${table.key.map(quote).join(", ")})`;
  return `CREATE TABLE ${nameOf(schema, table)} (${[...columns, key].join(", ")})`;
}

function columnsSql(schema: string, table: Table, present: readonly string[]): string[] {
  const missing = Object.keys(table.columns).filter((column) => !present.includes(column));
  return missing.map(
    (column) => `ALTER TABLE ${nameOf(schema, table)} ADD COLUMN ${columnSql(table, column)}`,
  );
}

function indexesSql(schema: string, table: Table, present: readonly string[]): string[] {
  return table.indexes.flatMap(({ columns, unique, having }) => {
    const name = indexName(table, columns, having);
    if (present.includes(name)) return [];
    const kind = unique ? "UNIQUE INDEX" : "INDEX";
    // In the order of selects, so that they need not be sorted.
    const parts = columns.map((column) => `${quote(column)} NULLS FIRST`).join(", ");
    const part = having === undefined ? "" : ` WHERE ${quote(having)} IS NOT NULL`;
    return `CREATE ${kind} IF NOT EXISTS ${quote(name)} ON ${nameOf(schema, table)} (${parts})${part}`;
  });
}

function nameOf(schema: string, table: Table): string {
  return `${quote(schema)}.${quote(table.name)}`;
}

function columnSql(table: Table, column: string): string {
  const type = SQL_TYPES[table.columns[column]!];
  // A sequence without a cache: numbers rise in the order in which they are taken, under the lock of the key.
  if (column === table.auto) return `${quote(column)} ${type} GENERATED BY DEFAULT AS IDENTITY (CACHE 1)`;
  return `${quote(column)} ${type}${type === "text" ? ' COLLATE "C"' : ""}`;
}

/** Names are cut after 63 bytes. */
function indexName(table: Table, columns: readonly string[], having: string | undefined): string {
  const short = table.name.replace("selvedge_", "");
  return `${short}_by_${columns.join("_and_")}${having === undefined ? "" : `_having_${having}`}`.slice(
    0,
    63,
  );
}

function requireSql(schema: string): string {
  return `CREATE OR REPLACE FUNCTION ${quote(schema)}.${REQUIRE}(holds boolean) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      IF NOT holds THEN
        RAISE EXCEPTION 'a condition does not hold' USING ERRCODE = '${CONDITION_FAILED}';
      END IF;
    END $$`;
}
