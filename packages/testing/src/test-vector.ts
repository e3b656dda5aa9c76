import { describe, it } from "vitest";
import { testVectorChanges } from "./test-vector-changes.ts";
import { testVectorFilters } from "./test-vector-filters.ts";
import { testVectorIndexes } from "./test-vector-indexes.ts";
import { testVectorLoad } from "./test-vector-load.ts";
import { testVectorSearch } from "./test-vector-search.ts";
import { testVectorWords } from "./test-vector-words.ts";
import type { VectorHarness, VectorTest, VectorTestBody } from "./vector-test.ts";

/**
 * The vector contract. `create` makes an empty store for each test; `close` gets rid of it. `entries` is how many the largest
 * test writes: at least 2,000, and 10,000 unless the store is slow.
 */
export function testVector(
  name: string,
  create: () => Promise<VectorHarness>,
  { entries = 10_000 }: { entries?: number } = {},
): void {
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
    describe("indexes", () => testVectorIndexes(test));
    describe("search", () => testVectorSearch(test));
    describe("changes", () => testVectorChanges(test));
    describe("words", () => testVectorWords(test));
    describe("filters", () => testVectorFilters(test));
    describe("load", () => testVectorLoad(test, entries));
  });
}
