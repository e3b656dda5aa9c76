import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { MESSAGES, realSystem, RESOURCES, SCHEMA_VERSION, type Write } from "@selvedge/core/storage";
import Database from "libsql";
import { virtualSystem } from "@selvedge/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Connection } from "./connection.ts";
import { LibSQLStore } from "./libsql-store.ts";
import { LibSQLVector } from "./libsql-vector.ts";

let folder: string;
let file: string;
let url: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "selvedge-"));
  file = join(folder, "store.db");
  url = `file:${file}`;
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

const insert = (id: string): Write => ({ op: "insert", table: RESOURCES, row: { id } });

describe("a locked database", () => {
  it("is waited for without blocking, and writes happen in the order they were asked for", async () => {
    const storage = new LibSQLStore({ url });
    await storage.init();
    const other = new Database(file);
    other.exec("BEGIN IMMEDIATE");
    const messages = Array.from({ length: 5 }, (_, index): Write => {
      return { op: "insert", table: MESSAGES, row: { id: `m${index}`, thread_id: "t" } };
    });
    const commits = messages.map((write) => storage.commit([write]));
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 5);
    await wait(200);
    expect(await storage.count({ table: MESSAGES })).toBe(0);
    other.exec("COMMIT");
    const numbers = (await Promise.all(commits)).map(({ auto }) => auto[0]);
    clearInterval(ticking);
    expect(numbers).toEqual([1, 2, 3, 4, 5]);
    expect(ticks).toBeGreaterThan(3);
    other.close();
    await storage.close();
  });

  it("is given up on after five seconds, with nothing written", async () => {
    let elapsed = 0;
    const system = { ...realSystem, monotonic: () => (elapsed += 1_000) };
    const storage = new LibSQLStore({ url, system });
    await storage.init();
    const other = new Database(file);
    other.exec("BEGIN IMMEDIATE");
    await expect(storage.commit([insert("a")])).rejects.toMatchObject({
      code: "storage-failed",
      message: expect.stringContaining("another process kept the file locked"),
    });
    other.exec("COMMIT");
    other.close();
    await storage.commit([insert("b")]);
    expect(await storage.select({ table: RESOURCES })).toMatchObject([{ id: "b" }]);
    await storage.close();
  });

  it("lets waiting writes finish before it closes", async () => {
    const storage = new LibSQLStore({ url });
    await storage.init();
    const other = new Database(file);
    other.exec("BEGIN IMMEDIATE");
    const commits = [storage.commit([insert("a")]), storage.commit([insert("b")])];
    const closing = storage.close();
    await wait(30);
    other.exec("COMMIT");
    other.close();
    expect(await Promise.all(commits)).toHaveLength(2);
    await closing;
  });
});

describe("a full disk", () => {
  it("fails the write, keeps nothing of it, and works again when there is space", async () => {
    const connection = new Connection({
      url,
      prepare: (database) => {
        database.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)");
        database.exec("PRAGMA max_page_count = 20");
      },
    });
    const write = (size: number): Promise<void> =>
      connection.write(() => {
        connection.run("INSERT INTO t (text) VALUES (?)", ["small"]);
        connection.run("INSERT INTO t (text) VALUES (?)", ["x".repeat(size)]);
      });
    await write(10);
    await expect(write(1_000_000)).rejects.toMatchObject({
      code: "storage-failed",
      message: expect.stringContaining("the disk is full"),
      cause: expect.objectContaining({ code: "SQLITE_FULL" }),
    });
    expect(await connection.read(() => connection.all("SELECT count(*) AS n FROM t"))).toEqual([{ n: 2 }]);
    await connection.read(() => connection.all("PRAGMA max_page_count = 100000"));
    await write(1_000_000);
    expect(await connection.read(() => connection.all("SELECT count(*) AS n FROM t"))).toEqual([{ n: 4 }]);
    await connection.close();
  });
});

describe("a file that is no database of ours", () => {
  it("is refused with the reason, again and again, until it is gone", async () => {
    await writeFile(file, "no database, just text. ".repeat(200));
    const storage = new LibSQLStore({ url });
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(storage.init()).rejects.toMatchObject({
        code: "storage-failed",
        message: expect.stringContaining("not a database"),
      });
    }
    await rm(file);
    await storage.commit([insert("a")]);
    await storage.close();
  });

  it("is refused when it is a folder", async () => {
    const storage = new LibSQLStore({ url: `file:${folder}` });
    await expect(storage.init()).rejects.toMatchObject({ code: "storage-failed" });
    await expect(storage.commit([insert("a")])).rejects.toMatchObject({ code: "storage-failed" });
    await storage.close();
  });

  it("is refused when a newer version wrote it, and left as it is", async () => {
    const first = new LibSQLStore({ url });
    await first.commit([insert("a")]);
    await first.close();
    const database = new Database(file);
    database.exec(`INSERT INTO selvedge_migrations VALUES (${SCHEMA_VERSION + 1}, 0, NULL)`);
    const storage = new LibSQLStore({ url });
    await expect(storage.getStore("memory")).rejects.toMatchObject({
      code: "storage-failed",
      message: expect.stringMatching(/newer version.*upgrade @selvedge\/libsql/),
    });
    expect(database.prepare("SELECT id FROM selvedge_resources").all([])).toEqual([{ id: "a" }]);
    database.close();
    await storage.close();
  });

  it("gets the columns and tables that an older version did not have", async () => {
    const database = new Database(file);
    database.exec(
      "CREATE TABLE selvedge_migrations (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)",
    );
    database.exec("INSERT INTO selvedge_migrations VALUES (0, 0)");
    database.exec("CREATE TABLE selvedge_resources (id TEXT NOT NULL, version INTEGER, PRIMARY KEY (id))");
    database.exec("INSERT INTO selvedge_resources VALUES ('old', 3)");
    database.close();
    const storage = new LibSQLStore({ url });
    const merge = { metadata: { k: 1 } };
    await storage.commit([{ op: "update", table: RESOURCES, where: { id: "old" }, merge, require: true }]);
    expect(await storage.select({ table: RESOURCES })).toMatchObject([
      { id: "old", version: 3, metadata: { k: 1 } },
    ]);
    expect(await storage.count({ table: MESSAGES })).toBe(0);
    await storage.close();
  });

  it("shows what an older version stored, and loses the indexes that only that one needed", async () => {
    const first = new LibSQLStore({ url });
    await first.init();
    await first.close();
    const database = new Database(file);
    database.exec(`
      UPDATE selvedge_migrations SET version = 4;
      INSERT INTO selvedge_messages (id, thread_id, role, content, created_at)
        VALUES ('m', 't', 'assistant', '{"format":2,"parts":[]}', 1);
      INSERT INTO selvedge_message_steps VALUES
        ('m', 0, 't', '[{"type":"text","text":"one"}]'), ('m', 1, 't', '[{"type":"text","text":"two"}]');
      CREATE INDEX selvedge_actors_by_owner ON selvedge_actors (owner);
      CREATE INDEX mine ON selvedge_actors (owner)`);
    const storage = new LibSQLStore({ url });
    const memory = await storage.getStore("memory");
    const [message] = await memory!.recentMessages({ threadId: "t", limit: 1 });
    expect(message!.content).toEqual({
      format: 2,
      parts: [
        { type: "text", text: "one" },
        { type: "text", text: "two" },
      ],
    });
    const indexes = database.prepare(
      "SELECT name FROM sqlite_master WHERE name LIKE '%owner' OR name = 'mine'",
    );
    expect(indexes.all([])).toEqual([{ name: "mine" }]);
    database.close();
    await storage.close();
  });
});

describe("a url", () => {
  it("names a file in several ways", async () => {
    for (const spelled of [`file:${file}`, `file://${file}`, `file:${file.replace("store", "%73tore")}`]) {
      const storage = new LibSQLStore({ url: spelled, durability: "power-safe" });
      await storage.commit([{ ...insert("a"), onConflict: "ignore" } as Write]);
      expect(await storage.count({ table: RESOURCES })).toBe(1);
      await storage.close();
    }
  });

  it("gives every in-memory store a database of its own", async () => {
    const stores = [new LibSQLStore({ url: ":memory:" }), new LibSQLStore({ url: "file::memory:" })];
    await stores[0]!.commit([insert("a")]);
    expect(await stores[1]!.count({ table: RESOURCES })).toBe(0);
    for (const storage of stores) await storage.close();
  });

  it("is refused at once when it cannot work, with what can", () => {
    const open = (bad: unknown) => () => new LibSQLStore({ url: bad as string });
    for (const remote of ["libsql://db.example.com", "https://db.example.com"]) {
      expect(() => new LibSQLVector({ url: remote })).toThrow(
        expect.objectContaining({
          code: "not-supported",
          message: expect.stringContaining('use "file:<path>" or ":memory:"') as string,
        }),
      );
    }
    for (const bad of ["", undefined, "data.db", "file:", "file:a.db?mode=ro", "postgres://x"]) {
      expect(open(bad)).toThrow(expect.objectContaining({ code: "invalid-argument" }));
    }
    expect(() => new LibSQLVector({})).toThrow(expect.objectContaining({ code: "invalid-argument" }));
  });

  it("may be shared by a store and its vectors", async () => {
    const storage = new LibSQLStore({ url });
    const vector = new LibSQLVector({ url });
    await Promise.all([storage.init(), vector.createIndex({ indexName: "i", dimension: 2 })]);
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => [
        storage.commit([insert(`r${index}`)]),
        vector.upsert({ indexName: "i", vectors: [[1, index]] }),
      ]).flat(),
    );
    expect(await storage.count({ table: RESOURCES })).toBe(20);
    expect(await vector.describeIndex({ indexName: "i" })).toMatchObject({ count: 20 });
    await Promise.all([storage.close(), vector.close()]);
    await expect(vector.listIndexes()).rejects.toMatchObject({ code: "storage-closed" });
  });
});

describe("a database file that goes away while it is open", () => {
  it.each([
    ["deleted", async () => rm(file)],
    [
      "replaced",
      async () => {
        await rm(file);
        await writeFile(file, "");
      },
    ],
  ])("is noticed when it is %s: nothing is acknowledged that is lost with it", async (_, goes) => {
    const system = virtualSystem();
    const storage = new LibSQLStore({ url, system });
    await storage.commit([insert("before")]);
    await goes();
    await system.advance(1);
    await expect(storage.commit([insert("after")])).rejects.toMatchObject({
      code: "storage-failed",
      message: expect.stringContaining("was deleted or replaced while it was open"),
    });
    await storage.close();
  });
});

describe("a statement", () => {
  it("still works after so many others that it was not kept prepared", async () => {
    const connection = new Connection({ url });
    await connection.open();
    const kept = connection.statement("SELECT ? AS n");
    expect(kept.row([1])).toEqual([1]);
    for (let index = 0; index < 600; index++)
      expect(connection.get(`SELECT ${index} AS n`, [])).toMatchObject({ n: index });
    expect(kept.row([2])).toEqual([2]);
    expect(kept.rows([3])).toEqual([[3]]);
    await connection.close();
  });
});

describe("vacuum", () => {
  it("gives the space of deleted rows back", async () => {
    const storage = new LibSQLStore({ url });
    const text = "x".repeat(10_000);
    for (let index = 0; index < 200; index++)
      await storage.commit([
        { op: "insert", table: RESOURCES, row: { id: `r${index}`, working_memory: text } },
      ]);
    await storage.commit([{ op: "delete", table: RESOURCES, where: {} }]);
    await storage.vacuum();
    expect((await stat(file)).size).toBeLessThan(500_000);
    await storage.close();
  });
});
