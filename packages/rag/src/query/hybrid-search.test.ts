import { expect, it } from "vitest";
import { library, wordEmbedder } from "../__fixtures__/library.ts";
import { hybridSearch, type HybridSearchOptions } from "./hybrid-search.ts";

async function search(options: Partial<HybridSearchOptions>): Promise<[string, number][]> {
  const results = await hybridSearch({
    vectorStore: await library(),
    indexName: "docs",
    queryText: "",
    model: wordEmbedder,
    ...options,
  });
  expect(results.every(({ score }) => score >= 0 && score <= 1)).toBe(true);
  return results.map(({ id, score }) => [id, score]);
}

it("finds by words what the vectors do not know, and by vectors what the words do not say", async () => {
  const [first] = await search({ queryText: "what crosses it" });
  expect(first![0]).toBe("b");
  const near = await search({ queryText: "zzz", queryVector: [1, 1, 0, 0, 0, 0] });
  expect(near[0]![0]).toBe("a");
});

it("is one side alone with all the weight on it", async () => {
  const vectorStore = await library();
  const queryText = "yeast in the warp";
  const queryVector = (await wordEmbedder.embed([queryText]))[0]!;
  const near = await vectorStore.query({ indexName: "docs", queryVector });
  const worded = await vectorStore.queryText!({ indexName: "docs", queryText });
  const byVector = await search({ queryText, weights: { vector: 1, text: 0 } });
  const byText = await search({ queryText, weights: { vector: 0, text: 1 } });
  expect(byVector.map(([id]) => id)).toEqual(near.map(({ id }) => id));
  expect(byText.slice(0, worded.length).map(([id]) => id)).toEqual(worded.map(({ id }) => id));
});

it("filters both sides, and gives vectors only when asked", async () => {
  const filter = { topic: "baking" };
  expect((await search({ queryText: "loom salt", filter })).map(([id]) => id).toSorted()).toEqual(["c", "d"]);
  const options = { vectorStore: await library(), indexName: "docs", queryText: "salt", model: wordEmbedder };
  expect((await hybridSearch(options))[0]).not.toHaveProperty("vector");
  expect((await hybridSearch({ ...options, includeVector: true }))[0]!.vector).toHaveLength(6);
});

it("refuses weights that are not shares, and a query without a vector", async () => {
  for (const weights of [
    { vector: 1, text: 1 },
    { vector: 2, text: -1 },
    { vector: Number.NaN, text: 1 },
  ]) {
    await expect(search({ queryText: "x", weights })).rejects.toMatchObject({ code: "invalid-argument" });
  }
  await expect(search({ queryText: "x", model: undefined as never })).rejects.toMatchObject({
    code: "invalid-argument",
  });
});
