import { expect } from "vitest";
import { axes, indexName, scores, type VectorTest } from "./vector-test.ts";

/** What a search finds, in which order, with which scores. */
export function testVectorSearch(test: VectorTest): void {
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
