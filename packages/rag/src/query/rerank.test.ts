import type { VectorResult } from "@selvedge/core/vector";
import { scriptedModel } from "@selvedge/testing";
import { expect, it } from "vitest";
import { rerank, rerankWithScorer } from "./rerank.ts";

const results: VectorResult[] = [
  { id: "a", score: 0.9, document: "about looms" },
  { id: "b", score: 0.8, metadata: { text: "about bread" } },
  { id: "c", score: 0.7, document: "about both" },
];
const order = (ranked: { result: VectorResult }[]): string[] => ranked.map(({ result }) => result.id);

it("asks a model about all results in one call, as data", async () => {
  const model = scriptedModel(["```json\n[0.1, 0.9, 0.5]\n```"]);
  const ranked = await rerank(results, "bread?", model, { weights: { semantic: 1 } });
  expect(order(ranked)).toEqual(["b", "c", "a"]);
  expect(model.calls).toHaveLength(1);
  const [, user] = model.calls[0]!.prompt;
  const { text } = (user as any).content[0];
  expect(JSON.parse(text)).toEqual({
    query: "bread?",
    passages: ["about looms", "about bread", "about both"],
  });
});

it("adds up the judgements by their weights", async () => {
  const scorer = { score: async () => [0, 1, 0] };
  const [first] = await rerank(results, "q", scorer, { topK: 1 });
  expect(first).toEqual({
    result: results[1],
    score: expect.closeTo(0.4 * 1 + 0.4 * 0.8 + 0.2 * (2 / 3)),
    details: { semantic: 1, vector: 0.8, position: expect.closeTo(2 / 3) },
  });
});

it("takes a provider that scores one text at a time", async () => {
  const scorer = {
    getRelevanceScore: async (_query: string, text: string) => (text.includes("both") ? 5 : 0),
  };
  const ranked = await rerankWithScorer({
    results,
    query: "q",
    scorer,
    options: { weights: { semantic: 1 } },
  });
  expect(ranked[0]).toMatchObject({ result: { id: "c" }, score: 1 });
});

it("gives three results unless told otherwise, and none of nothing", async () => {
  const scorer = { score: async (_query: string, texts: string[]) => texts.map(() => 0) };
  expect(await rerank([...results, ...results], "q", scorer)).toHaveLength(3);
  expect(await rerank([], "q", scorer)).toEqual([]);
});

it("refuses weights that do not sum to 1", async () => {
  const scorer = { score: async () => [0, 0, 0] };
  const bad = [
    { semantic: 0.5 },
    { semantic: 2, vector: -1 },
    { semantic: Number.NaN },
    { vector: "1" as never },
    {},
    null as never,
  ];
  for (const weights of bad) {
    await expect(rerank(results, "q", scorer, { weights })).rejects.toMatchObject({
      code: "invalid-argument",
    });
  }
  const weights = { semantic: 0.7, vector: 0.2, position: 0.1 };
  expect(await rerank(results, "q", scorer, { weights })).toHaveLength(3);
});

it("refuses what cannot be ordered", async () => {
  const scorer = { score: async () => [0] };
  const refused: [unknown, unknown][] = [
    [null, {}],
    [[{ id: "a" }], {}],
    [[{ id: "a", score: Number.NaN }], {}],
    [[null], {}],
    [results, null],
    [results, { topK: 0 }],
  ];
  for (const [given, options] of refused) {
    const ranked = rerank(given as typeof results, "q", scorer, options as object);
    await expect(ranked).rejects.toMatchObject({ code: "invalid-argument" });
  }
});

it("does not make up scores when the model or scorer gives none", async () => {
  for (const answer of ["I cannot judge.", "[1, 2]", '["a", "b", "c"]', "[1, 2"]) {
    const ranked = rerank(results, "q", scriptedModel([answer]));
    await expect(ranked, answer).rejects.toMatchObject({ code: "structured-output-invalid" });
  }
  for (const scores of [[1], [1, 2, Number.NaN], undefined]) {
    const ranked = rerank(results, "q", { score: async () => scores as number[] });
    await expect(ranked).rejects.toMatchObject({ code: "model-failed" });
  }
});
