import type { Vector } from "@selvedge/core/vector";
import { expect } from "vitest";
import { axes, indexName, scores, type VectorTest } from "./vector-test.ts";

/** Putting in, changing and taking out. */
export function testVectorChanges(test: VectorTest): void {
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

  test("changes all entries that match a filter, and refuses an empty one", async (vector) => {
    await axes(vector);
    const update = { metadata: { axis: "moved" } };
    for (const options of [{}, { filter: {} }, { id: "x", filter: { axis: "z" } }]) {
      const refused = vector.updateVector({ indexName, ...options, update });
      await expect(refused).rejects.toMatchObject({ code: "invalid-argument" });
    }
    await vector.updateVector({ indexName, filter: { axis: { $in: ["x", "y"] } }, update });
    const moved = await vector.query({ indexName, queryVector: [1, 1, 1], filter: { axis: "moved" } });
    expect(moved.map(({ id }) => id).toSorted()).toEqual(["x", "y"]);
    await vector.updateVector({ indexName, filter: { axis: "nowhere" }, update });
  });

  test("empties an index and keeps it", async (vector) => {
    await axes(vector);
    await vector.truncateIndex({ indexName });
    expect(await vector.describeIndex({ indexName })).toMatchObject({ count: 0, dimension: 3 });
    expect(await vector.query({ indexName, queryVector: [1, 0, 0] })).toEqual([]);
    await expect(vector.truncateIndex({ indexName: "none" })).rejects.toMatchObject({ code: "not-found" });
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
