import type { Vector, VectorFilter, VectorMetric, VectorResult } from "@selvedge/core/vector";
import { describe, expect, it } from "vitest";

export interface VectorHarness {
  vector: Vector;
  /** For stores that outlive their process: the same data, opened anew. The suite closes `vector` first. */
  reopen?: () => Promise<Vector>;
  close(): Promise<void>;
}

type VectorTestBody = (vector: Vector, harness: VectorHarness) => Promise<void>;
type VectorTest = {
  (title: string, body: VectorTestBody): void;
  (title: string, options: { timeout: number }, body: VectorTestBody): void;
};

const indexName = "docs";

/** The vector contract. `create` makes an empty store for each test; `close` gets rid of it. */
export function testVector(name: string, create: () => Promise<VectorHarness>): void {
  const test: VectorTest = (
    title: string,
    ...rest: [VectorTestBody] | [{ timeout: number }, VectorTestBody]
  ) => {
    const body = rest.at(-1) as VectorTestBody;
    it(title, rest.length === 2 ? (rest[0] as { timeout: number }) : {}, async () => {
      const harness = await create();
      try {
        await body(harness.vector, harness);
      } finally {
        await harness.close();
      }
    });
  };
  describe(name, () => {
    describe("indexes", () => testIndexes(test));
    describe("search", () => testSearch(test));
    describe("changes", () => testChanges(test));
    describe("words", () => testText(test));
    describe("filters", () => testFilters(test));
    describe("load", () => testLoad(test));
  });
}

/** Three axes as `x`, `y`, `z`. */
async function axes(vector: Vector, metric: VectorMetric = "cosine"): Promise<void> {
  await vector.createIndex({ indexName, dimension: 3, metric });
  await vector.upsert({
    indexName,
    vectors: [
      [1, 0, 0],
      [0, 2, 0],
      [0, 0, 3],
    ],
    ids: ["x", "y", "z"],
    metadata: [{ axis: "x" }, { axis: "y" }, { axis: "z" }],
    documents: ["the x axis", "the y axis", "the z axis"],
  });
}

const scores = (results: VectorResult[]): [string, number][] =>
  results.map(({ id, score }) => [id, Math.round(score * 1e4) / 1e4]);

function testIndexes(test: VectorTest): void {
  test("creates, lists, describes and deletes indexes under any name", async (vector) => {
    const names = ["docs", "Docs", 'we"ird; DROP TABLE x --', "ünïcode \u{1F600}", "sqlite_master"];
    for (const name of names) await vector.createIndex({ indexName: name, dimension: 2 });
    expect((await vector.listIndexes()).toSorted()).toEqual(names.toSorted());
    await vector.upsert({ indexName: "Docs", vectors: [[1, 2]] });
    expect(await vector.describeIndex({ indexName: "Docs" })).toMatchObject({
      dimension: 2,
      count: 1,
      metric: "cosine",
    });
    expect(await vector.describeIndex({ indexName: "docs" })).toMatchObject({ count: 0 });
    for (const name of names) await vector.deleteIndex({ indexName: name });
    await vector.deleteIndex({ indexName: "docs" });
    expect(await vector.listIndexes()).toEqual([]);
  });

  test("takes an index that is there for done, unless it is another one", async (vector) => {
    await axes(vector);
    await vector.createIndex({ indexName, dimension: 3 });
    expect(await vector.describeIndex({ indexName })).toMatchObject({ count: 3 });
    const others = [{ dimension: 4 }, { dimension: 3, metric: "euclidean" as const }];
    for (const other of others) {
      await expect(vector.createIndex({ indexName, ...other })).rejects.toMatchObject({
        code: "invalid-argument",
      });
    }
  });

  test("is empty after an index was deleted and made again", async (vector) => {
    await axes(vector);
    await vector.deleteIndex({ indexName });
    await vector.createIndex({ indexName, dimension: 2 });
    expect(await vector.query({ indexName, queryVector: [1, 0] })).toEqual([]);
  });

  test("says clearly that an index does not exist", async (vector) => {
    const missing = { code: "not-found", message: expect.stringContaining("docs") };
    await expect(vector.describeIndex({ indexName })).rejects.toMatchObject(missing);
    await expect(vector.upsert({ indexName, vectors: [[1]] })).rejects.toMatchObject(missing);
    await expect(vector.query({ indexName, queryVector: [1] })).rejects.toMatchObject(missing);
    await expect(vector.deleteVector({ indexName, id: "x" })).rejects.toMatchObject(missing);
    const update = { metadata: {} };
    await expect(vector.updateVector({ indexName, id: "x", update })).rejects.toMatchObject(missing);
  });

  test("refuses indexes that make no sense", async (vector) => {
    for (const dimension of [0, -1, 1.5, Number.NaN, 100_000]) {
      await expect(vector.createIndex({ indexName, dimension })).rejects.toMatchObject({
        code: "invalid-argument",
      });
    }
    const metric = "manhattan" as VectorMetric;
    await expect(vector.createIndex({ indexName, dimension: 2, metric })).rejects.toMatchObject({
      code: "invalid-argument",
    });
    await expect(vector.createIndex({ indexName: "", dimension: 2 })).rejects.toMatchObject({
      code: "invalid-argument",
    });
  });
}

function testSearch(test: VectorTest): void {
  const queryVector = [2, 1, 0];

  test("scores by cosine similarity, nearest first", async (vector) => {
    await axes(vector);
    const results = await vector.query({ indexName, queryVector });
    expect(scores(results)).toEqual([
      ["x", 0.8944],
      ["y", 0.4472],
      ["z", 0],
    ]);
    expect(results[0]).toEqual({
      id: "x",
      score: expect.any(Number),
      metadata: { axis: "x" },
      document: "the x axis",
    });
    const opposite = await vector.query({ indexName, queryVector: [-5, 0, 0] });
    expect(scores(opposite).at(-1)).toEqual(["x", -1]);
  });

  test("scores by euclidean distance, nearest first", async (vector) => {
    await axes(vector, "euclidean");
    expect(scores(await vector.query({ indexName, queryVector: [0, 2, 0] }))).toEqual([
      ["y", 1],
      ["x", 0.309],
      ["z", 0.2171],
    ]);
  });

  test("scores by dot product, highest first", async (vector) => {
    await axes(vector, "dotproduct");
    expect(scores(await vector.query({ indexName, queryVector: [2, 1.5, -1] }))).toEqual([
      ["y", 3],
      ["x", 2],
      ["z", -3],
    ]);
  });

  test("limits to topK and to a minimal score", async (vector) => {
    await axes(vector);
    expect(scores(await vector.query({ indexName, queryVector, topK: 1 }))).toEqual([["x", 0.8944]]);
    expect(await vector.query({ indexName, queryVector, topK: 0 })).toEqual([]);
    expect(await vector.query({ indexName, queryVector, minScore: 0.4 })).toHaveLength(2);
    expect(await vector.query({ indexName, queryVector, minScore: 0.99 })).toEqual([]);
    await vector.upsert({ indexName, vectors: Array.from({ length: 20 }, () => [1, 1, 1]) });
    expect(await vector.query({ indexName, queryVector })).toHaveLength(10);
  });

  test("refuses bounds that make no sense", async (vector) => {
    await axes(vector);
    const bad = [
      { topK: -1 },
      { topK: 1.5 },
      { topK: Number.NaN },
      { topK: 1_000_000 },
      { topK: "5" as unknown as number },
      { minScore: Number.NaN },
      { minScore: "0.5" as unknown as number },
    ];
    for (const options of bad) {
      const refused = vector.query({ indexName, queryVector: [1, 0, 0], ...options });
      await expect(refused, JSON.stringify(options)).rejects.toMatchObject({ code: "invalid-argument" });
    }
    const all = await vector.query({ indexName, queryVector: [1, 0, 0], topK: 10_000, minScore: -Infinity });
    expect(all).toHaveLength(3);
  });

  test("orders what is equally near by id, so that answers do not change", async (vector) => {
    await vector.createIndex({ indexName, dimension: 2 });
    await vector.upsert({ indexName, vectors: ["c", "a", "b"].map(() => [1, 1]), ids: ["c", "a", "b"] });
    const results = await vector.query({ indexName, queryVector: [1, 1], topK: 2 });
    expect(results.map(({ id }) => id)).toEqual(["a", "b"]);
    expect(results[0]!.score).toBeLessThanOrEqual(1);
  });

  test("takes a vector without direction for near to nothing", async (vector) => {
    await axes(vector);
    await vector.upsert({ indexName, vectors: [[0, 0, 0]], ids: ["zero"] });
    expect(scores(await vector.query({ indexName, queryVector: [1, 0, 0], minScore: 0.5 }))).toEqual([
      ["x", 1],
    ]);
    const all = scores(await vector.query({ indexName, queryVector: [0, 0, 0] }));
    expect(all).toEqual([
      ["x", 0],
      ["y", 0],
      ["z", 0],
      ["zero", 0],
    ]);
  });

  test("gives vectors back when asked", async (vector) => {
    await axes(vector);
    const [nearest] = await vector.query({ indexName, queryVector: [0, 1, 0], topK: 1, includeVector: true });
    expect(nearest!.vector).toEqual([0, 2, 0]);
  });

  test("says which dimension it wanted and which it got", async (vector) => {
    await axes(vector);
    const refused = { code: "invalid-argument", message: expect.stringMatching(/3 numbers.*2 numbers/) };
    await expect(vector.query({ indexName, queryVector: [1, 0] })).rejects.toMatchObject(refused);
    const upsert = vector.upsert({
      indexName,
      vectors: [
        [1, 1, 1],
        [1, 0],
      ],
      ids: ["new", "bad"],
    });
    await expect(upsert).rejects.toMatchObject(refused);
    const update = vector.updateVector({ indexName, id: "x", update: { vector: [1, 0] } });
    await expect(update).rejects.toMatchObject(refused);
    expect(await vector.describeIndex({ indexName })).toMatchObject({ count: 3 });
  });

  test("finds among thousands what a plain computation finds", async (vector) => {
    const dimension = 16;
    let seed = 1;
    const next = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647 - 0.5;
    const vectors = Array.from({ length: 2_000 }, () => Array.from({ length: dimension }, next));
    const target = Array.from({ length: dimension }, next);
    await vector.createIndex({ indexName, dimension });
    await vector.upsert({ indexName, vectors, ids: vectors.map((_, index) => `v${index}`) });
    const dot = (a: number[], b: number[]): number =>
      a.reduce((sum, value, index) => sum + value * b[index]!, 0);
    const cosine = (a: number[]): number => dot(a, target) / Math.sqrt(dot(a, a) * dot(target, target));
    const expected = vectors
      .map((item, index) => ({ id: `v${index}`, score: cosine(item) }))
      .toSorted((a, b) => b.score - a.score)
      .slice(0, 5);
    const found = await vector.query({ indexName, queryVector: target, topK: 5 });
    expect(scores(found)).toEqual(scores(expected));
  });
}

function testChanges(test: VectorTest): void {
  test("makes ids where none are given and answers them in order", async (vector) => {
    await vector.createIndex({ indexName, dimension: 2 });
    const ids = await vector.upsert({
      indexName,
      vectors: [
        [1, 0],
        [0, 1],
      ],
    });
    expect(new Set(ids).size).toBe(2);
    const [nearest] = await vector.query({ indexName, queryVector: [0, 1], topK: 1 });
    expect(nearest).toEqual({ id: ids[1], score: expect.any(Number) });
  });

  test("replaces whole entries of the same id", async (vector) => {
    await axes(vector);
    await vector.upsert({ indexName, vectors: [[0, 0, 1]], ids: ["x"], metadata: [{ now: "z" }] });
    const [first] = await vector.query({ indexName, queryVector: [0, 0, 1], topK: 1 });
    expect(first).toEqual({ id: "x", score: expect.closeTo(1), metadata: { now: "z" } });
    expect(await vector.describeIndex({ indexName })).toMatchObject({ count: 3 });
  });

  test("keeps the last of two entries with one id", async (vector) => {
    await vector.createIndex({ indexName, dimension: 2 });
    const ids = await vector.upsert({
      indexName,
      vectors: [
        [1, 0],
        [0, 1],
      ],
      ids: ["a", "a"],
      metadata: [{ n: 1 }, { n: 2 }],
    });
    expect(ids).toEqual(["a", "a"]);
    const results = await vector.query({ indexName, queryVector: [0, 1] });
    expect(results).toEqual([{ id: "a", score: expect.closeTo(1), metadata: { n: 2 } }]);
  });

  test("keeps any text, but for NUL and halves of characters", async (vector) => {
    await vector.createIndex({ indexName, dimension: 1 });
    const odd = "'\"\\;--{}[]$1 ? %\t\n\u{1F600}\u200D\uFFFF";
    await vector.upsert({
      indexName,
      vectors: [[1]],
      ids: [odd.replaceAll(/\p{Cc}/gu, "")],
      metadata: [{ odd, nul: "a\0b", half: "\uD800", nan: Number.NaN, day: new Date(0) }],
      documents: [`${odd}\0`],
    });
    const [found] = await vector.query({ indexName, queryVector: [1] });
    expect(found).toMatchObject({
      id: odd.replaceAll(/\p{Cc}/gu, ""),
      metadata: { odd, nul: "a\uFFFDb", half: "\uFFFD", nan: null, day: "1970-01-01T00:00:00.000Z" },
      document: `${odd}\uFFFD`,
    });
  });

  test("refuses metadata and documents without bounds", async (vector) => {
    await vector.createIndex({ indexName, dimension: 1 });
    const big = "x".repeat(1_100_000);
    const limit = { code: "limit-exceeded" };
    await expect(vector.upsert({ indexName, vectors: [[1]], metadata: [{ big }] })).rejects.toMatchObject(
      limit,
    );
    await expect(
      vector.upsert({ indexName, vectors: [[1]], documents: [big.repeat(8)] }),
    ).rejects.toMatchObject(limit);
    expect(await vector.describeIndex({ indexName })).toMatchObject({ count: 0 });
  });

  test("stores all of an upsert or nothing", async (vector) => {
    await axes(vector);
    const bad: Parameters<Vector["upsert"]>[0][] = [
      {
        indexName,
        vectors: [
          [1, 1, 1],
          [1, Number.NaN, 1],
        ],
      },
      {
        indexName,
        vectors: [
          [1, 1, 1],
          [1, 1e300, 1],
        ],
      },
      {
        indexName,
        vectors: [
          [1, 1, 1],
          [1, 1, 1],
        ],
        ids: ["a"],
      },
      {
        indexName,
        vectors: [
          [1, 1, 1],
          [1, 1, 1],
        ],
        ids: ["a", ""],
      },
      { indexName, vectors: [[1, 1, 1]], metadata: [] },
      { indexName, vectors: [[1, 1, 1]], metadata: [JSON.parse('{"__proto__": 1}')] },
      { indexName, vectors: [[1, 1, 1]], documents: ["a", "b"] },
    ];
    for (const options of bad) {
      await expect(vector.upsert(options)).rejects.toMatchObject({ code: "invalid-argument" });
    }
    expect(await vector.describeIndex({ indexName })).toMatchObject({ count: 3 });
    expect(await vector.upsert({ indexName, vectors: [] })).toEqual([]);
  });

  test("updates a vector or its metadata and leaves the rest", async (vector) => {
    await axes(vector);
    await vector.updateVector({ indexName, id: "x", update: { vector: [0, 0, -1] } });
    await vector.updateVector({ indexName, id: "y", update: { metadata: { changed: true } } });
    const results = await vector.query({ indexName, queryVector: [0, 0, -1], includeVector: true });
    expect(results[0]).toMatchObject({ id: "x", metadata: { axis: "x" }, document: "the x axis" });
    expect(results.find(({ id }) => id === "y")).toMatchObject({
      metadata: { changed: true },
      vector: [0, 2, 0],
    });
    const nobody = vector.updateVector({ indexName, id: "none", update: { metadata: {} } });
    await expect(nobody).rejects.toMatchObject({ code: "not-found" });
    const nothing = vector.updateVector({ indexName, id: "x", update: {} });
    await expect(nothing).rejects.toMatchObject({ code: "invalid-argument" });
  });

  test("deletes by id, by ids and by filter, and never everything by accident", async (vector) => {
    await axes(vector);
    await vector.deleteVector({ indexName, id: "x" });
    await vector.deleteVector({ indexName, id: "x" });
    await vector.deleteVectors({ indexName, filter: { axis: "y" } });
    const left = await vector.query({ indexName, queryVector: [1, 1, 1] });
    expect(left.map(({ id }) => id)).toEqual(["z"]);
    for (const options of [{}, { filter: {} }, { ids: ["z"], filter: { axis: "z" } }]) {
      const refused = vector.deleteVectors({ indexName, ...options });
      await expect(refused).rejects.toMatchObject({ code: "invalid-argument" });
    }
    await vector.deleteVectors({ indexName, ids: [] });
    await vector.deleteVectors({ indexName, ids: ["z", "none"] });
    expect(await vector.describeIndex({ indexName })).toMatchObject({ count: 0 });
  });

  test("hands out copies", async (vector) => {
    const metadata = { list: [1] };
    await vector.createIndex({ indexName, dimension: 1 });
    await vector.upsert({ indexName, vectors: [[1]], metadata: [metadata] });
    metadata.list.push(2);
    const [first] = await vector.query({ indexName, queryVector: [1] });
    (first!.metadata!.list as number[]).push(3);
    const [second] = await vector.query({ indexName, queryVector: [1] });
    expect(second!.metadata).toEqual({ list: [1] });
  });

  test("keeps what it has when it is opened again, where it outlives its process", async (vector, harness) => {
    if (!harness.reopen) return;
    await axes(vector);
    await vector.close?.();
    const reopened = await harness.reopen();
    expect(scores(await reopened.query({ indexName, queryVector: [0, 1, 0], topK: 1 }))).toEqual([["y", 1]]);
    await reopened.close?.();
  });
}

const TEXTS: Record<string, string> = {
  loom: "A loom holds the warp under tension.",
  warp: "The warp, the warp and once more the warp.",
  weft: "The weft passes over and under.",
  café: "Un café près du métier à tisser.",
  many: `${"The long and the short of it. ".repeat(30)} A loom.`,
};

/** Stores without full-text search pass by not having it. */
function testText(outer: VectorTest): void {
  const test = (title: string, body: VectorTestBody): void =>
    outer(title, async (vector, harness) => {
      if (!vector.queryText) return;
      await vector.createIndex({ indexName, dimension: 2 });
      await vector.upsert({
        indexName,
        vectors: Object.keys(TEXTS).map(() => [1, 0]),
        ids: Object.keys(TEXTS),
        documents: Object.values(TEXTS),
        metadata: Object.keys(TEXTS).map((id) => ({ id, long: id === "many" })),
      });
      await body(vector, harness);
    });
  const ids = async (vector: Vector, queryText: string, filter?: VectorFilter): Promise<string[]> => {
    const results = await vector.queryText!({ indexName, queryText, ...(filter && { filter }) });
    expect(results.every(({ score }) => score > 0)).toBe(true);
    expect(results.map(({ score }) => score)).toEqual(
      results.map(({ score }) => score).toSorted((a, b) => b - a),
    );
    return results.map(({ id }) => id);
  };

  test("finds entries that hold any of the words", async (vector) => {
    expect((await ids(vector, "loom weft")).toSorted()).toEqual(["loom", "many", "weft"]);
    expect(await ids(vector, "nothing has zzz")).toEqual([]);
  });

  test("puts first what speaks of the words more", async (vector) => {
    expect(await ids(vector, "warp")).toEqual(["warp", "loom"]);
    expect(await ids(vector, "loom")).toEqual(["loom", "many"]);
  });

  test("overlooks case and accents", async (vector) => {
    expect(await ids(vector, "CAFE")).toEqual(["café"]);
    expect(await ids(vector, "Café")).toEqual(["café"]);
  });

  test("takes a question for words, whatever signs are in it", async (vector) => {
    const signs = [
      '"loom',
      "loom*",
      "loom AND",
      "-loom",
      "document:loom",
      "(loom",
      "loom')--",
      "loom & !",
      "lo\0",
    ];
    for (const queryText of signs) await ids(vector, queryText);
    expect(await ids(vector, 'What is a "loom"?', { long: false })).toContain("loom");
    for (const queryText of ["", "   ", '"', "?!", "\0"]) expect(await ids(vector, queryText)).toEqual([]);
  });

  test("filters before it takes the best, and gives what was asked for", async (vector) => {
    expect(await ids(vector, "loom", { long: true })).toEqual(["many"]);
    const [first, ...rest] = await vector.queryText!({
      indexName,
      queryText: "loom",
      topK: 1,
      includeVector: true,
    });
    expect(rest).toEqual([]);
    expect(first).toMatchObject({
      id: "loom",
      document: TEXTS.loom,
      metadata: { id: "loom" },
      vector: [1, 0],
    });
    const refused = vector.queryText!({ indexName, queryText: "loom", filter: { id: { $regex: "x" } } });
    await expect(refused).rejects.toMatchObject({ code: "invalid-argument" });
    const missing = vector.queryText!({ indexName: "none", queryText: "loom" });
    await expect(missing).rejects.toMatchObject({ code: "not-found" });
  });

  test("reads metadata.text where there is no document", async (vector) => {
    await vector.upsert({
      indexName,
      vectors: [[1, 0]],
      ids: ["meta"],
      metadata: [{ text: "a shuttle of boxwood" }],
    });
    expect(await ids(vector, "boxwood")).toEqual(["meta"]);
    await vector.updateVector({
      indexName,
      id: "meta",
      update: { metadata: { text: "a shuttle of beech" } },
    });
    expect(await ids(vector, "boxwood")).toEqual([]);
    expect(await ids(vector, "beech")).toEqual(["meta"]);
  });

  test("sees changes at once", async (vector) => {
    expect(await ids(vector, "heddle")).toEqual([]);
    await vector.upsert({ indexName, vectors: [[1, 0]], ids: ["weft"], documents: ["a heddle"] });
    expect(await ids(vector, "heddle")).toEqual(["weft"]);
    expect(await ids(vector, "passes")).toEqual([]);
    await vector.deleteVector({ indexName, id: "weft" });
    await vector.deleteVectors({ indexName, filter: { id: "café" } });
    expect(await ids(vector, "heddle café")).toEqual([]);
    await vector.deleteIndex({ indexName });
    await vector.createIndex({ indexName, dimension: 2 });
    expect(await ids(vector, "loom warp")).toEqual([]);
  });

  test("tells by its revision that an index changed, where it can tell", async (vector) => {
    const revision = async (): Promise<string | undefined> =>
      (await vector.describeIndex({ indexName })).revision;
    const before = await revision();
    if (before === undefined) return;
    expect(await revision()).toBe(before);
    await vector.updateVector({ indexName, id: "loom", update: { vector: [0, 1] } });
    const updated = await revision();
    await vector.deleteVector({ indexName, id: "loom" });
    const deleted = await revision();
    await vector.deleteIndex({ indexName });
    await vector.createIndex({ indexName, dimension: 2 });
    expect(new Set([before, updated, deleted, await revision()]).size).toBe(4);
  });
}

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

function testFilters(test: VectorTest): void {
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

function testLoad(test: VectorTest): void {
  test("keeps entries whole when many write at once", async (vector) => {
    await vector.createIndex({ indexName, dimension: 2 });
    const ids = Array.from({ length: 20 }, (_, index) => `id${index}`);
    const writers = Array.from({ length: 12 }, (_, writer) =>
      vector.upsert({
        indexName,
        // Half of the writers go through the ids the other way round.
        ids: writer % 2 === 0 ? ids : ids.toReversed(),
        vectors: ids.map(() => [1, writer]),
        metadata: ids.map(() => ({ writer })),
        documents: ids.map(() => `by ${writer}`),
      }),
    );
    await Promise.all(writers);
    const results = await vector.query({ indexName, queryVector: [1, 1], topK: 100, includeVector: true });
    expect(results).toHaveLength(20);
    for (const { vector: stored, metadata, document } of results) {
      expect(stored).toEqual([1, metadata!["writer"]]);
      expect(document).toBe(`by ${String(metadata!["writer"])}`);
    }
    await Promise.all([
      ...ids.map((id) => vector.deleteVector({ indexName, id })),
      vector.deleteVectors({ indexName, filter: { writer: { $gte: 0 } } }),
      vector.upsert({ indexName, ids: ["late"], vectors: [[1, 1]] }),
    ]);
    expect(await vector.describeIndex({ indexName })).toMatchObject({ count: 1 });
  });

  test(
    "finds the nearest of ten thousand, and those that a filter leaves",
    { timeout: 120_000 },
    async (vector) => {
      const random = seeded(7);
      const dimension = 24;
      const vectors = Array.from({ length: 10_000 }, () => Array.from({ length: dimension }, random));
      await vector.createIndex({ indexName, dimension });
      for (let start = 0; start < vectors.length; start += 2_500) {
        const part = vectors.slice(start, start + 2_500);
        await vector.upsert({
          indexName,
          vectors: part,
          ids: part.map((_, index) => `v${start + index}`),
          metadata: part.map((_, index) => ({ part: (start + index) % 100 })),
        });
      }
      expect(await vector.describeIndex({ indexName })).toMatchObject({ count: 10_000 });
      const found = { all: 0, rare: 0 };
      for (let round = 0; round < 20; round++) {
        const queryVector = Array.from({ length: dimension }, random);
        const nearest = nearestOf(vectors, queryVector);
        const near = await vector.query({ indexName, queryVector, topK: 10 });
        found.all += overlap(near, nearest.slice(0, 10));
        const rare = await vector.query({ indexName, queryVector, topK: 10, filter: { part: round } });
        expect(rare).toHaveLength(10);
        expect(rare.every(({ metadata }) => metadata!["part"] === round)).toBe(true);
        found.rare += overlap(rare, nearest.filter((index) => index % 100 === round).slice(0, 10));
      }
      // Exact stores find all; an approximate index may miss a little.
      expect(found.all).toBeGreaterThanOrEqual(190);
      expect(found.rare).toBeGreaterThanOrEqual(190);
      expect(await vector.query({ indexName, queryVector: vectors[0]!, topK: 1_500 })).toHaveLength(1_500);
    },
  );
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647 - 0.5;
}

function nearestOf(vectors: number[][], target: number[]): number[] {
  const scores = vectors.map((vector) => {
    let dot = 0;
    let norm = 0;
    for (const [index, value] of vector.entries()) {
      dot += value * target[index]!;
      norm += value * value;
    }
    return dot / Math.sqrt(norm);
  });
  return scores.map((_, index) => index).toSorted((a, b) => scores[b]! - scores[a]!);
}

function overlap(results: VectorResult[], expected: number[]): number {
  const ids = new Set(expected.map((index) => `v${index}`));
  return results.filter(({ id }) => ids.has(id)).length;
}
