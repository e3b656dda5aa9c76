import { Agent } from "@selvedge/core/agent";
import { Mastra } from "@selvedge/core/mastra";
import { RequestContext } from "@selvedge/core/request-context";
import type { Vector } from "@selvedge/core/vector";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { library, wordEmbedder } from "../__fixtures__/library.ts";
import { createVectorQueryTool, type VectorQueryToolOptions } from "./vector-query-tool.ts";

const query = { queryText: "warp on a loom", topK: 2 };

async function toolWith(options: Partial<VectorQueryToolOptions> = {}): Promise<{
  ask: (input?: object, context?: Record<string, unknown>) => Promise<any>;
  store: Vector;
}> {
  const store = await library();
  const tool = createVectorQueryTool({
    vectorStore: store,
    indexName: "docs",
    model: wordEmbedder,
    ...options,
  });
  const ask = (input: object = query, context: Record<string, unknown> = {}): Promise<any> =>
    tool.execute({ context: input as never, requestContext: new RequestContext(context) });
  return { ask, store };
}

/** A store that remembers what it was asked. */
async function recording(): Promise<{ store: Vector; asked: Record<string, unknown>[] }> {
  const asked: Record<string, unknown>[] = [];
  const store = await library();
  const query: Vector["query"] = async ({ indexName, queryVector, topK, includeVector, ...rest }) => {
    asked.push(rest);
    return store.query({
      indexName,
      queryVector,
      ...(topK && { topK }),
      includeVector: includeVector ?? false,
    });
  };
  return { store: Object.assign(Object.create(store) as Vector, { query }), asked };
}

const ids = (output: { sources: { id: string }[] }): string[] => output.sources.map(({ id }) => id);

describe("what it answers", () => {
  it("gives the texts as one string and the sources as objects", async () => {
    const { ask } = await toolWith();
    expect(await ask()).toEqual({
      relevantContext: "The loom holds the warp.\n\nLoom, warp and weft make cloth.",
      sources: [
        {
          id: "a",
          metadata: { text: "The loom holds the warp.", topic: "weaving", version: 1 },
          vector: [],
          score: expect.closeTo(1),
          document: "The loom holds the warp.",
        },
        expect.objectContaining({ id: "e" }),
      ],
    });
  });

  it("adds vectors and leaves out sources as asked, at creation or for one request", async () => {
    const { ask } = await toolWith({ includeVectors: true });
    expect((await ask()).sources[0].vector).toEqual([1, 1, 0, 0, 0, 0]);
    expect((await ask(query, { includeVectors: false })).sources[0].vector).toEqual([]);
    expect((await ask(query, { includeSources: false })).sources).toEqual([]);
    const { ask: withoutSources } = await toolWith({ includeSources: false });
    expect(await withoutSources()).toMatchObject({ relevantContext: /loom/, sources: [] });
  });

  it("reads numbers as models write them, ten if they make no sense, and no more than the most", async () => {
    const { ask } = await toolWith();
    expect((await ask({ queryText: "warp", topK: "1" })).sources).toHaveLength(1);
    for (const topK of [undefined, null, "many", -1, 0, Number.NaN, {}, 1e9]) {
      expect((await ask({ queryText: "warp", topK })).sources).toHaveLength(5);
    }
    expect((await ask({ queryText: "warp", topK: 4 }, { topK: 1 })).sources).toHaveLength(1);
  });

  it("tells the model the texts once and never the vectors", async () => {
    const model = scriptedModel([{ toolCalls: [{ toolName: "search", input: query }] }, "A loom."]);
    const search = createVectorQueryTool({
      vectorStore: await library(),
      indexName: "docs",
      model: wordEmbedder,
      includeVectors: true,
    });
    const agent = new Agent({ name: "weaver", instructions: "", model, tools: { search } });
    const { toolResults } = await agent.generate("What holds the warp?");
    expect((toolResults[0]!.payload.result as any).sources[0].vector).toHaveLength(6);
    const told = JSON.stringify(model.calls[1]!.prompt);
    expect(told.split("The loom holds the warp.")).toHaveLength(2);
    expect(told).not.toContain('"vector"');
  });
});

describe("where it searches", () => {
  it("finds its store in the host, by a name that a request may change", async () => {
    const search = createVectorQueryTool({ vectorStoreName: "main", indexName: "none", model: wordEmbedder });
    expect(search.id).toBe("VectorQuery main none Tool");
    const mastra = new Mastra({ vectors: { main: await library() }, logger: false });
    const requestContext = new RequestContext({ indexName: "docs" });
    expect(ids(await search.execute({ context: query, requestContext, mastra }))).toEqual(["a", "e"]);
    requestContext.set("vectorStoreName", "other");
    await expect(search.execute({ context: query, requestContext, mastra })).rejects.toMatchObject({
      code: "not-found",
      message: expect.stringContaining("main"),
    });
  });

  it("asks a function for the store of a request", async () => {
    const [ours, theirs] = [await library(), await library()];
    await theirs.deleteVectors({ indexName: "docs", ids: ["a"] });
    const { ask } = await toolWith({
      vectorStore: ({ requestContext }) => (requestContext.get("tenant") === "ours" ? ours : theirs),
    });
    expect(ids(await ask(query, { tenant: "ours" }))).toEqual(["a", "e"]);
    expect(ids(await ask(query, { tenant: "theirs" }))).not.toContain("a");
  });

  it("says what is missing", async () => {
    const { ask } = await toolWith({ indexName: undefined as never });
    await expect(ask()).rejects.toMatchObject({ code: "invalid-argument", message: /indexName/ });
    const homeless = createVectorQueryTool({
      vectorStoreName: "main",
      indexName: "docs",
      model: wordEmbedder,
    });
    await expect(homeless.execute({ context: query })).rejects.toMatchObject({ code: "storage-required" });
    expect(() => createVectorQueryTool({ model: "text-embedding" as never })).toThrow(/embedder/);
    expect(() => createVectorQueryTool(undefined as never)).toThrow(/needs an object/);
    const reranker = { model: { score: async () => [] }, options: { topK: 0 } };
    await expect(toolWith({ reranker })).rejects.toMatchObject({ code: "invalid-argument" });
  });

  it("uses the embedding model of the request", async () => {
    const { ask } = await toolWith();
    const model = { id: "always bread", embed: async () => [[0, 0, 0, 1, 0, 0]] };
    expect(ids(await ask(query, { model }))).toEqual(["c", "d"]);
  });
});

describe("filters", () => {
  it("takes a filter from the model where it may, as text or object", async () => {
    const { ask } = await toolWith({ enableFilter: true });
    expect(ids(await ask({ ...query, filter: '{"version": {"$gt": 1}}' }))).toEqual(["e", "b"]);
    expect(ids(await ask({ ...query, filter: { topic: "baking" } }))).toEqual(["c", "d"]);
    for (const filter of ["", "{}", null, undefined])
      expect(ids(await ask({ ...query, filter }))).toEqual(["a", "e"]);
    const { ask: closed } = await toolWith();
    expect(ids(await closed({ ...query, filter: { topic: "baking" } }))).toEqual(["a", "e"]);
  });

  it("lets the model narrow the filter of the request, never widen it", async () => {
    const { ask } = await toolWith({ enableFilter: true });
    const filter = { topic: "baking" };
    expect(ids(await ask(query, { filter })).toSorted()).toEqual(["c", "d"]);
    expect(ids(await ask({ ...query, filter: '{"version": 2}' }, { filter }))).toEqual(["d"]);
    expect(ids(await ask({ ...query, filter: '{"topic": "weaving"}' }, { filter }))).toEqual([]);
    const { ask: closed } = await toolWith();
    expect(ids(await closed(query, { filter })).toSorted()).toEqual(["c", "d"]);
  });

  it("answers a bad filter with an error that the model can read", async () => {
    const { ask } = await toolWith({ enableFilter: true });
    expect(await ask({ ...query, filter: "version > 2" })).toMatchObject({
      error: true,
      message: /not JSON/,
    });
    expect(await ask({ ...query, filter: "[1]" })).toMatchObject({ error: true });
    await expect(ask({ ...query, filter: '{"a": {"$regex": "x"}}' })).rejects.toMatchObject({
      code: "invalid-argument",
      message: /\$regex is not an operator/,
    });
    await expect(ask(query, { filter: { a: { $near: 1 } } })).rejects.toMatchObject({
      code: "invalid-argument",
    });
  });
});

describe("database options", () => {
  it("hands those of every store on, flat, and those of the request in their place", async () => {
    const { store, asked } = await recording();
    const sparseVector = { indices: [0, 1], values: [0.5, 0.5] };
    const databaseConfig = {
      pinecone: { namespace: "dev", sparseVector },
      pgvector: { minScore: 0.1, ef: 50 },
    };
    const { ask } = await toolWith({ vectorStore: store, databaseConfig });
    await ask();
    await ask(query, { databaseConfig: { pinecone: { namespace: "prod" }, mine: { speed: 1 } } });
    expect(asked).toEqual([
      { namespace: "dev", sparseVector, minScore: 0.1, ef: 50 },
      { namespace: "prod", speed: 1 },
    ]);
  });

  it("refuses what does not fit or would replace the search itself", async () => {
    const bad = [
      "x",
      { pinecone: 1 },
      { pinecone: { namespace: 5 } },
      { pinecone: { nameSpace: "x" } },
      { pinecone: { sparseVector: { indices: [1], values: [] } } },
      { pgvector: { ef: 0.5 } },
      { chroma: { where: "x" } },
      { mine: { filter: {} } },
      { mine: { indexName: "other" } },
    ];
    const { ask } = await toolWith();
    for (const databaseConfig of bad as any[]) {
      await expect(toolWith({ databaseConfig })).rejects.toMatchObject({ code: "invalid-argument" });
      await expect(ask(query, { databaseConfig })).rejects.toMatchObject({ code: "invalid-argument" });
    }
  });

  it("does not search everything when the store knows no namespaces", async () => {
    const { ask } = await toolWith({ databaseConfig: { pinecone: { namespace: "tenant-1" } } });
    await expect(ask()).rejects.toMatchObject({ code: "invalid-argument", message: /namespace/ });
  });
});

describe("failures", () => {
  it("are errors, not empty answers", async () => {
    const broken: Vector = Object.assign(Object.create(await library()) as Vector, {
      query: () => Promise.reject(new Error("connection lost")),
    });
    const { ask } = await toolWith({ vectorStore: broken });
    await expect(ask()).rejects.toMatchObject({
      code: "storage-failed",
      message: /docs failed: connection lost/,
    });
    const { ask: elsewhere } = await toolWith({ indexName: "nowhere" });
    await expect(elsewhere()).rejects.toMatchObject({ code: "not-found" });
  });

  it("reach the model of an agent as the result of its call", async () => {
    const model = scriptedModel([{ toolCalls: [{ toolName: "search", input: query }] }, "Sorry."]);
    const search = createVectorQueryTool({
      vectorStore: await library(),
      indexName: "nowhere",
      model: wordEmbedder,
    });
    const agent = new Agent({ name: "weaver", instructions: "", model, tools: { search } });
    expect(await agent.generate("?")).toMatchObject({ text: "Sorry." });
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("There is no vector index nowhere");
  });

  it("of an embedder are tried again twice, then told", async () => {
    let calls = 0;
    const flaky = (fails: number): VectorQueryToolOptions["model"] => ({
      id: "flaky",
      embed: async (texts) => {
        if (++calls <= fails) throw new Error("overloaded");
        return wordEmbedder.embed(texts);
      },
    });
    const { ask } = await toolWith({ model: flaky(2) });
    expect(ids(await ask())).toEqual(["a", "e"]);
    calls = 0;
    const { ask: never } = await toolWith({ model: flaky(9) });
    await expect(never()).rejects.toMatchObject({ code: "model-failed", message: /overloaded/ });
    expect(calls).toBe(3);
  });

  it("name what is wrong with the input", async () => {
    const { ask } = await toolWith();
    for (const input of [{}, { queryText: "" }, { queryText: 5 }, { queryText: "x".repeat(40_000) }]) {
      expect(await ask(input)).toMatchObject({ error: true, message: /queryText/ });
    }
  });
});

describe("reranking and hybrid search", () => {
  it("orders what was found with a model, at creation or for one request", async () => {
    const model = scriptedModel(["[0, 0.2, 1]", "[0, 1, 0]"]);
    const reranker = { model, options: { weights: { semantic: 1 }, topK: 1 } };
    const { ask } = await toolWith({ reranker });
    expect(ids(await ask({ queryText: "warp", topK: 3 }))).toEqual(["e"]);
    const { ask: plain } = await toolWith();
    expect(ids(await plain({ queryText: "warp", topK: 3 }, { reranker }))).toEqual(["b"]);
    expect(() =>
      createVectorQueryTool({
        model: wordEmbedder,
        reranker: { model, options: { weights: { semantic: 0.5 } } },
      }),
    ).toThrow(/with the sum 1/);
  });

  it("searches by words as well where it is told to", async () => {
    const { ask } = await toolWith({ hybrid: { weights: { vector: 0.5, text: 0.5 } } });
    // "crosses" means nothing to the embedder.
    expect(ids(await ask({ queryText: "crosses the warp", topK: 1 }))).toEqual(["b"]);
    expect(ids(await ask({ queryText: "crosses" }, { filter: { topic: "baking" } })).toSorted()).toEqual([
      "c",
      "d",
    ]);
    const wordless = Object.assign(Object.create(await library()) as Vector, { queryText: undefined });
    const { ask: impossible } = await toolWith({ vectorStore: wordless, hybrid: true });
    await expect(impossible()).rejects.toMatchObject({ code: "not-supported" });
  });
});
