import { existsSync } from "node:fs";
import { AgentError } from "@selvedge/core/errors";
import { TABLES, type Table } from "@selvedge/core/storage";
import { LibSQLStore } from "@selvedge/libsql";
import { copyToPostgres } from "@selvedge/pg";
import { toUrl } from "./storage-url.ts";

export interface MoveFlags {
  from: string;
  to?: string;
  schema: string;
}

const OWNERS = TABLES.find(({ name }) => name === "selvedge_owners") as Table;

/** `selvedge move`: copies a store's file into PostgreSQL, and compares every row. Returns the exit code. */
export async function runMoveCommand({ from, to, schema }: MoveFlags): Promise<number> {
  if (to === undefined)
    throw new AgentError(
      "invalid-argument",
      "Name the database with --to postgresql://user:password@host:5432/app.",
    );
  if (!existsSync(from))
    throw new AgentError("not-found", `There is no file ${from}. Name your store's file with --from.`);
  const store = new LibSQLStore({ url: toUrl(from) });
  try {
    await store.init();
    const owners = await store.select({ table: OWNERS });
    if (owners.some(({ id }) => !store.isOwnerDead(id as string)))
      throw new AgentError("invalid-argument", `A process is using ${from}. Stop it, then move the store.`);
    const { rows, tables } = await copyToPostgres(
      store,
      { connectionString: to, schemaName: schema },
      ({ doing, table, rows: done, of }) => {
        if (done === of) console.log(`${doing === "copy" ? "Copied" : "Checked"} ${table}: ${done} rows.`);
        else if (process.stdout.isTTY) process.stdout.write(`\r${table}: ${done} of ${of} `);
      },
    );
    console.log(`Moved ${rows} rows of ${tables} tables. ${from} is unchanged.`);
  } finally {
    await store.close();
  }
  return 0;
}
