import { testVector } from "@selvedge/testing/suites";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startPglite, type TestServer } from "./__fixtures__/pglite-server.ts";
import { PgVector } from "./pg-vector.ts";

// The statements, on PostgreSQL in WebAssembly. What needs more than one backend is in pg-vector.postgres.test.ts.
describe("PgVector on PGlite", () => {
  let server: TestServer;
  let schemas = 0;

  beforeAll(async () => {
    server = await startPglite();
  });

  afterAll(() => server.stop());

  const create = (options: { schemaName?: string } = {}): PgVector =>
    new PgVector({
      connectionString: server.connectionString,
      schemaName: `t_${schemas++}`,
      poolConfig: { max: 4 },
      ...options,
    });

  const harness = async () => {
    const schemaName = `t_${schemas++}`;
    const vector = create({ schemaName });
    return { vector, reopen: async () => create({ schemaName }), close: () => vector.close() };
  };
  // PGlite is slow. The tests on a real server write more.
  testVector("the contract", harness, { entries: 2_000 });

  it("refuses what it cannot keep, and says what it can", async () => {
    const vector = create();
    const bad = [
      { dimension: 17_000 },
      { dimension: 5_000, indexConfig: { type: "hnsw" as const } },
      { dimension: 2, indexConfig: { type: "btree" as never } },
      { dimension: 2, indexConfig: { hnsw: { m: 1 } } },
      { dimension: 2, indexConfig: { hnsw: { m: 50, efConstruction: 64 } } },
      { dimension: 2, indexConfig: { type: "ivfflat" as const, ivf: { lists: 0 } } },
      { dimension: 2, language: "klingon" },
    ];
    for (const options of bad) {
      await expect(vector.createIndex({ indexName: "docs", ...options })).rejects.toMatchObject({
        code: "invalid-argument",
      });
    }
    await vector.createIndex({ indexName: "docs", dimension: 2 });
    for (const options of [{ ef: 0 }, { ef: 1_001 }, { probes: 0 }, { ef: "1; DROP TABLE x" as never }]) {
      const query = vector.query({ indexName: "docs", queryVector: [1, 0], ...options });
      await expect(query).rejects.toMatchObject({ code: "invalid-argument" });
    }
    await vector.close();
  });

  it("takes only names for a schema", () => {
    for (const schemaName of ["", 'x"; DROP SCHEMA public --', "a b", "x".repeat(80)]) {
      expect(() => create({ schemaName })).toThrow(expect.objectContaining({ code: "invalid-argument" }));
    }
    expect(() => new PgVector({})).toThrow(/connectionString/);
  });

  it("keeps vectors beyond the limits of an index, and indexes those up to 4,000 in half precision", async () => {
    const vector = create();
    for (const dimension of [3_072, 5_000]) {
      const indexName = `d${dimension}`;
      await vector.createIndex({ indexName, dimension });
      const vectors = [0, 1, 2].map((axis) =>
        Array.from({ length: dimension }, (_, index) => (index === axis ? 1 : 0.001)),
      );
      await vector.upsert({ indexName, vectors, ids: ["x", "y", "z"] });
      const [nearest] = await vector.query({
        indexName,
        queryVector: vectors[1]!,
        topK: 1,
        includeVector: true,
      });
      expect(nearest!.id).toBe("y");
      expect(nearest!.score).toBeCloseTo(1, 6);
      expect(nearest!.vector![0]).toBe(Math.fround(0.001));
    }
    await vector.close();
  });

  it("searches by English stems, or by words as they are written when told so", async () => {
    const vector = create();
    await vector.createIndex({ indexName: "stems", dimension: 1 });
    await vector.createIndex({ indexName: "plain", dimension: 1, language: "simple" });
    const ids = async (indexName: string, queryText: string): Promise<string[]> =>
      (await vector.queryText({ indexName, queryText })).map(({ id }) => id);
    for (const indexName of ["stems", "plain"]) {
      await vector.upsert({ indexName, vectors: [[1]], ids: ["a"], documents: ["Looms hold the threads."] });
      expect(await ids(indexName, "threads of a loom")).toEqual(["a"]);
    }
    expect(await ids("stems", "thread")).toEqual(["a"]);
    expect(await ids("plain", "thread")).toEqual([]);
    expect(await ids("stems", "the and of")).toEqual([]);
    expect(await ids("plain", "the and of")).toEqual(["a"]);
    await vector.close();
  });

  it("says plainly that nothing answers", async () => {
    const vector = new PgVector({ connectionString: "postgresql://127.0.0.1:1/none" });
    await expect(vector.listIndexes()).rejects.toMatchObject({
      code: "storage-failed",
      message: expect.stringContaining("nothing is listening"),
    });
    await vector.close();
    await expect(vector.listIndexes()).rejects.toMatchObject({ code: "storage-closed" });
  });
});
