import { insert, MESSAGES, realSystem, RESOURCES, type Storage } from "@selvedge/core/storage";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../__fixtures__/embedded-server.ts";
import { PostgresStore } from "./postgres-store.ts";
import type { PostgresStoreOptions } from "./store-options.ts";

const found = await startPostgres(["-c", "max_connections=12"]);
if ("missing" in found) console.warn(`skipped: errors of PostgreSQL: ${found.missing}`);
const { connectionString, stop } = found as PostgresServer;

function as(user: string, password: string, database = "postgres"): PostgresStoreOptions {
  const url = new URL(connectionString);
  Object.assign(url, { username: user, password, pathname: `/${database}` });
  return { connectionString: url.href };
}

describe.skipIf("missing" in found)("PostgresStore", () => {
  const admin = new pg.Client({ connectionString });
  beforeAll(async () => {
    await admin.connect();
    await admin.query("CREATE ROLE guest LOGIN PASSWORD 'guest'");
    await admin.query("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
  });
  afterAll(async () => {
    await admin.end();
    await stop();
  });

  async function errorOf(
    options: PostgresStoreOptions,
    use = (store: Storage) => store.init(),
  ): Promise<string> {
    const store = new PostgresStore({ max: 1, ...options });
    const error: unknown = await use(store).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    await store.close();
    expect(error).toMatchObject({ code: "storage-failed" });
    expect(String(error)).not.toContain("secret");
    return String(error);
  }

  it("says that nothing listens at an address, without waiting", async () => {
    expect(await errorOf({ host: "127.0.0.1", port: 1, user: "a", password: "secret" })).toMatch(
      /nothing is listening there\. Check host and port/,
    );
  });

  it("says that there is no such host", async () => {
    expect(await errorOf({ host: "nowhere.invalid", user: "a", password: "secret" })).toMatch(
      /Check the address/,
    );
  });

  it("says that a password was refused", async () => {
    expect(await errorOf(as("guest", "secret"))).toMatch(
      /the password was refused\. Check user and password/,
    );
  });

  it("says that there is no such database", async () => {
    expect(await errorOf(as("guest", "guest", "nowhere"))).toMatch(/no such database\. Create it/);
  });

  it("says which right is missing, and leaves nothing behind", async () => {
    expect(await errorOf({ ...as("guest", "guest"), schemaName: "mine" })).toMatch(
      /lacks a permission\. Grant CREATE/,
    );
    expect(await errorOf(as("guest", "guest"))).toMatch(/permission denied for schema public/);
    const { rows } = await admin.query(
      "SELECT tablename FROM pg_tables WHERE schemaname IN ('mine', 'public')",
    );
    expect(rows).toEqual([]);
  });

  it("opens for a user who may only read and write, and searches without an index there", async () => {
    const owner = new PostgresStore({ connectionString, schemaName: "shared" });
    await owner.init();
    await owner.close();
    await admin.query("GRANT USAGE ON SCHEMA shared TO guest");
    await admin.query("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA shared TO guest");
    const store = new PostgresStore({ ...as("guest", "guest"), schemaName: "shared" });
    const memory = (await store.getStore("memory"))!;
    const content = { format: 2, parts: [{ type: "text", text: "a needle" }] };
    await store.commit([
      insert(MESSAGES, { id: "m", thread_id: "t", resource_id: "r", role: "user", content, created_at: 0 }),
    ]);
    expect(await memory.searchMessages({ text: "needle", resourceId: "r" })).toHaveLength(1);
    await store.close();
  });

  it("says that a server only reads", async () => {
    await admin.query(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE read_only_sql_transaction; END $$",
    );
    const schemaName = "only_read";
    // The time for which a server is waited for passes in a moment.
    const system = { ...realSystem, monotonic: () => performance.now() * 100 };
    const use = async (store: Storage): Promise<void> => {
      await store.init();
      await admin.query(
        `CREATE TRIGGER refuse BEFORE INSERT ON ${schemaName}.selvedge_resources EXECUTE FUNCTION refuse()`,
      );
      await store.commit([insert(RESOURCES, { id: "a" })]);
    };
    expect(await errorOf({ connectionString, schemaName, system }, use)).toMatch(
      /it is read-only, such as a standby\. Use the address of the primary/,
    );
  });

  it("says that the server has too many connections", async () => {
    const others: pg.Client[] = [];
    try {
      for (;;) {
        const other = new pg.Client({ ...as("guest", "guest") });
        other.on("error", () => {});
        await other.connect();
        others.push(other);
      }
    } catch {
      expect(await errorOf(as("guest", "guest"))).toMatch(
        /too many connections\. Lower max, raise max_connections/,
      );
    } finally {
      await Promise.all(others.map((other) => other.end()));
    }
  });
});
