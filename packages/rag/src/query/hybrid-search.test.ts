import { InMemoryVector, type TextQuery } from "@selvedge/core/vector";
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

it("scores high what answers a question, and nothing where nothing does", async () => {
  const [answer] = await search({ queryText: "the weft crosses the warp" });
  expect(answer![0]).toBe("b");
  expect(answer![1]).toBeGreaterThan(0.6);
  for (const [, score] of await search({ queryText: "zzqqx" })) expect(score).toBe(0);
  const [near] = await search({ queryText: "zzqqx", queryVector: [1, 0, 0, 5, 0, 0] });
  expect(near![1]).toBeLessThan(0.5);
});

it("does not take a word of many for the answer", async () => {
  // Only the vectors know that this is about bread; the one word that is shared is about looms.
  const queryText = "which ingredients hold dough together while rising overnight";
  const [first] = await search({ queryText, queryVector: [0, 0, 0, 1, 0, 0.2] });
  expect(["c", "d"]).toContain(first![0]);
});

it.each(["cosine", "euclidean", "dotproduct"] as const)(
  "measures what only words found as the vectors would, by %s",
  async (metric) => {
    const vectorStore = new InMemoryVector();
    const indexName = "many";
    await vectorStore.createIndex({ indexName, dimension: 2, metric });
    const count = 300;
    const places = Array.from({ length: count }, (_, index) => index);
    await vectorStore.upsert({
      indexName,
      ids: places.map(String),
      vectors: places.map((place) => [Math.cos(place / count), Math.sin(place / count)]),
      documents: places.map((place) => (place >= count - 2 ? "boxwood" : "beech")),
    });
    const found = await hybridSearch({
      vectorStore,
      indexName,
      queryText: "boxwood",
      queryVector: [1, 0],
      topK: 300,
    });
    const [nearer, farther] = ["298", "299"].map((id) => found.find((result) => result.id === id)!.score);
    const few = await hybridSearch({
      vectorStore,
      indexName,
      queryText: "boxwood",
      queryVector: [1, 0],
      topK: 2,
    });
    expect(few.map(({ id, score }) => [id, score.toFixed(5)])).toEqual([
      ["298", nearer!.toFixed(5)],
      ["299", farther!.toFixed(5)],
    ]);
    expect(nearer).toBeGreaterThan(farther!);
  },
);

it("takes a store at its word whose scores have no bound", async () => {
  const vectorStore = await library();
  const queryText = vectorStore.queryText!.bind(vectorStore);
  const bold = {
    queryText: async (options: TextQuery) =>
      (await queryText(options)).map((result) => ({ ...result, score: result.score * 50 })),
  };
  const found = await search({ vectorStore: Object.assign(vectorStore, bold), queryText: "loom and weft" });
  expect(found[0]![0]).toBe("e");
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
