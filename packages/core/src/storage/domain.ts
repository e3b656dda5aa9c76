import { AgentError } from "../errors.ts";
import type { System } from "../system.ts";
import type { StorageDriver } from "./driver.ts";
import type { Storage } from "./storage.ts";
import type { AnyTable, Table } from "./table.ts";
import { insert, requireNone } from "./writes.ts";

/**
 * What one part of the system keeps in a store: its tables, declared beside the code that uses them, and what is built
 * on them. `Storage.domain()` adds the tables to a store on first use. Rows of tables whose `partition` is `thread_id`
 * are deleted with their thread, even by processes that do not know the domain.
 */
export interface Domain<Store = unknown> {
  /** Unique within a store. */
  readonly name: string;
  /** Incremented with every change to `tables`. */
  readonly version: number;
  /** The oldest version that can share the tables with this one. Default: `version`. */
  readonly readableFrom?: number;
  readonly tables: readonly AnyTable[];
  /** Called once per store, when the tables exist. */
  open(storage: Storage, system: System): Store;
}

export type DomainRow = {
  name: string;
  version: number;
  readable_from: number;
  tables: unknown;
  applied_at: number;
};

/** The domains whose tables are in the store. */
export const DOMAINS: Table<DomainRow> = {
  name: "selvedge_domains",
  columns: {
    name: "text",
    version: "integer",
    readable_from: "integer",
    tables: "json",
    applied_at: "integer",
  },
  key: ["name"],
  partition: "name",
  indexes: [],
};

/**
 * Adds what a domain lacks in the store. Several processes may do it at once, with different versions of the domain.
 */
export async function addDomain(
  storage: Storage,
  driver: StorageDriver,
  { name, version, readableFrom = version, tables }: Domain,
  now: number,
): Promise<void> {
  const where = { name };
  const [row] = await storage.select({ table: DOMAINS, where, limit: 1 });
  if (row && row.version > version && row.readable_from > version)
    throw new AgentError(
      "storage-failed",
      `The tables of "${name}" in store "${storage.id}" were written by a newer version (${row.version}, this one knows ${version}). Upgrade to use them.`,
      { details: { domain: name, found: row.version, known: version } },
    );
  if (row && row.version >= version) return;
  await driver.addTables(tables);
  try {
    await storage.commit([
      requireNone(DOMAINS, { name, version: { gt: version } }),
      insert(DOMAINS, { name, version, readable_from: readableFrom, tables, applied_at: now }, "update"),
    ]);
  } catch (error) {
    // A newer version was faster: its tables may not be readable here.
    if (!AgentError.is(error, "conflict")) throw error;
    return addDomain(storage, driver, { name, version, readableFrom, tables, open: () => undefined }, now);
  }
}

/** The tables of all domains of a store. */
export async function domainTables(storage: Storage): Promise<Table[]> {
  const rows = await storage.select({ table: DOMAINS });
  return rows.flatMap((row) => row.tables as Table[]);
}
