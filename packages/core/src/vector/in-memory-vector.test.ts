import fc from "fast-check";
import { testVector } from "@selvedge/testing/suites";
import { describe, expect, it } from "vitest";
import { InMemoryVector } from "./in-memory-vector.ts";

testVector("InMemoryVector", async () => {
  const vector = new InMemoryVector();
  return { vector, close: () => vector.close() };
});

describe("InMemoryVector, after any changes", () => {
  it("holds what was put last under each id and nothing that was taken out", async () => {
    const id = fc.integer({ min: 0, max: 40 }).map(String);
    const change = fc.oneof(
      fc.record({ put: id, value: fc.integer({ min: 1, max: 1_000 }) }),
      fc.record({ remove: id }),
      fc.record({ above: fc.integer({ min: 0, max: 1_000 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 120 }), async (changes) => {
        const vector = new InMemoryVector();
        const indexName = "all";
        await vector.createIndex({ indexName, dimension: 2, metric: "dotproduct" });
        const model = new Map<string, number>();
        for (const step of changes) {
          if ("put" in step) {
            model.set(step.put, step.value);
            await vector.upsert({
              indexName,
              ids: [step.put],
              vectors: [[step.value, 1]],
              metadata: [{ value: step.value }],
            });
          } else if ("remove" in step) {
            model.delete(step.remove);
            await vector.deleteVector({ indexName, id: step.remove });
          } else {
            for (const [key, value] of model) if (value > step.above) model.delete(key);
            await vector.deleteVectors({ indexName, filter: { value: { $gt: step.above } } });
          }
        }
        const found = await vector.query({ indexName, queryVector: [1, 0], topK: 100, includeVector: true });
        expect(new Map(found.map((result) => [result.id, result.score]))).toEqual(model);
        for (const { score, vector: stored, metadata } of found) {
          expect(stored).toEqual([score, 1]);
          expect(metadata).toEqual({ value: score });
        }
        const even = { indexName, queryVector: [1, 0], topK: 5, filter: { value: { $lte: 500 } } };
        const lows = [...model.values()].filter((value) => value <= 500).sort((a, b) => b - a);
        expect((await vector.query(even)).map(({ score }) => score)).toEqual(lows.slice(0, 5));
      }),
    );
  });
});
