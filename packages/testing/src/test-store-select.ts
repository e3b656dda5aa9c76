import {
  type Comparison,
  MESSAGES,
  RESOURCES,
  type Row,
  type Storage,
  type Where,
} from "@selvedge/core/storage";
import { expect } from "vitest";
import type { StoreTest } from "./test-store.ts";

async function fill(storage: Storage, rows: Row[]): Promise<void> {
  await storage.commit(rows.map((row) => ({ op: "insert", table: RESOURCES, row })));
}

async function ids(storage: Storage, where: Where): Promise<string[]> {
  const rows = await storage.select({ table: RESOURCES, where, orderBy: [{ column: "id" }] });
  expect(await storage.count({ table: RESOURCES, where })).toBe(rows.length);
  return rows.map((row) => row.id as string);
}

export function testSelect(test: StoreTest): void {
  test("finds one row as it finds many, whatever was looked for before", async (storage) => {
    await fill(storage, [
      { id: "a1", working_memory: "a" },
      { id: "a2", working_memory: "a" },
      { id: "b1", working_memory: "b" },
    ]);
    const find = async (text: string, limit: number) => {
      const query = {
        table: RESOURCES,
        where: { working_memory: text },
        orderBy: [{ column: "id" }],
        limit,
      } as const;
      return (await storage.select(query)).map(({ id }) => id);
    };
    expect(await find("a", 10)).toEqual(["a1", "a2"]);
    expect(await find("b", 1)).toEqual(["b1"]);
    expect(await find("a", 10)).toEqual(["a1", "a2"]);
    expect(await find("none", 1)).toEqual([]);
    expect(await find("a", 1)).toEqual(["a1"]);
    expect(await find("b", 10)).toEqual(["b1"]);
  });

  test("finds rows by every operator, and takes a missing value for none", async (storage) => {
    await fill(storage, [
      { id: "a", version: 1, working_memory: "x" },
      { id: "b", version: 2, working_memory: "y" },
      { id: "c", version: 3, working_memory: "x" },
      { id: "d" },
    ]);
    const cases: [Where, string[]][] = [
      [{}, ["a", "b", "c", "d"]],
      [{ working_memory: "x" }, ["a", "c"]],
      [{ working_memory: "x", version: 3 }, ["c"]],
      [{ version: null }, ["d"]],
      [{ version: { ne: null } }, ["a", "b", "c"]],
      [{ version: { ne: 2 } }, ["a", "c", "d"]],
      [{ version: { gt: 1 } }, ["b", "c"]],
      [{ version: { gte: 2 } }, ["b", "c"]],
      [{ version: { lt: 2 } }, ["a"]],
      [{ version: { lte: 2 } }, ["a", "b"]],
      [{ version: { gt: 1, lt: 3 } }, ["b"]],
      [{ version: { in: [1, 3, 7, 3] } }, ["a", "c"]],
      [{ id: { in: [] } }, []],
      [{ id: { in: ["b", "d", "nope"] } }, ["b", "d"]],
      [{ id: { gt: "b" } }, ["c", "d"]],
      [{ working_memory: { ne: "x", gte: "" } }, ["b"]],
      [{ id: "nope" }, []],
    ];
    for (const [where, expected] of cases) {
      expect(await ids(storage, where), JSON.stringify(where)).toEqual(expected);
    }
  });

  test("finds rows by keys of a json column, exactly", async (storage) => {
    await fill(storage, [
      { id: "a", metadata: { n: 1, s: "1", t: true, z: null, 'odd "key".$': "é" } },
      { id: "b", metadata: { n: "1", s: 1, t: "true" } },
      { id: "c", metadata: { n: 1, deep: { n: 1 } } },
      { id: "d" },
      { id: "e", metadata: ["n"] },
    ]);
    const cases: [Where, string[]][] = [
      [{ metadata: { has: { n: 1 } } }, ["a", "c"]],
      [{ metadata: { has: { n: "1" } } }, ["b"]],
      [{ metadata: { has: { n: 1, s: "1" } } }, ["a"]],
      [{ metadata: { has: { t: true } } }, ["a"]],
      [{ metadata: { has: { t: false } } }, []],
      [{ metadata: { has: { z: null } } }, ["a"]],
      [{ metadata: { has: { 'odd "key".$': "é" } } }, ["a"]],
      [{ metadata: { has: { deep: 1 } } }, []],
      [{ metadata: { has: {} } }, ["a", "b", "c", "d", "e"]],
      [{ metadata: null }, ["d"]],
    ];
    for (const [where, expected] of cases) {
      expect(await ids(storage, where), JSON.stringify(where)).toEqual(expected);
    }
  });

  test("refuses what it cannot mean", async (storage) => {
    const refused: unknown[] = [
      { nope: 1 },
      { id: undefined },
      { id: {} },
      { id: { like: "a%" } },
      { id: { in: [undefined] } },
      { id: { gt: null } },
      { id: true },
      { id: "a\0b" },
      { version: "1" },
      { version: 1.5 },
      { metadata: "x" },
      { metadata: { has: { a: [1] } } },
      { constructor: 1 },
    ];
    for (const where of refused) {
      const query = { table: RESOURCES, where: where as Where };
      await expect(storage.select(query), JSON.stringify(where)).rejects.toMatchObject({
        code: "invalid-argument",
      });
    }
    for (const limit of [-1, 0.5, Number.NaN]) {
      await expect(storage.select({ table: RESOURCES, limit })).rejects.toMatchObject({
        code: "invalid-argument",
      });
    }
    const orderBy = [{ column: "id; DROP TABLE selvedge_resources" as "id" }];
    await expect(storage.select({ table: RESOURCES, orderBy })).rejects.toMatchObject({
      code: "invalid-argument",
    });
  });

  test("orders by code point, missing values first, and by several columns", async (storage) => {
    const texts = ["b", "a", "Z", "é", "\u{1F600}", "\uFFFD", ""];
    await fill(storage, [
      ...texts.map((working_memory, index) => ({ id: `t${index}`, working_memory, version: 1 })),
      { id: "none", version: 2 },
    ]);
    const rows = await storage.select({ table: RESOURCES, orderBy: [{ column: "working_memory" }] });
    expect(rows.map((row) => row.working_memory)).toEqual([
      null,
      "",
      "Z",
      "a",
      "b",
      "é",
      "\uFFFD",
      "\u{1F600}",
    ]);
    const both = await storage.select({
      table: RESOURCES,
      orderBy: [
        { column: "version", direction: "desc" },
        { column: "working_memory", direction: "desc" },
      ],
      limit: 3,
    });
    expect(both.map((row) => row.id)).toEqual(["none", "t4", "t5"]);
  });

  test("limits and skips", async (storage) => {
    await fill(
      storage,
      Array.from({ length: 10 }, (_, index) => ({ id: `r${index}`, version: index })),
    );
    const page = async (limit: number | undefined, offset: number | undefined): Promise<unknown[]> => {
      const rows = await storage.select({
        table: RESOURCES,
        orderBy: [{ column: "version", direction: "desc" }],
        ...(limit !== undefined && { limit }),
        ...(offset !== undefined && { offset }),
      });
      return rows.map((row) => row.version);
    };
    expect(await page(3, undefined)).toEqual([9, 8, 7]);
    expect(await page(3, 8)).toEqual([1, 0]);
    expect(await page(undefined, 8)).toEqual([1, 0]);
    expect(await page(0, 0)).toEqual([]);
    expect(await page(5, 50)).toEqual([]);
  });

  test("reads a range of an index from either end", async (storage) => {
    await storage.commit(
      Array.from({ length: 30 }, (_, index) => ({
        op: "insert",
        table: MESSAGES,
        row: {
          id: `m${index}`,
          thread_id: index % 2 ? "odd" : "even",
          role: "user",
          content: {},
          created_at: index,
        },
      })),
    );
    const [tenth] = await storage.select({ table: MESSAGES, where: { id: "m10" } });
    const seq = tenth!.seq as number;
    const read = async (
      comparison: number | Comparison<number>,
      direction: "asc" | "desc",
      limit: number,
    ): Promise<unknown[]> => {
      const rows = await storage.select({
        table: MESSAGES,
        where: { thread_id: "even", seq: comparison },
        orderBy: [{ column: "seq", direction }],
        limit,
      });
      return rows.map((row) => row.id);
    };
    expect(await read({ lt: seq }, "desc", 2)).toEqual(["m8", "m6"]);
    expect(await read({ gt: seq }, "asc", 2)).toEqual(["m12", "m14"]);
    expect(await read({ gte: seq, lte: seq }, "asc", 9)).toEqual(["m10"]);
    expect(await read({ gt: seq, lt: seq + 5 }, "desc", 9)).toEqual(["m14", "m12"]);
  });

  test("hands out copies: changing what was read or written changes nothing stored", async (storage) => {
    const metadata = { list: [1], nested: { a: 1 } };
    await fill(storage, [{ id: "a", metadata }]);
    metadata.nested.a = 2;
    const [first] = await storage.select({ table: RESOURCES });
    (first!.metadata as typeof metadata).list.push(9);
    const [second] = await storage.select({ table: RESOURCES });
    expect(second!.metadata).toEqual({ list: [1], nested: { a: 1 } });
  });

  test("keeps text, numbers and json as they were", async (storage) => {
    const text = "ünïcødé \u{1F469}\u200D\u{1F680} \u202E ' \" ; -- \\ \n\t %_";
    const metadata = {
      text,
      nul: "a\0b",
      big: 2 ** 53 - 1,
      small: -1.5e-300,
      empty: {},
      list: [null, true, [""]],
    };
    await fill(storage, [
      { id: text.replace(/[\n\t]/g, ""), working_memory: text, metadata, version: -(2 ** 40) },
    ]);
    const [row] = await storage.select({ table: RESOURCES, where: { working_memory: text } });
    expect(row).toEqual({
      id: text.replace(/[\n\t]/g, ""),
      working_memory: text,
      metadata,
      version: -(2 ** 40),
      created_at: null,
      updated_at: null,
    });
  });

  test("keeps values of megabytes and lists of thousands", async (storage) => {
    const big = "0123456789abcdef".repeat(140_000);
    await fill(storage, [{ id: "big", working_memory: big, metadata: { big } }]);
    const [row] = await storage.select({ table: RESOURCES, where: { id: "big" } });
    expect(row!.working_memory === big && (row!.metadata as { big: string }).big === big).toBe(true);
    const many = Array.from({ length: 50_000 }, (_, index) => `id-${index}`);
    expect(await ids(storage, { id: { in: [...many, "big"] } })).toEqual(["big"]);
  });
}
