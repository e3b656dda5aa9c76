// @module-tag long

import { testVector } from "@selvedge/testing/suites";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "./__fixtures__/pglite-server.ts";
import { findPostgres, startPostgres } from "./__fixtures__/postgres-server.ts";
import { PgVector } from "./pg-vector.ts";

const found = findPostgres();
if ("missing" in found) console.warn(`skipped: PgVector on a real server: ${found.missing}`);

describe.skipIf("missing" in found)("PgVector on PostgreSQL", () => {
  let server: TestServer;
  let schemas = 0;
  const indexName = "docs";

  beforeAll(async () => {
    if ("bin" in found) server = await startPostgres(found.bin);
  });

  afterAll(() => server?.stop());

  const create = (schemaName = `t_${schemas++}`): PgVector =>
    new PgVector({ connectionString: server.connectionString, schemaName });

  testVector("the contract", async () => {
    const schemaName = `t_${schemas++}`;
    const vector = create(schemaName);
    return { vector, reopen: async () => create(schemaName), close: () => vector.close() };
  });

  /** 6,000 vectors around 60 centres. */
  const clusters = (): { vectors: number[][]; ids: string[] } => {
    let seed = 3;
    const random = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647 - 0.5;
    const centres = Array.from({ length: 60 }, () => Array.from({ length: 32 }, random));
    const vectors = Array.from({ length: 6_000 }, (_, index) =>
      centres[index % 60]!.map((value) => value + random() / 4),
    );
    return { vectors, ids: vectors.map((_, index) => `v${index}`) };
  };

  const plan = async (schema: string, statement: string): Promise<string> => {
    const client = new pg.Client({ connectionString: server.connectionString });
    await client.connect();
    const { rows } = await client.query<{ "QUERY PLAN": string }>(
      `EXPLAIN ${statement.replaceAll("$TABLE", `"${schema}".selvedge_vectors_1`)}`,
    );
    await client.end();
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  };

  const recall = async (
    vector: PgVector,
    exact: string[][],
    vectors: number[][],
    options: { ef?: number; probes?: number },
  ): Promise<number> => {
    let hits = 0;
    for (const [index, expected] of exact.entries()) {
      const results = await vector.query({
        indexName,
        queryVector: vectors[index * 7]!,
        topK: 10,
        ...options,
      });
      hits += results.filter(({ id }) => expected.includes(id)).length;
    }
    return hits / (10 * exact.length);
  };

  it("honours ef and probes, and can be built, rebuilt and left flat", async () => {
    const schema = `t_${schemas++}`;
    const vector = create(schema);
    const { vectors, ids } = clusters();
    await vector.createIndex({ indexName, dimension: 32, buildIndex: false });
    await vector.upsert({ indexName, vectors, ids });
    const exact: string[][] = [];
    for (let index = 0; index < 30; index++) {
      const results = await vector.query({ indexName, queryVector: vectors[index * 7]!, topK: 10 });
      exact.push(results.map(({ id }) => id));
    }
    const order = "SELECT id FROM $TABLE ORDER BY vector <=> (SELECT vector FROM $TABLE LIMIT 1) LIMIT 10";
    expect(await plan(schema, order)).not.toContain("_near");

    // How good a graph gets is chance, as the levels of its entries are drawn: a bad one is built again.
    let usual = 0;
    let narrow = 1;
    let wide = 0;
    for (let build = 0; build < 10 && !(usual > 0.85 && wide > Math.max(0.95, narrow)); build++) {
      await vector.buildIndex({
        indexName,
        indexConfig: { type: "hnsw", hnsw: { m: 8, efConstruction: 32 + build } },
      });
      expect(await plan(schema, order)).toContain("_near");
      usual = await recall(vector, exact, vectors, {});
      // The breadth of the search shows in what it finds.
      narrow = await recall(vector, exact, vectors, { ef: 1 });
      wide = await recall(vector, exact, vectors, { ef: 400 });
    }
    expect({ usual, narrow, wide }).toSatisfy(
      (found: { usual: number; narrow: number; wide: number }) =>
        found.usual > 0.85 && found.wide > Math.max(0.95, found.narrow),
    );

    await vector.buildIndex({ indexName, indexConfig: { type: "ivfflat", ivf: { lists: 60 } } });
    const one = await recall(vector, exact, vectors, { probes: 1 });
    const all = await recall(vector, exact, vectors, { probes: 60 });
    expect(all).toBe(1);
    expect(one).toBeLessThanOrEqual(all);
    expect(await recall(vector, exact, vectors, {})).toBeGreaterThan(0.8);

    await vector.buildIndex({ indexName, indexConfig: { type: "flat" } });
    expect(await recall(vector, exact, vectors, {})).toBe(1);
    await vector.close();
  });

  it("answers in full through an index when a filter leaves little", async () => {
    const vector = create();
    const { vectors, ids } = clusters();
    await vector.createIndex({ indexName, dimension: 32 });
    await vector.upsert({
      indexName,
      vectors,
      ids,
      metadata: ids.map((_, index) => ({ rare: index % 1_000 === 0 })),
    });
    const results = await vector.query({
      indexName,
      queryVector: vectors[5]!,
      topK: 6,
      filter: { rare: true },
    });
    expect(new Set(results.map(({ id }) => id))).toEqual(
      new Set(["v0", "v1000", "v2000", "v3000", "v4000", "v5000"]),
    );
    await vector.close();
  });

  it("survives many processes that write, search, build and delete at once", async () => {
    const schema = `t_${schemas++}`;
    const stores = Array.from({ length: 6 }, () => create(schema));
    // All at once make the schema, the registry and the index.
    await Promise.all(stores.map((vector) => vector.createIndex({ indexName, dimension: 4 })));
    const ids = Array.from({ length: 40 }, (_, index) => `id${index}`);
    await Promise.all(
      stores.map(async (vector, writer) => {
        for (let round = 0; round < 8; round++) {
          await vector.upsert({
            indexName,
            ids: writer % 2 ? ids : ids.toReversed(),
            vectors: ids.map(() => [1, writer, round, 1]),
            metadata: ids.map(() => ({ writer, round })),
          });
          if (writer === 1) await vector.buildIndex({ indexName });
          if (writer === 2) await vector.deleteVectors({ indexName, filter: { round: 99 } });
          const results = await vector.query({
            indexName,
            queryVector: [1, 1, 1, 1],
            topK: 40,
            includeVector: true,
          });
          expect(results).toHaveLength(40);
          for (const { vector: stored, metadata } of results) {
            expect(stored).toEqual([1, metadata!["writer"], metadata!["round"], 1]);
          }
        }
      }),
    );
    const { revision, count } = await stores[0]!.describeIndex({ indexName });
    expect({ revision, count }).toEqual({ revision: "1.48", count: 40 });
    // An index that another process makes anew is found again.
    await stores[1]!.deleteIndex({ indexName });
    await expect(stores[0]!.query({ indexName, queryVector: [1, 1, 1, 1] })).rejects.toMatchObject({
      code: "not-found",
    });
    await stores[1]!.createIndex({ indexName, dimension: 2 });
    expect(await stores[2]!.query({ indexName, queryVector: [1, 1] })).toEqual([]);
    await Promise.all(stores.map((vector) => vector.close()));
  });

  it("loses nothing that was answered when its connections are cut", async () => {
    const vector = create();
    await vector.createIndex({ indexName, dimension: 2 });
    const client = new pg.Client({ connectionString: server.connectionString });
    await client.connect();
    const written: string[] = [];
    const failed: unknown[] = [];
    for (let round = 0; round < 30; round++) {
      const upsert = vector.upsert({ indexName, vectors: [[1, round]], ids: [`r${round}`] }).then(
        ([id]) => written.push(id!),
        (error: unknown) => failed.push(error),
      );
      if (round % 5 === 0) {
        await client.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'postgres'",
        );
      }
      await upsert;
    }
    await client.end();
    for (const error of failed) expect(error).toMatchObject({ code: "storage-failed" });
    const results = await vector.query({ indexName, queryVector: [1, 1], topK: 100 });
    expect(written.length).toBeGreaterThan(10);
    expect(results.map(({ id }) => id)).toEqual(expect.arrayContaining(written));
    await vector.close();
  });
});
