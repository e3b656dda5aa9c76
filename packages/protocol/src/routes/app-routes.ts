import { executeToolBody } from "./agent-routes.ts";
import { type Route, route } from "./route.ts";
import {
  anyObject,
  anything,
  flag,
  id,
  integer,
  list,
  number,
  object,
  oneOf,
  only,
  openObject,
  optional,
  record,
  text,
} from "./shape.ts";
import * as shapes from "./shapes.ts";
import type * as Wire from "./wire.ts";

type ServerParams = { serverId: string };
type VectorParams = { vectorName: string };
type IndexParams = VectorParams & { indexName: string };

export interface AppCalls {
  health: { response: { status: "ok" } };
  openApi: { response: Record<string, unknown> };
  explorer: Record<never, never>;
  listTools: { response: Record<string, Wire.ToolInfo> };
  getTool: { params: { toolId: string }; response: Wire.ToolInfo };
  executeTool: { params: { toolId: string }; body: Wire.ExecuteToolBody; response: unknown };
  listMcpServers: {
    query: { limit?: number; offset?: number };
    response: { servers: Wire.McpServerInfo[]; total_count: number; next: string | null };
  };
  getMcpServer: { params: ServerParams; response: Wire.McpServerInfo };
  listMcpTools: { params: ServerParams; response: { tools: Record<string, unknown>[] } };
  getMcpTool: { params: ServerParams & { toolId: string }; response: Record<string, unknown> };
  executeMcpTool: {
    params: ServerParams & { toolId: string };
    body: { data?: unknown };
    response: { result: unknown };
  };
  listMcpResources: { params: ServerParams; response: { resources: Wire.McpResource[] } };
  readMcpResource: {
    params: ServerParams;
    body: { uri: string };
    response: { contents: Wire.McpResourceContent[] };
  };
  mcpHttp: { params: ServerParams };
  mcpSse: { params: ServerParams };
  mcpMessages: { params: ServerParams };
  listEmbedders: { response: { embedders: Wire.EmbedderInfo[] } };
  listVectors: { response: { vectors: { name: string; id: string }[] } };
  listVectorIndexes: { params: VectorParams; response: { indexes: string[] } };
  getVectorIndex: {
    params: IndexParams;
    response: { dimension: number; count: number; metric: string };
  };
  deleteVectorIndex: { params: IndexParams; response: { success: true } };
  createVectorIndex: {
    params: VectorParams;
    body: { indexName: string; dimension: number; metric?: "cosine" | "euclidean" | "dotproduct" };
    response: { success: true };
  };
  upsertVectors: {
    params: VectorParams;
    body: {
      indexName: string;
      vectors: number[][];
      metadata?: Record<string, unknown>[];
      ids?: string[];
    };
    response: { ids: string[] };
  };
  queryVectors: {
    params: VectorParams;
    body: Wire.VectorQueryBody;
    response: { results: Record<string, unknown>[] };
  };
}

const server = object<ServerParams>({ serverId: id() });
const serverTool = object<ServerParams & { toolId: string }>({ serverId: id(), toolId: id() });
const vector = object<VectorParams>({ vectorName: id() });
const index = object<IndexParams>({ vectorName: id(), indexName: id() });
const success = openObject<{ success: true }>({ success: only(true) });
const numbers = list(number(), { maxItems: 100_000 });

const mcpServer = openObject<Wire.McpServerInfo>({
  id: text(),
  name: text(),
  description: optional(text()),
});

export const APP_ROUTES: { readonly [Name in keyof AppCalls]: Route<AppCalls[Name]> } = {
  health: route({
    method: "GET",
    path: "/health",
    tag: "system",
    summary: "Whether the server is up",
    owner: "public",
    response: openObject<{ status: "ok" }>({ status: only("ok") }),
  }),
  openApi: route({
    method: "GET",
    path: "/api/openapi.json",
    tag: "system",
    summary: "This document",
    owner: "public",
    response: anyObject(),
  }),
  explorer: route({
    method: "GET",
    path: "/api/explorer",
    tag: "system",
    summary: "A page to read and try the routes",
    owner: "public",
    kind: "raw",
  }),
  listTools: route({
    method: "GET",
    path: "/api/tools",
    tag: "tools",
    summary: "Tools of the host and of its agents, by name",
    owner: "app",
    response: record(shapes.toolInfo),
  }),
  getTool: route({
    method: "GET",
    path: "/api/tools/:toolId",
    tag: "tools",
    summary: "A tool, by registered name or by id",
    owner: "app",
    params: object<{ toolId: string }>({ toolId: id() }),
    response: shapes.toolInfo,
  }),
  executeTool: route({
    method: "POST",
    path: "/api/tools/:toolId/execute",
    tag: "tools",
    summary: "Runs a tool. One that asks for approval needs approved: true and the grant approve-tools",
    owner: "grant",
    grant: "tools",
    params: object<{ toolId: string }>({ toolId: id() }),
    body: executeToolBody,
    response: anything(),
  }),
  listMcpServers: route({
    method: "GET",
    path: "/api/mcp/v0/servers",
    tag: "mcp",
    summary: "MCP servers of the host",
    owner: "app",
    query: object<{ limit?: number; offset?: number }>({
      limit: optional(integer({ minimum: 1, maximum: 1000 })),
      offset: optional(integer({ minimum: 0 })),
    }),
    response: openObject<AppCalls["listMcpServers"]["response"]>({
      servers: list(mcpServer),
      total_count: integer(),
      next: anything<string | null>(),
    }),
  }),
  getMcpServer: route({
    method: "GET",
    path: "/api/mcp/v0/servers/:serverId",
    tag: "mcp",
    summary: "An MCP server",
    owner: "app",
    params: server,
    response: mcpServer,
  }),
  listMcpTools: route({
    method: "GET",
    path: "/api/mcp/:serverId/tools",
    tag: "mcp",
    summary: "Tools of an MCP server",
    owner: "app",
    params: server,
    response: openObject<{ tools: Record<string, unknown>[] }>({ tools: list(anyObject()) }),
  }),
  getMcpTool: route({
    method: "GET",
    path: "/api/mcp/:serverId/tools/:toolId",
    tag: "mcp",
    summary: "A tool of an MCP server",
    owner: "app",
    params: serverTool,
    response: anyObject(),
  }),
  executeMcpTool: route({
    method: "POST",
    path: "/api/mcp/:serverId/tools/:toolId/execute",
    tag: "mcp",
    summary: "Runs a tool of an MCP server",
    owner: "grant",
    grant: "mcp",
    params: serverTool,
    body: object<{ data?: unknown }>({ data: optional(anything()) }),
    response: openObject<{ result: unknown }>({ result: anything() }),
  }),
  listMcpResources: route({
    method: "GET",
    path: "/api/mcp/:serverId/resources",
    tag: "mcp",
    summary: "Resources of an MCP server, as the caller sees them",
    owner: "grant",
    grant: "mcp",
    params: server,
    response: openObject<{ resources: Wire.McpResource[] }>({
      resources: list(anyObject<Wire.McpResource>()),
    }),
  }),
  readMcpResource: route({
    method: "POST",
    path: "/api/mcp/:serverId/resources/read",
    tag: "mcp",
    summary: "Reads a resource of an MCP server",
    owner: "grant",
    grant: "mcp",
    params: server,
    body: object<{ uri: string }>({ uri: text({ minLength: 1, maxLength: 4096 }) }),
    response: openObject<{ contents: Wire.McpResourceContent[] }>({
      contents: list(anyObject<Wire.McpResourceContent>()),
    }),
  }),
  mcpHttp: route({
    method: "ALL",
    path: "/api/mcp/:serverId/mcp",
    tag: "mcp",
    summary: "The Model Context Protocol over streamable HTTP",
    owner: "grant",
    grant: "mcp",
    kind: "raw",
    params: server,
  }),
  mcpSse: route({
    method: "ALL",
    path: "/api/mcp/:serverId/sse",
    tag: "mcp",
    summary: "The Model Context Protocol over SSE, for early clients",
    owner: "grant",
    grant: "mcp",
    kind: "raw",
    params: server,
  }),
  mcpMessages: route({
    method: "POST",
    path: "/api/mcp/:serverId/messages",
    tag: "mcp",
    summary: "Messages from a client that listens over SSE",
    owner: "grant",
    grant: "mcp",
    kind: "raw",
    params: server,
  }),
  listEmbedders: route({
    method: "GET",
    path: "/api/embedders",
    tag: "vectors",
    summary: "Embedders that memories of the host search with",
    owner: "grant",
    grant: "vectors",
    response: openObject<AppCalls["listEmbedders"]["response"]>({
      embedders: list(
        openObject<Wire.EmbedderInfo>({
          id: text(),
          provider: text(),
          name: text(),
          description: text(),
          dimensions: optional(integer()),
        }),
      ),
    }),
  }),
  listVectors: route({
    method: "GET",
    path: "/api/vectors",
    tag: "vectors",
    summary: "Vector stores of the host",
    owner: "grant",
    grant: "vectors",
    response: openObject<AppCalls["listVectors"]["response"]>({
      vectors: list(openObject<{ name: string; id: string }>({ name: text(), id: text() })),
    }),
  }),
  listVectorIndexes: route({
    method: "GET",
    path: "/api/vector/:vectorName/indexes",
    tag: "vectors",
    summary: "Indexes of a vector store",
    owner: "grant",
    grant: "vectors",
    params: vector,
    response: openObject<{ indexes: string[] }>({ indexes: list(text()) }),
  }),
  getVectorIndex: route({
    method: "GET",
    path: "/api/vector/:vectorName/indexes/:indexName",
    tag: "vectors",
    summary: "An index",
    owner: "grant",
    grant: "vectors",
    params: index,
    response: openObject<AppCalls["getVectorIndex"]["response"]>({
      dimension: integer(),
      count: integer(),
      metric: text(),
    }),
  }),
  deleteVectorIndex: route({
    method: "DELETE",
    path: "/api/vector/:vectorName/indexes/:indexName",
    tag: "vectors",
    summary: "Deletes an index",
    owner: "grant",
    grant: "vectors",
    params: index,
    response: success,
  }),
  createVectorIndex: route({
    method: "POST",
    path: "/api/vector/:vectorName/create-index",
    tag: "vectors",
    summary: "Creates an index",
    owner: "grant",
    grant: "vectors",
    params: vector,
    body: object<AppCalls["createVectorIndex"]["body"]>({
      indexName: id(),
      dimension: integer({ minimum: 1, maximum: 100_000 }),
      metric: optional(oneOf("cosine", "euclidean", "dotproduct")),
    }),
    response: success,
  }),
  upsertVectors: route({
    method: "POST",
    path: "/api/vector/:vectorName/upsert",
    tag: "vectors",
    summary: "Inserts or replaces vectors",
    owner: "grant",
    grant: "vectors",
    params: vector,
    body: object<AppCalls["upsertVectors"]["body"]>({
      indexName: id(),
      vectors: list(numbers, { maxItems: 10_000 }),
      metadata: optional(list(anyObject(), { maxItems: 10_000 })),
      ids: optional(list(id(), { maxItems: 10_000 })),
    }),
    response: openObject<{ ids: string[] }>({ ids: list(text()) }),
  }),
  queryVectors: route({
    method: "POST",
    path: "/api/vector/:vectorName/query",
    tag: "vectors",
    summary: "The nearest vectors",
    owner: "grant",
    grant: "vectors",
    params: vector,
    body: object<Wire.VectorQueryBody>({
      indexName: id(),
      queryVector: numbers,
      topK: optional(integer({ minimum: 1, maximum: 10_000 })),
      filter: optional(anyObject()),
      includeVector: optional(flag()),
    }),
    response: openObject<{ results: Record<string, unknown>[] }>({ results: list(anyObject()) }),
  }),
};
