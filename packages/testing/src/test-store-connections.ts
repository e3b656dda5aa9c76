import {
  type Change,
  insert,
  MESSAGES,
  RESOURCES,
  requireRow,
  type Storage,
  type Table,
  TABLES,
  update,
  type Write,
} from "@selvedge/core/storage";
import { setTimeout as wait } from "node:timers/promises";
import { expect } from "vitest";
import type { StoreTest } from "./test-store.ts";

const COMMITS: Table = TABLES.find(({ name }) => name === "selvedge_commits")!;

const message = (id: string, key: string): Write =>
  insert(MESSAGES, { id, thread_id: key, role: "user", content: {}, created_at: 0 });
const addOne: Write = update(RESOURCES, { where: { id: "counter" }, increment: { version: 1 } });

/** True where commits leave their ids, because the answer to one can be lost. */
async function isTracing(storage: Storage): Promise<boolean> {
  await storage.commit([insert(RESOURCES, { id: "counter", version: 0 })], { id: "first" });
  return (await storage.count({ table: COMMITS, where: { id: "first" } })) > 0;
}

async function counted(storage: Storage): Promise<number | undefined> {
  const [row] = await storage.select({ table: RESOURCES, where: { id: "counter" } });
  return row?.version;
}

export function testConnections(test: StoreTest): void {
  test("answers several selects at once, each with its columns", async (storage) => {
    await storage.commit([
      insert(RESOURCES, { id: "a", version: 1, metadata: { k: 1 } }),
      insert(RESOURCES, { id: "b", version: 2 }),
      message("m", "t"),
    ]);
    const orderBy = [{ column: "id", direction: "desc" }] as const;
    const found = await storage.selectAll([
      { table: RESOURCES, columns: ["id", "metadata"], orderBy },
      { table: MESSAGES, where: { thread_id: "t" }, columns: ["id"] },
      { table: RESOURCES, where: { id: "none" } },
      { table: RESOURCES, columns: ["version"], orderBy, limit: 1 },
    ]);
    expect(found).toEqual([
      [
        { id: "b", metadata: null },
        { id: "a", metadata: { k: 1 } },
      ],
      [{ id: "m" }],
      [],
      [{ version: 2 }],
    ]);
    expect(await storage.selectAll([])).toEqual([]);
    const bad = [{ table: RESOURCES }, { table: RESOURCES, columns: ["nope"] }] as never;
    await expect(storage.selectAll(bad)).rejects.toMatchObject({ code: "invalid-argument" });
  });

  test(
    "can be set up from several connections at once",
    async (_, { connections }) => {
      const all = await connections(5);
      await Promise.all(all.map((connection) => connection.init()));
      await Promise.all(all.map((connection, at) => connection.commit([message(`m${at}`, "t")])));
      for (const connection of all) expect(await connection.count({ table: MESSAGES })).toBe(5);
    },
    { untouched: true },
  );

  test("shows what one connection committed to all others at once", async (_, { connections }) => {
    const [first, ...others] = await connections(4);
    await first!.commit([insert(RESOURCES, { id: "counter", version: 0 })]);
    for (let at = 1; at <= 20; at++) {
      await first!.commit([addOne]);
      for (const other of others) expect(await counted(other)).toBe(at);
    }
  });

  test("carries out a commit once, however often its id is sent", async (storage, { connections }) => {
    if (!(await isTracing(storage))) return;
    const all = await connections(3);
    for (const connection of all) await connection.commit([addOne, message("m", "t")], { id: "one" });
    expect(await counted(storage)).toBe(1);
    const more = Array.from({ length: 12 }, (_, at) =>
      all[at % 3]!.commit([addOne], { id: `many-${at % 2}` }),
    );
    await Promise.all(more);
    expect(await counted(storage)).toBe(3);
  });

  test("leaves no trace of a commit that was refused, so that it can be sent again", async (storage) => {
    if (!(await isTracing(storage))) return;
    const send = (): Promise<unknown> =>
      storage.commit([addOne, requireRow(MESSAGES, { id: "m" })], { id: "again" });
    await expect(send()).rejects.toMatchObject({ code: "conflict", details: { index: 1 } });
    await storage.commit([message("m", "t")]);
    await send();
    await send();
    expect(await counted(storage)).toBe(1);
  });

  test("reports which keys another connection changed, or that it cannot tell", async (storage, harness) => {
    if (!harness.connect) return;
    const { newsWithinMs = 5_000 } = harness;
    const [, other] = await harness.connections(2);
    const news = new News(storage, newsWithinMs);
    // News may begin late: nothing may be missing from the first on.
    for (let at = 0, waited = 0; waited < newsWithinMs; at++, waited += 20) {
      await other!.commit([message(`early-${at}`, `early-${at}`)]);
      if (await news.covers(`early-${at}`, 20)) break;
    }
    for (let at = 0; at < 5; at++) {
      news.forget();
      await other!.commit([message(`m${at}`, `one-${at}`), insert(RESOURCES, { id: `two-${at}` })]);
      expect(await news.covers(`one-${at}`), `one-${at}`).toBe(true);
      expect(await news.covers(`two-${at}`), `two-${at}`).toBe(true);
    }
    news.forget();
    const many = Array.from({ length: 1_000 }, (_, at) => `a key of many bytes ${at}`);
    await other!.commit(many.map((id) => insert(RESOURCES, { id })));
    for (const id of many) expect(await news.covers(id), id).toBe(true);
    news.stop();
  });
}

/** What a connection heard of others since it last forgot. */
class News {
  readonly stop: () => void;
  readonly #withinMs: number;
  #keys = new Set<string>();
  #isUnknown = false;

  constructor(storage: Storage, withinMs: number) {
    this.#withinMs = withinMs;
    this.stop = storage.watch((change: Change) => {
      if (change === "unknown") this.#isUnknown = true;
      else for (const key of change.keys) this.#keys.add(key);
    });
  }

  forget(): void {
    this.#keys = new Set();
    this.#isUnknown = false;
  }

  async covers(key: string, withinMs = this.#withinMs): Promise<boolean> {
    for (let waited = 0; !this.#isUnknown && !this.#keys.has(key) && waited < withinMs; waited += 5)
      await wait(5);
    return this.#isUnknown || this.#keys.has(key);
  }
}
