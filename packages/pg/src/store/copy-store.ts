import { isDeepStrictEqual } from "node:util";
import { AgentError } from "@selvedge/core/errors";
import { encodeRow, realSystem, type Row, type Storage, type Table, TABLES } from "@selvedge/core/storage";
import { toPgError } from "../to-pg-error.ts";
import { Connections, Refused } from "./connections.ts";
import { PostgresStore } from "./postgres-store.ts";
import { addTables, quote } from "./schema.ts";
import { SqlWriter } from "./sql.ts";
import { type PostgresStoreOptions, toSettings } from "./store-options.ts";

const PAGE = 500;
/** Numbers of deleted rows may still be referred to, so the next ones start well above. */
const NUMBERS_APART = 1_000_000;

export interface CopyProgress {
  doing: "copy" | "check";
  table: string;
  rows: number;
  of: number;
}

/**
 * Copies everything in a store that no process uses to an empty schema, and compares every row. If anything fails, the
 * schema is empty again.
 */
export async function copyToPostgres(
  from: Storage,
  options: PostgresStoreOptions,
  onProgress: (progress: CopyProgress) => void = () => {},
): Promise<{ tables: number; rows: number }> {
  const settings = toSettings(options);
  const to = new PostgresStore(options);
  const connections = new Connections(settings, options.system ?? realSystem);
  const sql = new SqlWriter(settings.schema);
  const nameOf = (table: Table): string => `${quote(settings.schema)}.${quote(table.name)}`;
  try {
    await from.init();
    await to.init();
    const tables = await tablesOf(from);
    await connections.session((client) => addTables(client, settings.schema, tables));
    for (const table of tables)
      if ((await to.count({ table })) > 0)
        throw new AgentError(
          "invalid-argument",
          `The schema "${settings.schema}" already contains rows in ${table.name}. Copy into an empty schema.`,
        );
    let rows = 0;
    try {
      for (const table of tables) {
        const of = await from.count({ table });
        let copied = 0;
        for await (const page of pages(from, table)) {
          const cells = page.map((row) => encodeRow(table, row));
          await connections.transaction([sql.insertAll(table, cells)!]);
          copied += page.length;
          onProgress({ doing: "copy", table: table.name, rows: copied, of });
        }
        if (table.auto !== undefined)
          await connections.transaction([numbersAfter(nameOf(table), table.auto)]);
        rows += copied;
      }
      for (const table of tables) await compare(from, to, table, onProgress);
    } catch (error) {
      const names = tables.map(nameOf).join(", ");
      await connections.transaction([{ text: `TRUNCATE ${names}`, values: [] }]).catch(() => {});
      throw error;
    }
    return { tables: tables.length, rows };
  } catch (error) {
    throw toPgError(error instanceof Refused ? error.cause : error);
  } finally {
    await to.close();
    await connections.end();
  }
}

/** Core's tables, and those of the domains that the store has. */
async function tablesOf(store: Storage): Promise<Table[]> {
  const core = TABLES as readonly Table[];
  const domains = await store.select({ table: core.find(({ name }) => name === "selvedge_domains")! });
  return [...core, ...domains.flatMap((row) => row["tables"] as unknown as Table[])];
}

function numbersAfter(name: string, auto: string): { text: string; values: unknown[] } {
  const text = `SELECT setval(pg_get_serial_sequence($1, $2), coalesce(max(${quote(auto)}), 0) + $3) FROM ${name}`;
  return { text, values: [name, auto, NUMBERS_APART] };
}

/** The rows of a table, ordered by its key. A page ends where the first column of the key changes. */
async function* pages(store: Storage, table: Table): AsyncGenerator<Row[]> {
  const [first, ...rest] = table.auto === undefined ? table.key : [table.auto];
  const orderBy = [first!, ...rest].map((column) => ({ column }));
  for (let after: string | number | undefined; ;) {
    const where = after === undefined ? {} : { [first!]: { gt: after } };
    let rows = await store.select({ table, where, orderBy, limit: PAGE });
    const last = rows.at(-1)?.[first!] as string | number | undefined;
    if (last === undefined) return;
    if (rows.length === PAGE && rest.length > 0) {
      const whole = rows.filter((row) => row[first!] !== last);
      rows = whole.length > 0 ? whole : await store.select({ table, where: { [first!]: last }, orderBy });
    }
    yield rows;
    after = rows.at(-1)![first!] as string | number;
  }
}

async function compare(
  from: Storage,
  to: Storage,
  table: Table,
  onProgress: (progress: CopyProgress) => void,
): Promise<void> {
  const of = await from.count({ table });
  const copies = pages(to, table);
  let rows = 0;
  for await (const page of pages(from, table)) {
    const { value } = await copies.next();
    const at = page.findIndex((row, index) => !isDeepStrictEqual(row, (value as Row[] | undefined)?.[index]));
    if (at >= 0)
      throw new AgentError(
        "storage-failed",
        `Row ${rows + at + 1} of ${table.name} differs after copying. Stop every process that uses the store, and try again.`,
      );
    rows += page.length;
    onProgress({ doing: "check", table: table.name, rows, of });
  }
  if (!(await copies.next()).done)
    throw new AgentError(
      "storage-failed",
      `${table.name} has more rows than were copied. Stop every process that uses the schema, and try again.`,
    );
}
