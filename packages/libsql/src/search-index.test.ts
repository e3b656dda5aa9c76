import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Row, TABLES } from "@selvedge/core/storage";
import Database from "libsql";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LibSQLStore } from "./libsql-store.ts";

const NOTIFICATIONS = TABLES.find(({ name }) => name === "selvedge_notifications")!;
const query = { table: NOTIFICATIONS, where: { thread_id: "t" } };
const MANY = 600;

let folder: string;
let file: string;
let storage: LibSQLStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "selvedge-"));
  file = join(folder, "store.db");
  storage = new LibSQLStore({ url: `file:${file}` });
});

afterEach(async () => {
  await storage.close();
  await rm(folder, { recursive: true });
});

async function add(count: number, summary: (index: number) => string): Promise<void> {
  await storage.commit(
    Array.from({ length: count }, (_, index) => ({
      op: "insert" as const,
      table: NOTIFICATIONS,
      row: {
        thread_id: "t",
        id: `${summary(index)} ${index}`,
        kind: "k",
        source: "s",
        summary: summary(index),
      },
    })),
  );
}

async function found(...terms: string[]): Promise<number> {
  return (await storage.selectMentioning(query, terms)).length;
}

describe("the full-text index", () => {
  it("reads only the rows that have the terms, and all rows where there are few", async () => {
    await add(10, () => "a needle");
    expect(await found("nothing")).toBe(10);
    await add(MANY, (index) => `hay ${index}`);
    expect(await found("needle")).toBe(10);
    expect(await found("hay", "599")).toBe(1);
    expect(await found("nothing")).toBe(0);
    // Too short for the index.
    expect(await found("ne")).toBe(MANY + 10);
  });

  it("keeps in step with every kind of write, and with commits that fail", async () => {
    await add(MANY, (index) => `hay ${index}`);
    await add(1, () => "needle");
    const where = { thread_id: "t", id: "needle 0" };
    await storage.commit([{ op: "update", table: NOTIFICATIONS, where, set: { summary: "thread" } }]);
    expect([await found("needle"), await found("thread")]).toEqual([0, 1]);
    const row: Row = { ...where, kind: "k", source: "s", summary: "cotton" };
    await storage.commit([{ op: "insert", table: NOTIFICATIONS, row, onConflict: "update" }]);
    expect([await found("thread"), await found("cotton")]).toEqual([0, 1]);
    const refused = storage.commit([
      { op: "update", table: NOTIFICATIONS, where, set: { summary: "silk" } },
      { op: "require", table: NOTIFICATIONS, where: { id: "none" }, exists: true },
    ]);
    await expect(refused).rejects.toMatchObject({ code: "conflict" });
    expect([await found("silk"), await found("cotton")]).toEqual([0, 1]);
    await storage.commit([{ op: "delete", table: NOTIFICATIONS, where }]);
    expect(await found("cotton")).toBe(0);
  });

  it("numbers rows as before", async () => {
    const row = { thread_id: "t", kind: "k", source: "s", summary: "one two three" };
    const insert = (id: string) => ({ op: "insert" as const, table: NOTIFICATIONS, row: { ...row, id } });
    const { auto, changes } = await storage.commit([insert("a"), insert("b")]);
    expect(auto).toEqual([1, 2]);
    expect(changes).toEqual([1, 1]);
  });

  it("is made for a file of an older version, with what is in it", async () => {
    await add(MANY, (index) => `hay ${index}`);
    await storage.close();
    const database = new Database(file);
    for (const event of ["insert", "update", "delete"])
      database.exec(`DROP TRIGGER selvedge_notifications_search_after_${event}`);
    database.exec("DROP TABLE selvedge_notifications_search");
    database.exec("UPDATE selvedge_migrations SET version = version - 1");
    database.close();
    storage = new LibSQLStore({ url: `file:${file}` });
    expect(await found("599")).toBe(1);
  });
});
