import type { VectorResult } from "@selvedge/core/vector";
import { expect } from "vitest";
import { indexName, type VectorTest } from "./vector-test.ts";

/** Many entries, and many calls at once. */
export function testVectorLoad(test: VectorTest, entries: number): void {
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
    `finds the nearest of ${entries.toLocaleString("en")}, and those that a filter leaves`,
    { timeout: 120_000 },
    async (vector) => {
      const random = seeded(7);
      const dimension = 24;
      const vectors = Array.from({ length: entries }, () => Array.from({ length: dimension }, random));
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
      expect(await vector.describeIndex({ indexName })).toMatchObject({ count: entries });
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
