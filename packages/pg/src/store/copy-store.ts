import { isDeepStrictEqual } from "node:util";
import { AgentError } from "@selvedge/core/errors";
import {
  type Cells,
  encodeRow,
  realSystem,
  type Row,
  type Select,
  type Storage,
  type Table,
  TABLES,
} from "@selvedge/core/storage";
import type { ClientBase } from "pg";
import { toPgError } from "../to-pg-error.ts";
import { Connections, TYPES } from "./connections.ts";
import { PostgresStore } from "./postgres-store.ts";
import { createTables, locked, quote } from "./schema.ts";
import { SqlWriter, type Statement, toRows } from "./sql.ts";
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
 * Copies everything in a store that no process uses to an empty schema, and compares every row. All of it is one
 * transaction: whatever happens in the meantime, the schema has everything or nothing.
 */
export async function copyToPostgres(
  from: Storage,
  options: PostgresStoreOptions,
  onProgress: (progress: CopyProgress) => void = () => {},
): Promise<{ tables: number; rows: number }> {
  const settings = toSettings(options);
  const { schema } = settings;
  const to = new PostgresStore(options);
  const connections = new Connections(settings, options.system ?? realSystem);
  try {
    await from.init();
    await to.init();
    const tables = await tablesOf(from);
    let rows = 0;
    await connections.session((client) =>
      locked(client, schema, async () => {
        const copy = new Copy(client, schema);
        await createTables(client, schema, tables);
        for (const table of tables) await copy.requireEmpty(table);
        rows = 0;
        for (const table of tables) rows += await copy.fill(table, from, onProgress);
        for (const table of tables) await compare(from, copy, table, onProgress);
      }),
    );
    return { tables: tables.length, rows };
  } catch (error) {
    throw toPgError(error);
  } finally {
    await to.close();
    await connections.end();
  }
}

/** What is copied, seen from inside the transaction. */
class Copy {
  readonly #client: ClientBase;
  readonly #schema: string;
  readonly #sql: SqlWriter;

  constructor(client: ClientBase, schema: string) {
    this.#client = client;
    this.#schema = schema;
    this.#sql = new SqlWriter(schema);
  }

  async select(query: Select): Promise<Row[]> {
    return toRows(query, await this.#query(this.#sql.select(query)));
  }

  async requireEmpty(table: Table): Promise<void> {
    const found = await this.select({ table, limit: 1 });
    if (found.length > 0)
      throw new AgentError(
        "invalid-argument",
        `The schema "${this.#schema}" already contains rows in ${table.name}. Copy into an empty schema.`,
      );
  }

  /** Returns how many rows there were. */
  async fill(table: Table, from: Storage, onProgress: (progress: CopyProgress) => void): Promise<number> {
    const of = await from.count({ table });
    let rows = 0;
    for await (const page of pages((query) => from.select(query), table)) {
      await this.#query(
        this.#sql.insertAll(
          table,
          page.map((row) => encodeRow(table, row)),
        )!,
      );
      rows += page.length;
      onProgress({ doing: "copy", table: table.name, rows, of });
    }
    const name = `${quote(this.#schema)}.${quote(table.name)}`;
    if (table.auto !== undefined) await this.#query(numbersAfter(name, table.auto));
    return rows;
  }

  async #query({ text, values }: Statement): Promise<Cells[]> {
    return (await this.#client.query({ text, values: values!, types: TYPES })).rows as Cells[];
  }
}

/** Core's tables, and those of the domains that the store has. */
async function tablesOf(store: Storage): Promise<Table[]> {
  const core = TABLES as readonly Table[];
  const domains = await store.select({ table: core.find(({ name }) => name === "selvedge_domains")! });
  return [...core, ...domains.flatMap((row) => row["tables"] as unknown as Table[])];
}

function numbersAfter(name: string, auto: string): Statement {
  const text = `SELECT setval(pg_get_serial_sequence($1, $2), coalesce(max(${quote(auto)}), 0) + $3) FROM ${name}`;
  return { text, values: [name, auto, NUMBERS_APART] };
}

/** The rows of a table, ordered by its key. A page ends where the first column of the key changes. */
async function* pages(select: (query: Select) => Promise<Row[]>, table: Table): AsyncGenerator<Row[]> {
  const [first, ...rest] = table.auto === undefined ? table.key : [table.auto];
  const orderBy = [first!, ...rest].map((column) => ({ column }));
  for (let after: string | number | undefined; ;) {
    const where = after === undefined ? {} : { [first!]: { gt: after } };
    let rows = await select({ table, where, orderBy, limit: PAGE });
    const last = rows.at(-1)?.[first!] as string | number | undefined;
    if (last === undefined) return;
    if (rows.length === PAGE && rest.length > 0) {
      const whole = rows.filter((row) => row[first!] !== last);
      rows = whole.length > 0 ? whole : await select({ table, where: { [first!]: last }, orderBy });
    }
    yield rows;
    after = rows.at(-1)![first!] as string | number;
  }
}

async function compare(
  from: Storage,
  to: Copy,
  table: Table,
  onProgress: (progress: CopyProgress) => void,
): Promise<void> {
  const of = await from.count({ table });
  const copies = pages((query) => to.select(query), table);
  let rows = 0;
  for await (const page of pages((query) => from.select(query), table)) {
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
