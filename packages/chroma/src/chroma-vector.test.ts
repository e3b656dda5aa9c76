import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startRecordingServer, type RecordedRequest, type RecordingServer } from "@selvedge/testing";
import { ChromaVector } from "./chroma-vector.ts";

// Not run against a live Chroma: these are the requests that its official client really sends.
describe("ChromaVector", () => {
  let server: RecordingServer;
  let vector: ChromaVector;
  let answers: Record<string, unknown>;

  const collection = {
    id: "0b2f3c1e-0000-4000-8000-000000000001",
    name: "docs",
    metadata: { selvedge_dimension: 2, selvedge_metric: "cosine" },
    configuration_json: {},
    tenant: "default_tenant",
    database: "default_database",
  };

  const reply = ({ method, path }: RecordedRequest): { body: unknown } | undefined => {
    if (path.endsWith("/auth/identity"))
      return { body: { user_id: "u", tenant: "default_tenant", databases: ["default_database"] } };
    if (path.endsWith("/pre-flight-checks"))
      return { body: { max_batch_size: 1_000, supports_base64_encoding: false } };
    const key = `${method} ${path.replace(/^.*\/collections/, "/collections").replace(collection.id, ":id")}`;
    return key in answers ? { body: answers[key] } : undefined;
  };

  const sent = (method: string, end: string): RecordedRequest => {
    const found = server.requests.filter(
      ({ path, ...request }) => request.method === method && path.split("?")[0]!.endsWith(end),
    );
    expect(found).toHaveLength(1);
    return found[0]!;
  };

  beforeEach(async () => {
    answers = { "GET /collections/docs": collection };
    server = await startRecordingServer(reply);
    vector = new ChromaVector({ host: "127.0.0.1", port: server.port, ssl: false });
  });

  afterEach(() => server.close());

  it("creates a collection with its metric, and without an embedding function", async () => {
    answers = { "POST /collections": collection };
    await vector.createIndex({ indexName: "docs", dimension: 2, metric: "euclidean" });
    expect(sent("POST", "/collections").body).toMatchObject({
      name: "docs",
      metadata: { selvedge_dimension: 2, selvedge_metric: "euclidean" },
      configuration: { hnsw: { space: "l2" } },
    });
    await expect(vector.createIndex({ indexName: "a b", dimension: 2 })).rejects.toMatchObject({
      code: "invalid-argument",
    });
  });

  it("upserts flat metadata with the whole beside it", async () => {
    answers["POST /collections/:id/upsert"] = {};
    const ids = await vector.upsert({
      indexName: "docs",
      ids: ["a"],
      vectors: [[1, 0.5]],
      metadata: [{ topic: { name: "looms" }, n: 1, none: null }],
      documents: ["a loom"],
    });
    expect(ids).toEqual(["a"]);
    expect(sent("POST", "/upsert").body).toMatchObject({
      ids: ["a"],
      embeddings: [[1, 0.5]],
      documents: ["a loom"],
      metadatas: [
        {
          "topic.name": "looms",
          n: 1,
          selvedge_metadata: '{"topic":{"name":"looms"},"n":1,"none":null}',
          selvedge_document: "a loom",
        },
      ],
    });
  });

  it("asks with filter, where and whereDocument, and turns distances into scores", async () => {
    answers["POST /collections/:id/query"] = {
      ids: [["a", "b", "c"]],
      distances: [[0.25, 0.5, 0.6]],
      metadatas: [[{ selvedge_metadata: '{"n":3}', selvedge_document: "text" }, { n: 3 }, { n: 1 }]],
      embeddings: null,
      documents: null,
      uris: null,
      include: ["metadatas", "distances"],
    };
    const results = await vector.query({
      indexName: "docs",
      queryVector: [1, 0],
      topK: 3,
      filter: { n: { $gte: 2 } },
      where: { lang: "en" },
      whereDocument: { $contains: "loom" },
      minScore: 0.1,
    });
    // The third came although its metadata does not fit: it is not let through.
    expect(results).toEqual([
      { id: "a", score: 0.75, metadata: { n: 3 }, document: "text" },
      { id: "b", score: 0.5, metadata: { n: 3 } },
    ]);
    expect(sent("POST", "/query").body).toMatchObject({
      query_embeddings: [[1, 0]],
      n_results: 3,
      where: { $and: [{ n: { $gte: 2 } }, { lang: "en" }] },
      where_document: { $contains: "loom" },
    });
  });

  it("refuses a filter that Chroma cannot express before it asks", async () => {
    const query = vector.query({
      indexName: "docs",
      queryVector: [1, 0],
      filter: { tag: { $exists: true } },
    });
    await expect(query).rejects.toMatchObject({ code: "not-supported" });
    expect(server.requests).toEqual([]);
  });

  it("deletes by filter only what fits the filter", async () => {
    answers["POST /collections/:id/get"] = {
      ids: ["a", "b"],
      metadatas: [{ selvedge_metadata: '{"n":1}' }, { selvedge_metadata: '{"n":2}' }],
      documents: null,
      embeddings: null,
      uris: null,
      include: ["metadatas"],
    };
    answers["POST /collections/:id/delete"] = {};
    await vector.deleteVectors({ indexName: "docs", filter: { n: 1 } });
    expect(sent("POST", "/get").body).toMatchObject({ where: { n: { $eq: 1 } } });
    expect(sent("POST", "/delete").body).toMatchObject({ ids: ["a"] });
  });

  it("replaces metadata in one request, and hides keys that Chroma keeps", async () => {
    answers["POST /collections/:id/get"] = {
      ids: ["a"],
      metadatas: [{ old: 1, selvedge_metadata: '{"old":1}', selvedge_document: "text" }],
      embeddings: [[1, 0]],
      documents: null,
      uris: null,
      include: ["metadatas", "embeddings"],
    };
    answers["POST /collections/:id/upsert"] = {};
    await vector.updateVector({ indexName: "docs", id: "a", update: { metadata: { fresh: 2 } } });
    expect(sent("POST", "/upsert").body).toMatchObject({
      ids: ["a"],
      embeddings: [[1, 0]],
      metadatas: [{ fresh: 2, selvedge_metadata: '{"fresh":2}', selvedge_document: "text" }],
    });
  });

  it("writes both of its keys, so that nothing of an older entry shows", async () => {
    answers["POST /collections/:id/upsert"] = {};
    await vector.upsert({ indexName: "docs", ids: ["a"], vectors: [[1, 0]] });
    expect(sent("POST", "/upsert").body.metadatas).toEqual([
      { selvedge_metadata: "null", selvedge_document: "" },
    ]);
    answers["POST /collections/:id/query"] = {
      ids: [["a"]],
      distances: [[0]],
      metadatas: [[{ old: 1, selvedge_metadata: "null", selvedge_document: "" }]],
      embeddings: null,
      documents: null,
      uris: null,
      include: [],
    };
    expect(await vector.query({ indexName: "docs", queryVector: [1, 0] })).toEqual([{ id: "a", score: 1 }]);
    expect(await vector.query({ indexName: "docs", queryVector: [1, 0], filter: { old: 1 } })).toEqual([]);
  });

  it("says what is missing and what failed", async () => {
    const missing = vector.query({ indexName: "none", queryVector: [1, 0] });
    await expect(missing).rejects.toMatchObject({ code: "not-found" });
    const wrong = vector.query({ indexName: "docs", queryVector: [1] });
    await expect(wrong).rejects.toMatchObject({ code: "invalid-argument" });
    const nobody = new ChromaVector({ host: "127.0.0.1", port: 1 });
    await expect(nobody.listIndexes()).rejects.toMatchObject({ code: "storage-failed" });
  });
});
