import { setTimeout as wait } from "node:timers/promises";
import { AgentError } from "@selvedge/core/errors";
import { insert, MESSAGES, RESOURCES, update } from "@selvedge/core/storage";
import { testStore } from "@selvedge/testing/suites";
import { afterAll, describe, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../__fixtures__/embedded-server.ts";
import { Pgbouncer, pgbouncerMissing } from "../__fixtures__/pgbouncer.ts";
import { PostgresStore } from "./postgres-store.ts";
import type { PostgresStoreOptions } from "./store-options.ts";

const server = pgbouncerMissing === undefined ? await startPostgres() : { missing: pgbouncerMissing };
if ("missing" in server) console.warn(`skipped: PostgreSQL behind PgBouncer: ${server.missing}`);
const { connectionString, stop } = server as PostgresServer;
const pooler = "missing" in server ? undefined : await Pgbouncer.start(connectionString);

let schemas = 0;

function open(options: PostgresStoreOptions): PostgresStore {
  return new PostgresStore({
    connectionString: pooler!.connectionString,
    pipeline: false,
    prepare: false,
    ...options,
  });
}

describe.skipIf("missing" in server)("PostgreSQL behind PgBouncer in transaction mode", () => {
  afterAll(async () => {
    await pooler?.stop();
    await stop();
  });

  describe.each([
    { how: "listening at the server", options: { listenConnectionString: connectionString } },
    { how: "polling", options: { pollMs: 20 } },
  ])("$how", ({ how, options }) => {
    testStore(`PostgresStore, ${how}`, async () => {
      const schemaName = `pooled_${schemas++}`;
      const storage = open({ schemaName, ...options });
      return {
        storage,
        reopen: async () => open({ schemaName, ...options }),
        connect: async () => open({ schemaName, ...options }),
        close: () => storage.close(),
      };
    });
  });

  it("carries out each commit with an id once while the pooler is killed and comes back", async () => {
    const schemaName = "killed_pooler";
    const storage = open({ schemaName, pollMs: 20 });
    await storage.commit([insert(RESOURCES, { id: "counter", version: 0 })]);
    const acknowledged: string[] = [];
    const lane = async (lane: number): Promise<void> => {
      for (let at = 0; at < 100; at++) {
        const id = `${lane}-${at}`;
        const message = insert(MESSAGES, { id, thread_id: "t", role: "user", content: {}, created_at: 0 });
        const addOne = update(RESOURCES, {
          where: { id: "counter" },
          increment: { version: 1 },
          require: true,
        });
        try {
          await storage.commit([message, addOne], { id });
          acknowledged.push(id);
        } catch (error) {
          if (!AgentError.is(error, "storage-failed")) throw error;
        }
      }
    };
    const working = Promise.all([0, 1, 2, 3].map(lane));
    for (let round = 0; round < 3; round++) {
      await wait(100);
      await pooler!.kill();
      await wait(100);
      await pooler!.begin();
    }
    await working;
    const messages = await storage.select({ table: MESSAGES, columns: ["id"] });
    const [counter] = await storage.select({ table: RESOURCES });
    await storage.close();
    expect(counter!.version).toBe(messages.length);
    expect(messages.map(({ id }) => id)).toEqual(expect.arrayContaining(acknowledged));
    expect(acknowledged.length).toBe(400);
  });
});
