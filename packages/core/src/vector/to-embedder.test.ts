import { expect, it } from "vitest";
import { type EmbedderConfig, type EmbeddingModel, toEmbedder } from "./to-embedder.ts";

/** A model whose vectors are the lengths of the texts, and which remembers its calls. */
function modelWith(more: Partial<EmbeddingModel> = {}): EmbeddingModel & { calls: string[][] } {
  const calls: string[][] = [];
  return {
    specificationVersion: "v4",
    provider: "acme",
    modelId: "tiny",
    maxEmbeddingsPerCall: 2,
    supportsParallelCalls: false,
    calls,
    async doEmbed({ values, abortSignal }) {
      abortSignal?.throwIfAborted();
      calls.push(values);
      return { embeddings: values.map((value) => [value.length]) };
    },
    ...more,
  };
}

it("takes an embedder as it is", () => {
  const embedder = { id: "mine", dimension: 1, embed: async () => [[1]] };
  expect(toEmbedder(embedder)).toBe(embedder);
});

it("wraps embedding models of specification v2, v3 and v4, in calls of the size they allow", async () => {
  for (const specificationVersion of ["v2", "v3", "v4"]) {
    const model = modelWith({ specificationVersion });
    const embedder = toEmbedder(model);
    expect(embedder.id).toBe("acme/tiny");
    expect(await embedder.embed(["a", "bb", "ccc"])).toEqual([[1], [2], [3]]);
    expect(model.calls).toEqual([["a", "bb"], ["ccc"]]);
  }
});

it("awaits limits that are promises, and keeps order when calls go out together", async () => {
  const model = modelWith({
    maxEmbeddingsPerCall: Promise.resolve(1),
    supportsParallelCalls: Promise.resolve(true),
  });
  expect(await toEmbedder(model).embed(["ccc", "a"])).toEqual([[3], [1]]);
});

it("asks once when there is no limit, and not at all for no texts", async () => {
  const model = modelWith({ maxEmbeddingsPerCall: undefined });
  expect(await toEmbedder(model).embed([])).toEqual([]);
  await toEmbedder(model).embed(["a", "b", "c"]);
  expect(model.calls).toEqual([["a", "b", "c"]]);
});

it("passes the abort signal on", async () => {
  const abortSignal = AbortSignal.abort(new Error("stop"));
  await expect(toEmbedder(modelWith()).embed(["a"], { abortSignal })).rejects.toThrow("stop");
});

it("hands provider options on", async () => {
  const seen: unknown[] = [];
  const model = modelWith({
    doEmbed: async ({ values, providerOptions }) => {
      seen.push(providerOptions);
      return { embeddings: values.map(() => [1]) };
    },
  });
  await toEmbedder(model, { providerOptions: { acme: { user: "me" } } }).embed(["a"]);
  expect(seen).toEqual([{ acme: { user: "me" } }]);
});

it("notices an answer with too few vectors", async () => {
  const model = modelWith({ doEmbed: async () => ({ embeddings: [] }) });
  await expect(toEmbedder(model).embed(["a"])).rejects.toMatchObject({ code: "model-failed" });
});

it("says what an embedder is when it is given something else", () => {
  const others = [
    undefined,
    null,
    "openai/text-embedding-3-small",
    {},
    modelWith({ specificationVersion: "v1" }),
  ];
  for (const other of others) {
    expect(() => toEmbedder(other as EmbedderConfig)).toThrow(
      expect.objectContaining({ code: "model-unsupported" }),
    );
  }
});
