// @module-tag long

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { testStore } from "@selvedge/testing/suites";
import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { startPostgres } from "../__fixtures__/postgres-server.ts";
import { PostgresStore } from "./postgres-store.ts";

const CACHE = new URL("../../../../node_modules/.cache/postgres/", import.meta.url);

// The newest supported version runs in every other test.
describe.for([14, 15, 16, 17])("PostgreSQL %i", async (major) => {
  const bin = fileURLToPath(new URL(`${major}/native/bin`, CACHE));
  if (!existsSync(bin)) {
    it.skip(`is not there; scripts/ensure-postgres-versions fetches it on Linux`);
    return console.warn(`skipped: PostgreSQL ${major}; scripts/ensure-postgres-versions fetches it on Linux`);
  }
  const { connectionString, stop } = await startPostgres(bin);
  afterAll(stop);

  it("is the version that runs", async () => {
    const client = new pg.Client({ connectionString });
    await client.connect();
    const { rows } = await client.query<{ server_version: string }>("SHOW server_version");
    await client.end();
    expect(rows[0]!.server_version).toMatch(new RegExp(`^${major}\\.`));
  });

  let schemas = 0;
  testStore("PostgresStore", async () => {
    const schemaName = `t${schemas++}`;
    const open = async (): Promise<PostgresStore> => new PostgresStore({ connectionString, schemaName });
    const storage = await open();
    return { storage, reopen: open, connect: open, close: () => storage.close() };
  });
});
