import { setTimeout as wait } from "node:timers/promises";
import { AgentError } from "@selvedge/core/errors";
import { insert, MESSAGES, RESOURCES, update } from "@selvedge/core/storage";
import { testStore } from "@selvedge/testing/suites";
import pg from "pg";
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

  it("is refused without options for it, and leaves the connections of others as they were", async () => {
    const alone = new PostgresStore({ connectionString: pooler!.connectionString, schemaName: "unprepared" });
    await expect(alone.init()).rejects.toMatchObject({
      code: "invalid-argument",
      message: expect.stringMatching(
        /pass pipeline: false, prepare: false, and listenConnectionString/,
      ) as string,
    });
    await alone.close();
    const other = new pg.Client({ connectionString: pooler!.connectionString });
    await other.connect();
    const { rows } = await other.query("SHOW default_transaction_read_only");
    await other.end();
    expect(rows).toEqual([{ default_transaction_read_only: "off" }]);
  });

  it("says which option is missing if the pooler mixes prepared statements", async () => {
    const storage = open({ schemaName: "prepared", prepare: true, pollMs: 20 });
    await storage.init();
    const commits = Array.from({ length: 20 }, (_, id) =>
      storage.commit([insert(RESOURCES, { id: `${id}` })]),
    );
    const failed = (await Promise.allSettled(commits)).find(({ status }) => status === "rejected");
    expect(failed).toMatchObject({
      reason: { message: expect.stringMatching(/Pass prepare: false/) as string },
    });
    await storage.close();
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
