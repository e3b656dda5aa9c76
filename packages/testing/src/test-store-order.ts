import { insert, MESSAGES, RESOURCES, type Storage, update, type Write } from "@selvedge/core/storage";
import { expect } from "vitest";
import type { StoreTest } from "./test-store.ts";

const KEYS = ["a", "b", "c"] as const;

const message = (id: string, key: string): Write =>
  insert(MESSAGES, { id, thread_id: key, role: "user", content: {}, created_at: 0 });

/** Succeeds only when so many of its kind took effect before. */
const advance = (id: string, from: number): Write =>
  update(RESOURCES, { where: { id, version: from }, set: { version: from + 1 }, require: true });

async function addCounters(storage: Storage, ids: readonly string[] = KEYS): Promise<void> {
  await storage.commit(ids.map((id) => insert(RESOURCES, { id, version: 0, working_memory: "counter" })));
}

export function testOrder(test: StoreTest): void {
  test("carries out commits of a key in the order they were asked for, whatever others do", async (storage) => {
    await addCounters(storage);
    const commits = Array.from({ length: 40 }, (_, at) =>
      KEYS.map((key) => storage.commit([advance(key, at)])),
    );
    await Promise.all(commits.flat());
    expect(await storage.count({ table: RESOURCES, where: { version: 40 } })).toBe(3);
  });

  test("keeps the order of the first commits of a connection", async (storage, { connections }) => {
    await addCounters(storage);
    const [, fresh] = await connections(2);
    const commits = Array.from({ length: 10 }, (_, at) => fresh!.commit([advance("a", at)]));
    await expect(Promise.all(commits)).resolves.toHaveLength(10);
  });

  test("keeps the order of commits that share one of several keys", async (storage) => {
    await addCounters(storage);
    const counts = { a: 0, b: 0, c: 0 };
    const commits = Array.from({ length: 60 }, (_, at) => {
      const keys = at % 3 === 0 ? [KEYS[at % 2]!, KEYS[2]] : [KEYS[at % 3]!];
      return storage.commit(keys.map((key) => advance(key, counts[key]++)));
    });
    await Promise.all(commits);
    for (const id of KEYS) {
      const [row] = await storage.select({ table: RESOURCES, where: { id } });
      expect(row?.version).toBe(counts[id]);
    }
  });

  test("keeps the order of commits with a key that their writes do not show", async (storage) => {
    await addCounters(storage, ["only"]);
    const commits = Array.from({ length: 30 }, (_, version) =>
      storage.commit(
        [
          update(RESOURCES, {
            where: { working_memory: "counter", version },
            set: { version: version + 1 },
            require: true,
          }),
        ],
        { key: "mine" },
      ),
    );
    await expect(Promise.all(commits)).resolves.toHaveLength(30);
  });

  test("numbers the rows of a key upwards, whichever connection inserts them", async (_, { connections }) => {
    const all = await connections(3);
    const numbers: number[] = [];
    for (let at = 0; at < 30; at++) {
      const { auto } = await all[(at * 7) % 3]!.commit([message(`m${at}`, "t"), message(`n${at}`, "t")]);
      numbers.push(auto[0]!, auto[1]!);
    }
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
    const rows = await all[1]!.select({ table: MESSAGES, orderBy: [{ column: "seq" }] });
    expect(rows.map(({ seq }) => seq)).toEqual(numbers);
  });

  test("gives each of several commits its own outcome", async (storage) => {
    await addCounters(storage);
    const outcomes = await storage.commitAll([
      { writes: [advance("a", 0)] },
      { writes: [advance("b", 0), advance("c", 7)] },
      { writes: [insert(RESOURCES, { id: "d", version: 0.5 })] },
      { writes: [message("half", "a"), insert(RESOURCES, { id: "a" })] },
      { writes: [message("m", "t")] },
      { writes: [] },
    ]);
    expect(outcomes).toEqual([
      { result: { changes: [1], auto: [undefined] } },
      {
        error: expect.objectContaining({ code: "conflict", details: expect.objectContaining({ index: 1 }) }),
      },
      { error: expect.objectContaining({ code: "invalid-argument" }) },
      {
        error: expect.objectContaining({ code: "conflict", details: expect.objectContaining({ index: 1 }) }),
      },
      { result: { changes: [1], auto: [expect.any(Number)] } },
      { result: { changes: [], auto: [] } },
    ]);
    const rows = await storage.select({ table: RESOURCES, orderBy: [{ column: "id" }] });
    expect(rows.map(({ version }) => version)).toEqual([1, 0, 0]);
    expect(await storage.select({ table: MESSAGES, columns: ["id"] })).toEqual([{ id: "m" }]);
    expect(await storage.commitAll([])).toEqual([]);
  });

  test("keeps the order of several commits at once that share a key", async (storage) => {
    await addCounters(storage);
    const commits = Array.from({ length: 30 }, (_, at) => ({
      writes: [advance(KEYS[at % 3]!, Math.floor(at / 3))],
    }));
    const outcomes = await storage.commitAll(commits);
    expect(outcomes.filter((outcome) => "error" in outcome)).toEqual([]);
  });
}
