// @module-tag long

import { SCHEMA_VERSION, Storage, type Table } from "@selvedge/core/storage";
import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { findBroken } from "../__fixtures__/find-broken.ts";
import { type StoreHarness, testStore } from "../test-store.ts";
import { type PostgresServer, startPostgres } from "./__fixtures__/postgres-server.ts";
import { PostgresDriver } from "./postgres-driver.ts";
import type { Statement } from "./sql.ts";

const found = await startPostgres();
if ("missing" in found) console.warn(`skipped: the store on PostgreSQL: ${found.missing}`);
const { connectionString, stop } = found as PostgresServer;

let schemas = 0;

function harness(Driver: typeof PostgresDriver): () => Promise<StoreHarness> {
  return async () => {
    const schema = `t${schemas++}`;
    const open = (): Storage => new Storage(new Driver({ connectionString, schema }), { id: "pg" });
    const storage = open();
    return {
      storage,
      reopen: async () => open(),
      connect: async () => open(),
      close: () => storage.close(),
    };
  };
}

class WithoutLock extends PostgresDriver {
  protected override statements(_: readonly string[], writes: readonly Statement[]): Statement[] {
    return [...writes];
  }
}

class WithLockInTheSameStatement extends PostgresDriver {
  protected override statements(keys: readonly string[], writes: readonly Statement[]): Statement[] {
    return writes.map(({ text, values }) => {
      const lock = `(SELECT count(*) FROM (SELECT pg_advisory_xact_lock(hashtextextended(key, 0))
        FROM unnest($${values.length + 1}::text[]) AS key OFFSET 0) AS locks) > 0`;
      const locking = text.replace("selvedge_require(", `selvedge_require(${lock} AND `);
      return locking === text ? { text, values } : { text: locking, values: [...values, keys] };
    });
  }
}

class WithNumbersInBlocks extends PostgresDriver {
  readonly #schema: string;

  constructor(options: ConstructorParameters<typeof PostgresDriver>[0]) {
    super(options);
    this.#schema = options.schema!;
  }

  override async migrate(tables: readonly Table[]): Promise<void> {
    await super.migrate(tables);
    const client = new pg.Client({ connectionString });
    await client.connect();
    for (const { name, auto } of tables)
      if (auto !== undefined)
        await client.query(`ALTER SEQUENCE "${this.#schema}"."${name}_${auto}_seq" CACHE 20`);
    await client.end();
  }
}

describe.skipIf("missing" in found)("PostgreSQL", () => {
  afterAll(() => stop());

  testStore("PostgresDriver", harness(PostgresDriver));

  const RACES = [
    "accepts nothing for a run that ends, and ends none for which something was accepted",
    "carries out nothing under an old fence after a new one",
    "accepts one of several inserts that require that there is none",
  ];

  it.each([
    [true, SCHEMA_VERSION],
    [false, SCHEMA_VERSION + 1],
  ])("is opened beside a newer program: %s, where that says version %i", async (opens, readableFrom) => {
    const schema = `t${schemas++}`;
    const open = (): Storage => new Storage(new PostgresDriver({ connectionString, schema }), { id: "pg" });
    const storage = open();
    await storage.init();
    await storage.close();
    const client = new pg.Client({ connectionString });
    await client.connect();
    const newer = [SCHEMA_VERSION + 1, readableFrom];
    await client.query(`INSERT INTO "${schema}".selvedge_migrations VALUES ($1, 0, $2)`, newer);
    await client.end();
    const again = open();
    const opening = expect(again.init());
    await (opens
      ? opening.resolves.toBeUndefined()
      : opening.rejects.toMatchObject({ code: "storage-failed", details: { found: SCHEMA_VERSION + 1 } }));
    await again.close();
  });

  it.each([
    ["without a lock", WithoutLock, RACES],
    ["with the lock in the statement that checks", WithLockInTheSameStatement, RACES],
    [
      "with a sequence that has a cache",
      WithNumbersInBlocks,
      ["numbers the rows of a key upwards, whichever connection inserts them"],
    ],
  ])("is told from a driver %s", async (_, Driver, caughtBy) => {
    const broken = await findBroken(harness(Driver), (title) => caughtBy.includes(title));
    expect(broken.map(({ title }) => title)).toEqual(caughtBy);
  });
});
