import { RequestContext } from "@selvedge/core/request-context";
import { InMemoryVector, type Vector } from "@selvedge/core/vector";
import { expect, it } from "vitest";
import { library, wordEmbedder } from "../__fixtures__/library.ts";
import { createGraphRAGTool, type GraphRAGToolOptions } from "./graph-rag-tool.ts";

/** A tool over a store that counts how often it is asked for nodes. */
async function toolWith(options: Partial<GraphRAGToolOptions> = {}): Promise<{
  ask: (input?: object, context?: Record<string, unknown>) => Promise<any>;
  store: Vector;
  fetched: () => number;
}> {
  const inner = await library();
  let fetched = 0;
  const query: Vector["query"] = (asked) => {
    fetched++;
    return inner.query(asked);
  };
  const describeIndex: Vector["describeIndex"] = (asked) => inner.describeIndex(asked);
  const store = Object.assign(Object.create(inner) as Vector, { query, describeIndex });
  const graphOptions = { threshold: 0.3, ...options.graphOptions };
  const tool = createGraphRAGTool({
    vectorStore: store,
    indexName: "docs",
    model: wordEmbedder,
    ...options,
    graphOptions,
  });
  const ask = (input: object = { queryText: "loom" }, context: Record<string, unknown> = {}): Promise<any> =>
    tool.execute({ context: input as never, requestContext: new RequestContext(context) });
  return { ask, store: inner, fetched: () => fetched };
}

const ids = (output: { sources: { id: string }[] }): string[] => output.sources.map(({ id }) => id);

it("answers with a string and with sources, best first", async () => {
  const { ask } = await toolWith();
  const output = await ask({ queryText: "loom", topK: 3 });
  expect(ids(output)).toEqual(["a", "e", "b"]);
  expect(output.relevantContext).toBe(
    "The loom holds the warp.\n\nLoom, warp and weft make cloth.\n\nThe weft crosses the warp.",
  );
  expect(output.sources[0]).toMatchObject({
    document: "The loom holds the warp.",
    metadata: { topic: "weaving" },
  });
  expect((await ask(undefined, { includeSources: false })).sources).toEqual([]);
});

it("keeps its graph for further questions and builds it anew when the index changed", async () => {
  const { ask, store, fetched } = await toolWith();
  await ask();
  await ask({ queryText: "bread" });
  expect(fetched()).toBe(1);
  await store.upsert({
    indexName: "docs",
    ids: ["f"],
    vectors: [[1, 0, 0, 0, 0, 0]],
    metadata: [{ text: "A loom." }],
  });
  expect(ids(await ask())[0]).toBe("f");
  expect(fetched()).toBe(2);
});

it("builds one graph for questions at the same time", async () => {
  const { ask, fetched } = await toolWith();
  await Promise.all([ask(), ask(), ask({ queryText: "salt" })]);
  expect(fetched()).toBe(1);
});

it("never answers one filter or tenant from the graph of another", async () => {
  const { ask, fetched } = await toolWith({ enableFilter: true });
  expect(ids(await ask({ queryText: "loom" }))).toHaveLength(5);
  expect(ids(await ask({ queryText: "loom" }, { filter: { topic: "baking" } })).toSorted()).toEqual([
    "c",
    "d",
  ]);
  expect(ids(await ask({ queryText: "loom", filter: '{"topic":"weaving"}' })).toSorted()).toEqual([
    "a",
    "b",
    "e",
  ]);
  expect(fetched()).toBe(3);
  await ask({ queryText: "loom" }, { mastra__resourceId: "other" });
  expect(fetched()).toBe(4);
  // The same conditions in another order are the same filter.
  await ask({ queryText: "loom" }, { filter: { topic: "baking", version: 1 } });
  await ask({ queryText: "loom" }, { filter: { version: 1, topic: "baking" } });
  expect(fetched()).toBe(5);
});

it("does not let an answer be changed through an earlier one", async () => {
  const { ask } = await toolWith();
  (await ask()).sources[0].metadata.topic = "changed";
  expect((await ask()).sources[0].metadata.topic).toBe("weaving");
});

it("builds around each question where there are too many passages", async () => {
  const { ask, fetched } = await toolWith({ graphOptions: { maxNodes: 2 } });
  expect(ids(await ask())).toEqual(["a", "e"]);
  expect(ids(await ask({ queryText: "bread salt" }))).toEqual(["c", "d"]);
  expect(fetched()).toBe(2);
});

it("takes the walk from the request, and refuses one that makes no sense", async () => {
  const { ask } = await toolWith();
  expect(ids(await ask(undefined, { topK: 1, randomWalkSteps: 5, restartProb: 0.5 }))).toHaveLength(1);
  for (const context of [{ randomWalkSteps: 0 }, { restartProb: 1 }]) {
    await expect(ask(undefined, context)).rejects.toMatchObject({ code: "invalid-argument" });
  }
  for (const graphOptions of [{ restartProb: 2 }, { threshold: 2 }, { dimension: 0 }, { maxNodes: 0 }]) {
    await expect(toolWith({ graphOptions })).rejects.toMatchObject({ code: "invalid-argument" });
  }
});

it("says that vectors do not have the promised dimension, or that there are none", async () => {
  const { ask } = await toolWith({ graphOptions: { dimension: 1536 } });
  await expect(ask()).rejects.toMatchObject({ code: "invalid-argument", message: /1536 numbers/ });
  const bare = Object.assign(Object.create(await library()) as Vector, {
    describeIndex: async () => ({ dimension: 6, count: 1, metric: "cosine" as const }),
    query: async () => [{ id: "a", score: 1 }],
  });
  const { ask: without } = await toolWith({ vectorStore: bare });
  await expect(without()).rejects.toMatchObject({ code: "not-supported" });
  // Also where there is nothing yet to compare with.
  const empty = new InMemoryVector();
  await empty.createIndex({ indexName: "docs", dimension: 3 });
  const { ask: early } = await toolWith({ vectorStore: empty });
  await expect(early()).rejects.toMatchObject({ code: "invalid-argument", message: /3 numbers/ });
});

it("tries again after a failure instead of keeping it", async () => {
  const inner = await library();
  let fails = true;
  const store = Object.assign(Object.create(inner) as Vector, {
    describeIndex: (asked: { indexName: string }) => inner.describeIndex(asked),
    query: (asked: Parameters<Vector["query"]>[0]) =>
      fails ? Promise.reject(new Error("connection lost")) : inner.query(asked),
  });
  const { ask } = await toolWith({ vectorStore: store });
  await expect(ask()).rejects.toMatchObject({ code: "storage-failed", message: /connection lost/ });
  fails = false;
  expect(ids(await ask())).toContain("a");
});

it("is named after its store and index", () => {
  const tool = createGraphRAGTool({ vectorStoreName: "pinecone", indexName: "docs", model: wordEmbedder });
  expect(tool.id).toBe("GraphRAG pinecone docs Tool");
  expect(tool.description).toMatch(/^Access and analyze relationships/);
});
