import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startRecordingServer, type RecordedRequest, type RecordingServer } from "@selvedge/testing";
import { PineconeVector } from "./pinecone-vector.ts";

// Not run against the live service: these are the requests that its official client really sends.
describe("PineconeVector", () => {
  let server: RecordingServer;
  let vector: PineconeVector;
  let answers: Record<string, unknown>;

  const index = (): unknown => ({
    name: "docs",
    host: `http://127.0.0.1:${server.port}`,
    schema: { fields: { _values: { type: "dense_vector", dimension: 2, metric: "cosine" } } },
    deployment: { deployment_type: "managed", cloud: "aws", region: "us-east-1", environment: "aped-1" },
    status: { ready: true, state: "Ready" },
    deletion_protection: "disabled",
  });

  const sent = (method: string, path: string): RecordedRequest => {
    const found = server.requests.filter((request) => request.method === method && request.path === path);
    expect(found).toHaveLength(1);
    return found[0]!;
  };

  beforeEach(async () => {
    server = await startRecordingServer(({ method, path }) => {
      const key = `${method} ${path.split("?")[0]}`;
      // Once it was asked for, it is there: the client waits until the index is ready.
      if (key === "POST /indexes") answers["GET /indexes/docs"] = index();
      return key in answers ? { body: answers[key] } : undefined;
    });
    answers = { "GET /indexes/docs": index() };
    vector = new PineconeVector({
      apiKey: "key",
      config: { controllerHostUrl: `http://127.0.0.1:${server.port}`, maxRetries: 0 },
    });
  });

  afterEach(() => server.close());

  it("creates a serverless index with its metric", async () => {
    answers = { "POST /indexes": index() };
    await vector.createIndex({ indexName: "docs", dimension: 2, metric: "dotproduct" });
    expect(sent("POST", "/indexes").body).toMatchObject({
      name: "docs",
      schema: { fields: { _values: { type: "dense_vector", dimension: 2, metric: "dotproduct" } } },
      deployment: { deployment_type: "managed", cloud: "aws", region: "us-east-1" },
    });
    await expect(vector.createIndex({ indexName: "Docs!", dimension: 2 })).rejects.toMatchObject({
      code: "invalid-argument",
    });
  });

  it("takes an index that is there for done, unless it is another one", async () => {
    await vector.createIndex({ indexName: "docs", dimension: 2 });
    await expect(vector.createIndex({ indexName: "docs", dimension: 3 })).rejects.toMatchObject({
      code: "invalid-argument",
    });
    expect(server.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  });

  it("upserts flat metadata with the whole beside it, into a namespace", async () => {
    answers["POST /vectors/upsert"] = { upsertedCount: 1 };
    await vector.upsert({
      indexName: "docs",
      ids: ["a"],
      vectors: [[1, 0.5]],
      metadata: [{ topic: { name: "looms" }, n: 1, none: null }],
      documents: ["a loom"],
      namespace: "production",
    });
    expect(sent("POST", "/vectors/upsert").body).toMatchObject({
      namespace: "production",
      vectors: [
        {
          id: "a",
          values: [1, 0.5],
          metadata: {
            "topic.name": "looms",
            n: 1,
            selvedge_metadata: '{"topic":{"name":"looms"},"n":1,"none":null}',
            selvedge_document: "a loom",
          },
        },
      ],
    });
  });

  it("asks with filter, namespace and sparse vector", async () => {
    answers["POST /query"] = {
      matches: [
        { id: "b", score: 0.5, metadata: { n: 1, selvedge_metadata: '{"n":1}' } },
        { id: "a", score: 0.9, metadata: { n: 3, selvedge_metadata: '{"n":3}', selvedge_document: "text" } },
      ],
      namespace: "production",
    };
    const results = await vector.query({
      indexName: "docs",
      queryVector: [1, 0],
      topK: 2,
      filter: { n: { $ne: 1 } },
      namespace: "production",
      sparseVector: { indices: [0, 3], values: [0.5, 0.25] },
    });
    expect(results).toEqual([{ id: "a", score: 0.9, metadata: { n: 3 }, document: "text" }]);
    expect(sent("POST", "/query").body).toMatchObject({
      namespace: "production",
      topK: 2,
      vector: [1, 0],
      sparseVector: { indices: [0, 3], values: [0.5, 0.25] },
      filter: { $or: [{ n: { $exists: false } }, { n: { $ne: 1 } }] },
      includeMetadata: true,
    });
  });

  it("deletes by ids and by filter, never everything", async () => {
    answers["POST /vectors/delete"] = {};
    await vector.deleteVector({ indexName: "docs", id: "a" });
    expect(sent("POST", "/vectors/delete").body).toMatchObject({ ids: ["a"] });
    server.requests.length = 0;
    await vector.deleteVectors({ indexName: "docs", filter: { n: { $in: [1, 2] } } });
    expect(sent("POST", "/vectors/delete").body).toMatchObject({ filter: { n: { $in: [1, 2] } } });
    for (const filter of [{}, { $and: [] }, { $nor: [] }]) {
      await expect(vector.deleteVectors({ indexName: "docs", filter })).rejects.toMatchObject({
        code: expect.stringMatching(/invalid-argument|not-supported/),
      });
    }
    expect(server.requests.filter(({ path }) => path === "/vectors/delete")).toHaveLength(1);
  });

  it("replaces metadata by writing the record anew", async () => {
    answers["GET /vectors/fetch"] = {
      vectors: {
        a: {
          id: "a",
          values: [1, 0],
          metadata: { old: 1, selvedge_metadata: '{"old":1}', selvedge_document: "text" },
        },
      },
      namespace: "",
    };
    answers["POST /vectors/upsert"] = { upsertedCount: 1 };
    await vector.updateVector({ indexName: "docs", id: "a", update: { metadata: { fresh: 2 } } });
    expect(sent("POST", "/vectors/upsert").body.vectors).toEqual([
      {
        id: "a",
        values: [1, 0],
        metadata: { fresh: 2, selvedge_metadata: '{"fresh":2}', selvedge_document: "text" },
      },
    ]);
  });

  it("says what is missing and what failed", async () => {
    await expect(vector.query({ indexName: "none", queryVector: [1, 0] })).rejects.toMatchObject({
      code: "not-found",
    });
    await expect(vector.query({ indexName: "docs", queryVector: [1] })).rejects.toMatchObject({
      code: "invalid-argument",
    });
    const where = vector.query({ indexName: "docs", queryVector: [1, 0], where: { a: 1 } } as never);
    await expect(where).rejects.toMatchObject({ code: "invalid-argument" });
    expect(() => new PineconeVector({})).toThrow(/apiKey/);
  });
});
