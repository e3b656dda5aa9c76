import type { VectorMetric } from "@selvedge/core/vector";
import { expect } from "vitest";
import { axes, indexName, type VectorTest } from "./vector-test.ts";

/** Making, naming and removing indexes. */
export function testVectorIndexes(test: VectorTest): void {
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
