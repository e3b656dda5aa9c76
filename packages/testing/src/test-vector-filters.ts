import type { Vector, VectorFilter } from "@selvedge/core/vector";
import { expect } from "vitest";
import { indexName, type VectorTest } from "./vector-test.ts";

const ENTRIES: Record<string, Record<string, unknown> | undefined> = {
  num: { v: 5, tag: "a" },
  real: { v: 5.5, tag: "b", not: Number.NaN },
  str: { v: "5" },
  yes: { v: true },
  no: { v: false },
  nil: { v: null },
  arr: { v: [5, "x", true, null] },
  obj: { v: { in: { deep: 7 } } },
  text: { v: "xyz \u{1F600}", "odd key": 1 },
  none: {},
  bare: undefined,
};

const ALL = Object.keys(ENTRIES);
const without = (...ids: string[]): string[] => ALL.filter((id) => !ids.includes(id));

/** What each filter lets through. `nil`, `none` and `bare` have no value for `v`; only `nil` has the key. */
const FILTERS: [VectorFilter, string[]][] = [
  [{}, ALL],
  [{ v: 5 }, ["num"]],
  [{ v: { $eq: 5.5 } }, ["real"]],
  [{ v: "5" }, ["str"]],
  [{ v: true }, ["yes"]],
  [{ v: false }, ["no"]],
  [{ v: null }, ["nil", "none", "bare"]],
  [{ v: { $ne: null } }, without("nil", "none", "bare")],
  [{ v: { $ne: 5 } }, without("num")],
  [{ v: { $ne: "nothing has this" } }, ALL],
  [{ v: { $in: [5, "5", true] } }, ["num", "str", "yes"]],
  [{ v: { $in: [null, 5.5] } }, ["real", "nil", "none", "bare"]],
  [{ v: { $in: [] } }, []],
  [{ v: { $nin: [] } }, ALL],
  [{ v: { $nin: [5, "5"] } }, without("num", "str")],
  [{ v: { $nin: [null] } }, without("nil", "none", "bare")],
  [{ v: { $gt: 5 } }, ["real"]],
  [{ v: { $gte: 5 } }, ["num", "real"]],
  [{ v: { $lt: 5.5 } }, ["num"]],
  [{ v: { $lte: 5.5, $gt: 0 } }, ["num", "real"]],
  [{ v: { $gt: "" } }, ["str", "text"]],
  [{ v: { $lt: "6" } }, ["str"]],
  [{ v: { $not: { $gt: 5 } } }, without("real")],
  [{ v: { $not: { $gte: 5, $lt: 5.5 } } }, without("num")],
  [{ v: { $not: { $eq: null } } }, without("nil", "none", "bare")],
  [{ v: { $exists: true } }, without("none", "bare")],
  [{ v: { $exists: false } }, ["none", "bare"]],
  [{ tag: { $exists: true }, v: { $gt: 5 } }, ["real"]],
  [{ v: { $contains: 5 } }, ["arr"]],
  [{ v: { $contains: "x" } }, ["arr", "text"]],
  [{ v: { $contains: ["x", 5] } }, ["arr"]],
  [{ v: { $all: ["x", 5] } }, ["arr"]],
  [{ v: { $contains: "\u{1F600}" } }, ["text"]],
  [{ v: { $contains: "%" } }, []],
  [{ v: { $contains: true } }, ["arr"]],
  [{ v: { $contains: null } }, ["arr"]],
  [{ v: { $not: { $contains: "x" } } }, without("arr", "text")],
  [{ "v.in.deep": 7 }, ["obj"]],
  [{ "v.in": { $exists: true } }, ["obj"]],
  [{ "v.in.deep.er": null }, ALL],
  [{ "v.length": { $exists: true } }, []],
  [{ "v.0": { $exists: true } }, []],
  [{ "odd key": 1 }, ["text"]],
  [{ constructor: { $exists: true } }, []],
  [{ $and: [] }, ALL],
  [{ $or: [] }, []],
  [{ $nor: [] }, ALL],
  [{ $and: [{ v: { $gte: 5 } }, { tag: "b" }] }, ["real"]],
  [{ $or: [{ v: 5 }, { v: "5" }] }, ["num", "str"]],
  [{ $nor: [{ v: 5 }, { v: { $exists: false } }] }, without("num", "none", "bare")],
  [{ $not: { v: 5 } }, without("num")],
  [{ $not: { $or: [{ v: { $exists: true } }] } }, ["none", "bare"]],
  [{ tag: "a", $or: [{ v: 5 }, { v: 5.5 }] }, ["num"]],
  [{ tag: "x' OR 1=1 --" }, []],
  [{ v: { $in: Array.from({ length: 3_000 }, (_, index) => index) } }, ["num"]],
  [
    { v: { $in: [...Array.from({ length: 2_000 }, (_, index) => `s${index}`), "5", false, null] } },
    ["str", "no", "nil", "none", "bare"],
  ],
  [{ $or: Array.from({ length: 200 }, (_, index) => ({ v: index })) }, ["num"]],
  [{ v: { $contains: "" } }, ["str", "text"]],
  [{ v: { $gte: -1e308, $lte: 1e308 } }, ["num", "real"]],
  [{ v: 5.000000000000001 }, []],
  // What was NaN has become null on its way in, so it is the same as missing.
  [{ not: null }, ALL],
  [{ not: { $exists: true } }, ["real"]],
  [{ not: { $lt: 0 } }, []],
  [{ not: { $gte: 0 } }, []],
  [{ not: { $not: { $gt: 0 } } }, ALL],
  [{ not: { $ne: 1 } }, ALL],
];

/** Names of fields that would mean something in the JSON paths and statements of some database. */
const ODD_KEYS = [
  "a'b",
  "a[0]",
  "[*]",
  "$",
  "a->b",
  "a->>'b'",
  "a#>b",
  "*",
  "a?b",
  "a:b",
  "$1x",
  "%s",
  "ünï",
  "\u{1F600}",
  "'; DROP TABLE docs; --",
  "0",
  "-1",
  "null",
  "document",
  "id",
];

const REFUSED: unknown[] = [
  { v: undefined },
  { v: { $in: 5 } },
  { v: { $in: [undefined] } },
  { v: { $in: [[1]] } },
  { v: { $regex: "x" } },
  { v: { $exists: 1 } },
  { v: { $gt: null } },
  { v: { $gt: true } },
  { v: {} },
  { v: { in: 1 } },
  { v: [1] },
  { v: Number.NaN },
  { v: { $not: 5 } },
  { $where: "1" },
  { $or: {} },
  { $and: [5] },
  { $not: [] },
  { "a..b": 1 },
  { 'a"b': 1 },
  { "a\\b": 1 },
  [],
  "v = 5",
  { v: { $in: Array.from({ length: 20_000 }, (_, index) => index) } },
  { $or: Array.from({ length: 2_000 }, (_, index) => ({ v: index })) },
  nested(10_000),
  { v: 10n },
  { v: Symbol("x") },
];

function nested(depth: number): VectorFilter {
  let filter: VectorFilter = { v: 1 };
  for (let level = 0; level < depth; level++) filter = { $not: filter };
  return filter;
}

const shown = (filter: unknown): string => {
  try {
    return JSON.stringify(filter).slice(0, 200);
  } catch (error) {
    return String(error);
  }
};

/** One grammar of filters, with one meaning. */
export function testVectorFilters(test: VectorTest): void {
  const fill = async (vector: Vector): Promise<void> => {
    await vector.createIndex({ indexName, dimension: 1 });
    for (const [id, metadata] of Object.entries(ENTRIES)) {
      await vector.upsert({
        indexName,
        vectors: [[1]],
        ids: [id],
        ...(metadata && { metadata: [metadata] }),
      });
    }
  };
  const query = async (vector: Vector, filter: VectorFilter): Promise<string[]> => {
    const results = await vector.query({ indexName, queryVector: [1], topK: 100, filter });
    return results.map(({ id }) => id);
  };

  test("lets through exactly what the table says", async (vector) => {
    await fill(vector);
    for (const [filter, expected] of FILTERS) {
      expect((await query(vector, filter)).toSorted(), JSON.stringify(filter)).toEqual(expected.toSorted());
    }
  });

  test("compares dates as they are stored", async (vector) => {
    await vector.createIndex({ indexName, dimension: 1 });
    const days = ["2026-01-01", "2026-06-01"];
    await vector.upsert({
      indexName,
      vectors: days.map(() => [1]),
      ids: days,
      metadata: days.map((day) => ({ at: new Date(day) })),
    });
    expect(await query(vector, { at: { $gt: new Date("2026-03-01") } })).toEqual(["2026-06-01"]);
    expect(await query(vector, { at: new Date("2026-01-01") })).toEqual(["2026-01-01"]);
  });

  test("takes any name of a field for a name", async (vector) => {
    await vector.createIndex({ indexName, dimension: 1 });
    const names = ODD_KEYS.filter((name) => !name.startsWith("$"));
    await vector.upsert({
      indexName,
      vectors: names.map(() => [1]),
      ids: names.map((_, index) => `k${index}`),
      metadata: names.map((name) => ({ [name]: "yes", in: { [name]: 1 } })),
    });
    for (const [index, name] of names.entries()) {
      expect(await query(vector, { [name]: "yes" }), name).toEqual([`k${index}`]);
      expect(await query(vector, { [`in.${name}`]: { $gt: 0 } }), name).toEqual([`k${index}`]);
      expect(await query(vector, { [`in.${name}`]: { $exists: true } }), name).toEqual([`k${index}`]);
    }
    for (const name of ODD_KEYS) {
      if (name.startsWith("$")) await expect(query(vector, { [name]: 1 })).rejects.toThrow(/operator/);
      await query(vector, { tag: { $contains: name } });
    }
    expect(await vector.describeIndex({ indexName })).toMatchObject({ count: names.length });
  });

  test("filters before it takes the nearest", async (vector) => {
    await vector.createIndex({ indexName, dimension: 2 });
    const vectors = Array.from({ length: 50 }, (_, index) => [1, index / 100]);
    await vector.upsert({ indexName, vectors, metadata: vectors.map((_, index) => ({ far: index >= 48 })) });
    const results = await vector.query({ indexName, queryVector: [1, 0], topK: 5, filter: { far: true } });
    expect(results).toHaveLength(2);
  });

  test("refuses filters it does not understand instead of ignoring them", async (vector) => {
    await fill(vector);
    for (const filter of REFUSED) {
      const refused = query(vector, filter as VectorFilter);
      await expect(refused, shown(filter)).rejects.toMatchObject({ code: "invalid-argument" });
      const deletion = vector.deleteVectors({ indexName, filter: filter as VectorFilter });
      await expect(deletion, shown(filter)).rejects.toMatchObject({ code: "invalid-argument" });
    }
    expect(await vector.describeIndex({ indexName })).toMatchObject({ count: ALL.length });
  });
}
