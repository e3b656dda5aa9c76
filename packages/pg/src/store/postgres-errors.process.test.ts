import { execFile } from "node:child_process";
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { insert, MESSAGES, realSystem, RESOURCES, type Storage } from "@selvedge/core/storage";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../__fixtures__/embedded-server.ts";
import { serverUser } from "../__fixtures__/postgres-server.ts";
import { PostgresStore } from "./postgres-store.ts";
import type { PostgresStoreOptions } from "./store-options.ts";

const run = promisify(execFile);
const found = await startPostgres(["-c", "max_connections=20"]);
if ("missing" in found) console.warn(`skipped: errors of PostgreSQL: ${found.missing}`);
const { connectionString, stop } = found as PostgresServer;

function as(user: string, password: string, database = "postgres"): PostgresStoreOptions {
  const url = new URL(connectionString);
  Object.assign(url, { username: user, password, pathname: `/${database}` });
  return { connectionString: url.href };
}

/** A real disk of a few megabytes that the server can use, or why there is none. */
async function smallDisk(): Promise<{ folder: string; remove(): Promise<void> } | { missing: string }> {
  const owner = serverUser();
  if (!owner || process.platform !== "linux") return { missing: "only root can mount a small disk" };
  const folder = await mkdtemp(join(tmpdir(), "selvedge-disk-"));
  try {
    await run("mount", [
      "-t",
      "tmpfs",
      "-o",
      `size=16m,mode=700,uid=${owner.uid},gid=${owner.gid}`,
      "tmpfs",
      folder,
    ]);
  } catch {
    await rm(folder, { recursive: true });
    return { missing: "a small disk cannot be mounted here" };
  }
  return {
    folder,
    remove: async () => {
      await run("umount", [folder]);
      await rm(folder, { recursive: true });
    },
  };
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
    use: (store: Storage) => Promise<unknown> = (store) => store.init(),
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

  it("says that the server does not support SSL", async () => {
    expect(await errorOf({ connectionString, ssl: true })).toMatch(
      /Turn SSL on in the server, or leave out ssl/,
    );
  });

  it("connects with SSL, and says how to trust a certificate and that there is no password", async ({
    skip,
  }) => {
    const folder = await mkdtemp(join(tmpdir(), "selvedge-ssl-"));
    await chmod(folder, 0o755);
    const [certificate, key] = [join(folder, "server.crt"), join(folder, "server.key")];
    const wanted = [
      "-x509",
      "-days",
      "2",
      "-nodes",
      "-subj",
      "/CN=db",
      "-addext",
      "subjectAltName=IP:127.0.0.1",
    ];
    try {
      await run("openssl", ["req", "-new", ...wanted, "-out", certificate, "-keyout", key]);
    } catch {
      await rm(folder, { recursive: true });
      return skip("there is no openssl here");
    }
    const owner = serverUser();
    if (owner) await chown(key, owner.uid, owner.gid);
    const server = await startPostgres([
      "-c",
      "ssl=on",
      "-c",
      `ssl_cert_file=${certificate}`,
      "-c",
      `ssl_key_file=${key}`,
    ]);
    if ("missing" in server) return skip(server.missing);
    const { connectionString: address } = server;
    const [{ file } = {}] = await server.query("SELECT current_setting('hba_file') AS file");
    await writeFile(file as string, "hostssl all all 127.0.0.1/32 scram-sha-256");
    await server.query("SELECT pg_reload_conf()");
    expect(await errorOf({ connectionString: address })).toMatch(
      /the user was refused\. Check the user, ssl/,
    );
    const untrusted = /the server's certificate is not trusted\. Pass the one that signed it: ssl: \{ ca/;
    expect(await errorOf({ connectionString: address, ssl: true })).toMatch(untrusted);
    expect(await errorOf({ connectionString: `${address}?sslmode=verify-full` })).toMatch(untrusted);
    const ssl = { ca: await readFile(certificate, "utf8") };
    const withoutPassword = address.replace("postgres:postgres@", "postgres@");
    expect(await errorOf({ connectionString: withoutPassword, ssl })).toMatch(
      /it needs a password\. Pass one in connectionString, or as password/,
    );
    for (const suffix of ["", "?sslmode=require", "?sslmode=disable"]) {
      const store = new PostgresStore({ connectionString: address + suffix, ssl });
      await store.init();
      const changes: unknown[] = [];
      store.watch((change) => changes.push(change));
      await expect.poll(() => changes).toEqual(["unknown"]);
      await store.close();
    }
    await server.stop();
    await rm(folder, { recursive: true });
  });

  it("says that something else than PostgreSQL answers", async () => {
    const other = createServer((socket) => {
      socket.on("error", () => {}).once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    });
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const error = await errorOf({ host: "127.0.0.1", port, user: "a", password: "secret" });
    expect(error).toMatch(/Check that a PostgreSQL server is at this address/);
    other.close();
  });

  it("says that a server does not respond", async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as AddressInfo;
    const pool = new pg.Pool({
      host: "127.0.0.1",
      port,
      user: "a",
      connectionTimeoutMillis: 50,
      pipeline: true,
    });
    const error = await errorOf({ pool, max: undefined as never });
    expect(error).toMatch(/did not respond in time\. Check the address and the firewall/);
    silent.close();
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

  it("refuses a database that lacks characters, and leaves nothing behind", async () => {
    await admin.query(
      "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'",
    );
    const latin = as("postgres", "postgres", "latin");
    expect(await errorOf({ ...latin, schemaName: "mine" })).toMatch(/Create one with ENCODING 'UTF8'/);
    const client = new pg.Client(latin);
    await client.connect();
    const { rows } = await client.query("SELECT nspname FROM pg_namespace WHERE nspname = 'mine'");
    await client.end();
    expect(rows).toEqual([]);
  });

  it("says that the schema has something else in it", async () => {
    await admin.query("CREATE SCHEMA taken CREATE VIEW selvedge_threads AS SELECT 1 AS id");
    expect(await errorOf({ connectionString, schemaName: "taken" })).toMatch(
      /something else has the name of a table\. Pass an empty schema as schemaName/,
    );
    const { rows } = await admin.query("SELECT tablename FROM pg_tables WHERE schemaname = 'taken'");
    expect(rows).toEqual([]);
  });

  it("says which right is missing, and leaves nothing behind", async () => {
    expect(await errorOf({ ...as("guest", "guest"), schemaName: "mine" })).toMatch(
      /lacks a permission\. Grant .* CREATE on the schema/,
    );
    expect(await errorOf(as("guest", "guest"))).toMatch(/permission denied for schema public/);
    const { rows } = await admin.query(
      "SELECT tablename FROM pg_tables WHERE schemaname IN ('mine', 'public')",
    );
    expect(rows).toEqual([]);
  });

  it("names the tables that a user may not add to a store", async () => {
    const owner = new PostgresStore({ connectionString, schemaName: "fixed" });
    await owner.init();
    await owner.close();
    await admin.query("GRANT USAGE ON SCHEMA fixed TO guest");
    await admin.query("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA fixed TO guest");
    const table = { name: "shop_orders", key: ["id"], columns: { id: "text" }, indexes: [] } as const;
    const domain = { name: "orders", version: 1, tables: [table], open: () => undefined };
    expect(
      await errorOf({ ...as("guest", "guest"), schemaName: "fixed" }, async (store) => store.domain(domain)),
    ).toMatch(
      /may not create shop_orders in the schema "fixed"\. Grant CREATE on the schema, or run this program once/,
    );
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
    const search = { text: "needle", resourceId: "r" };
    expect(await memory.searchMessages(search)).toHaveLength(1);
    // A user who may create it does so. Others have no rights to what is new.
    const again = new PostgresStore({ connectionString, schemaName: "shared" });
    expect(await (await again.getStore("memory"))!.searchMessages(search)).toHaveLength(1);
    const later = new PostgresStore({ ...as("guest", "guest"), schemaName: "shared" });
    for (const [id, writer] of Object.entries({ m2: store, m3: later }))
      await writer.commit([
        insert(MESSAGES, { id, thread_id: "t", resource_id: "r", role: "user", content, created_at: 0 }),
      ]);
    for (const reader of [store, later, again])
      expect(await (await reader.getStore("memory"))!.searchMessages(search)).toHaveLength(3);
    for (const opened of [store, later, again]) await opened.close();
  });

  it("says that the pool was ended, without waiting", async () => {
    for (const pipeline of [true, false]) {
      const pool = new pg.Pool({ connectionString, pipeline });
      const store = new PostgresStore({ pool });
      await store.init();
      await pool.end();
      const ended = {
        code: "storage-closed",
        message: "The pool of this PostgresStore was ended. Close the store first, and then its pool.",
      };
      await expect(store.count({ table: RESOURCES })).rejects.toMatchObject(ended);
      await expect(store.commit([insert(RESOURCES, { id: "late" })], { id: "late" })).rejects.toMatchObject(
        ended,
      );
      await store.close();
    }
  });

  it("says that a server only reads, as a standby does", async ({ skip }) => {
    const server = await startPostgres();
    if ("missing" in server) return skip(server.missing);
    const options = { connectionString: server.connectionString };
    const store = new PostgresStore(options);
    await store.init();
    await store.close();
    await server.becomeStandby();
    // The time for which a server is waited for passes in a moment.
    const system = { ...realSystem, monotonic: () => performance.now() * 100 };
    const readOnly = /it is read-only, such as a standby\. Use the address of the primary/;
    const write = async (opened: Storage): Promise<void> => {
      expect(await opened.count({ table: RESOURCES })).toBe(0);
      await opened.commit([insert(RESOURCES, { id: "a" })]);
    };
    expect(await errorOf({ ...options, system }, write)).toMatch(readOnly);
    expect(await errorOf({ ...options, system, pipeline: false }, write)).toMatch(readOnly);
    expect(await errorOf({ ...options, system, schemaName: "absent" })).toMatch(readOnly);
    await server.stop();
  });

  it("says that the disk is full, keeps whole commits, and continues when there is space", async ({
    skip,
  }) => {
    const disk = await smallDisk();
    if ("missing" in disk) return skip(disk.missing);
    const schemaName = "on_small_disk";
    await admin.query(`CREATE TABLESPACE small LOCATION '${disk.folder}'`);
    const url = `${connectionString}?options=-c%20default_tablespace%3Dsmall`;
    const store = new PostgresStore({ connectionString: url, schemaName, max: 1 });
    try {
      await store.init();
      await admin.query("CREATE TABLE filler (data text) TABLESPACE small");
      await admin.query(
        "INSERT INTO filler SELECT string_agg(md5(n::text), '') FROM generate_series(1, 30000) n",
      );
      const big = Array.from({ length: 20_000 }, () => crypto.randomUUID()).join("");
      let stored = 0;
      const error = await (async () => {
        for (; stored < 100; stored++)
          await store.commit([
            insert(RESOURCES, { id: `small ${stored}` }),
            insert(RESOURCES, { id: `big ${stored}`, working_memory: big }),
          ]);
        return undefined;
      })().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "storage-failed" });
      expect(String(error)).toMatch(/the disk is full\. Free some space on the server/);
      expect(await store.count({ table: RESOURCES })).toBe(2 * stored);
      await admin.query("DROP TABLE filler");
      await store.commit([insert(RESOURCES, { id: "after" })]);
      expect(await store.count({ table: RESOURCES })).toBe(2 * stored + 1);
    } finally {
      await store.close();
      await admin.query(`DROP SCHEMA IF EXISTS ${schemaName} CASCADE`);
      await admin.query("DROP TABLE IF EXISTS filler");
      await admin.query("DROP TABLESPACE small");
      await disk.remove();
    }
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
