import { routesOf } from "./route.ts";
import {
  anyObject,
  anything,
  either,
  flag,
  id,
  integer,
  list,
  named,
  nothing,
  number,
  object,
  oneOf,
  only,
  openObject,
  optional,
  record,
  text,
  time,
} from "./shape.ts";
import * as shapes from "./shapes.ts";

const system = routesOf("system");
const tools = routesOf("tools");
const mcp = routesOf("mcp");
const vectors = routesOf("vectors");

const success = openObject({ success: only(true) });
const numbers = list(number(), { maxItems: 100_000 });

export const mcpServerInfo = openObject({
  id: text(),
  name: text(),
  description: optional(text()),
  version_detail: optional(openObject({ version: text(), release_date: text(), is_latest: flag() })),
});

export const mcpResource = openObject({
  uri: text(),
  name: text(),
  title: optional(text()),
  description: optional(text()),
  mimeType: optional(text()),
});

export const mcpResourceContent = openObject({
  uri: text(),
  mimeType: optional(text()),
  text: optional(text()),
  /** In base64. */
  blob: optional(text()),
});

export const embedderInfo = openObject({
  /** `provider/name`, if the embedder has one. */
  id: text(),
  provider: text(),
  name: text(),
  description: text(),
  /** The length of its vectors, if known before the first. */
  dimensions: optional(integer()),
});

const worker = named(
  "Worker",
  openObject({
    id: id(),
    /** The process that answers. */
    isSelf: flag(),
    /** By its own clock. Missing if it has closed or is known to be dead. */
    lastBeat: optional(time()),
    runs: list(
      openObject({ runId: id(), agentId: optional(id()), threadId: id(), resourceId: shapes.resourceId }),
    ),
    workflowRuns: list(
      openObject({ runId: id(), workflowId: id(), resourceId: optional(shapes.resourceId) }),
    ),
  }),
);

export const APP_ROUTES = {
  health: system("GET /health", {
    summary: "Whether the server is up",
    owner: "public",
    response: openObject({ status: only("ok") }),
  }),
  openApi: system("GET /api/openapi.json", {
    summary: "This document",
    owner: "public",
    response: anyObject(),
  }),
  explorer: system("GET /api/explorer", {
    summary: "A page for reading and trying the routes",
    owner: "public",
  }),
  listWorkers: system("GET /api/workers", {
    summary: "The processes that execute runs, with their last heartbeat and their runs",
    owner: "grant",
    grant: "inspect",
    query: object({ agentId: optional(id()) }),
    response: openObject({ workers: list(worker) }),
  }),
  listTools: tools("GET /api/tools", {
    summary: "Tools of the host and of its agents, by name",
    owner: "app",
    response: record(shapes.toolInfo),
  }),
  getTool: tools("GET /api/tools/:toolId", {
    summary: "A tool, by registered name or by id",
    owner: "app",
    response: shapes.toolInfo,
  }),
  executeTool: tools("POST /api/tools/:toolId/execute", {
    summary: "Runs a tool. A tool that requires approval needs approved: true and the grant approve-tools",
    owner: "grant",
    grant: "tools",
    body: shapes.executeToolBody,
    response: anything(),
  }),
  listMcpServers: mcp("GET /api/mcp/v0/servers", {
    summary: "MCP servers of the host",
    owner: "app",
    query: object({
      limit: optional(integer({ minimum: 1, maximum: 1000 })),
      offset: optional(integer({ minimum: 0 })),
    }),
    response: openObject({
      servers: list(mcpServerInfo),
      total_count: integer(),
      next: either(text(), nothing()),
    }),
  }),
  getMcpServer: mcp("GET /api/mcp/v0/servers/:serverId", {
    summary: "An MCP server",
    owner: "app",
    response: mcpServerInfo,
  }),
  listMcpTools: mcp("GET /api/mcp/:serverId/tools", {
    summary: "Tools of an MCP server",
    owner: "app",
    response: openObject({ tools: list(anyObject()) }),
  }),
  getMcpTool: mcp("GET /api/mcp/:serverId/tools/:toolId", {
    summary: "A tool of an MCP server",
    owner: "app",
    response: anyObject(),
  }),
  executeMcpTool: mcp("POST /api/mcp/:serverId/tools/:toolId/execute", {
    summary: "Runs a tool of an MCP server",
    owner: "grant",
    grant: "mcp",
    body: object({ data: optional(anything()) }),
    response: openObject({ result: anything() }),
  }),
  listMcpResources: mcp("GET /api/mcp/:serverId/resources", {
    summary: "Resources of an MCP server, as the caller sees them",
    owner: "grant",
    grant: "mcp",
    response: openObject({
      resources: list(mcpResource),
    }),
  }),
  readMcpResource: mcp("POST /api/mcp/:serverId/resources/read", {
    summary: "Reads a resource of an MCP server",
    owner: "grant",
    grant: "mcp",
    body: object({ uri: text({ minLength: 1, maxLength: 4096 }) }),
    response: openObject({
      contents: list(mcpResourceContent),
    }),
  }),
  mcpHttp: mcp("ALL /api/mcp/:serverId/mcp", {
    summary: "The Model Context Protocol over streamable HTTP",
    owner: "grant",
    grant: "mcp",
  }),
  mcpSse: mcp("ALL /api/mcp/:serverId/sse", {
    summary: "The Model Context Protocol over SSE, for early clients",
    owner: "grant",
    grant: "mcp",
  }),
  mcpMessages: mcp("POST /api/mcp/:serverId/messages", {
    summary: "Messages from a client that listens over SSE",
    owner: "grant",
    grant: "mcp",
  }),
  listEmbedders: vectors("GET /api/embedders", {
    summary: "Embedders that memories of the host search with",
    owner: "grant",
    grant: "vectors",
    response: openObject({
      embedders: list(embedderInfo),
    }),
  }),
  listVectors: vectors("GET /api/vectors", {
    summary: "Vector stores of the host",
    owner: "grant",
    grant: "vectors",
    response: openObject({
      vectors: list(openObject({ name: text(), id: text() })),
    }),
  }),
  listVectorIndexes: vectors("GET /api/vector/:vectorName/indexes", {
    summary: "Indexes of a vector store",
    owner: "grant",
    grant: "vectors",
    response: openObject({ indexes: list(text()) }),
  }),
  getVectorIndex: vectors("GET /api/vector/:vectorName/indexes/:indexName", {
    summary: "An index",
    owner: "grant",
    grant: "vectors",
    response: openObject({
      dimension: integer(),
      count: integer(),
      metric: text(),
    }),
  }),
  deleteVectorIndex: vectors("DELETE /api/vector/:vectorName/indexes/:indexName", {
    summary: "Deletes an index",
    owner: "grant",
    grant: "vectors",
    response: success,
  }),
  createVectorIndex: vectors("POST /api/vector/:vectorName/create-index", {
    summary: "Creates an index",
    owner: "grant",
    grant: "vectors",
    body: object({
      indexName: id(),
      dimension: integer({ minimum: 1, maximum: 100_000 }),
      metric: optional(oneOf("cosine", "euclidean", "dotproduct")),
    }),
    response: success,
  }),
  upsertVectors: vectors("POST /api/vector/:vectorName/upsert", {
    summary: "Inserts or replaces vectors",
    owner: "grant",
    grant: "vectors",
    body: object({
      indexName: id(),
      vectors: list(numbers, { maxItems: 10_000 }),
      metadata: optional(list(anyObject(), { maxItems: 10_000 })),
      ids: optional(list(id(), { maxItems: 10_000 })),
    }),
    response: openObject({ ids: list(text()) }),
  }),
  queryVectors: vectors("POST /api/vector/:vectorName/query", {
    summary: "The nearest vectors",
    owner: "grant",
    grant: "vectors",
    body: object({
      indexName: id(),
      queryVector: numbers,
      topK: optional(integer({ minimum: 1, maximum: 10_000 })),
      filter: optional(anyObject()),
      includeVector: optional(flag()),
    }),
    response: openObject({ results: list(anyObject()) }),
  }),
};
