import { AgentError, type Agent } from "@selvedge/core";
import { listWorkers } from "@selvedge/core/threads";
import type { ToolLike } from "@selvedge/core/tools";
import { workflowRunsByWorker } from "@selvedge/core/workflows";
import type { Vector } from "@selvedge/core/vector";
import type { McpResource, McpResourceContent, McpServerInfo } from "@selvedge/protocol/routes";
import type { App } from "../app.ts";
import type { Principal } from "../caller.ts";
import type { Call, Handlers, Tagged } from "../handler.ts";
import { openApi } from "../open-api.ts";
import { readBody } from "../read-body.ts";
import { explorerPage } from "../pages/explorer.ts";
import { requireStorage } from "../thread-domain.ts";
import { toRequestContext } from "../run-options.ts";
import { pickTool, runTool } from "./agent-handlers.ts";
import { toolInfo } from "./agent-info.ts";
import { listEmbedders } from "./list-embedders.ts";

/** The part of an MCP server that the server uses. `MCPServer` of `@selvedge/mcp` implements it. */
interface McpServer {
  id: string;
  name: string;
  getServerInfo(): McpServerInfo;
  getServerDetail(): McpServerInfo;
  getToolListInfo(): { tools: Record<string, unknown>[] };
  getToolInfo(name: string): Record<string, unknown>;
  executeTool(
    name: string,
    args: unknown,
    context: { extra: { authInfo?: McpCaller }; abortSignal: AbortSignal },
  ): Promise<unknown>;
  listResources?(caller: HostCaller): Promise<{ resources: McpResource[] }>;
  readResource?(uri: string, caller: HostCaller): Promise<{ contents: McpResourceContent[] }>;
  fetch?(request: Request, caller: { authInfo?: McpCaller }): Promise<Response>;
  fetchSSE?(request: Request, options: { messagePath: string; authInfo?: McpCaller }): Promise<Response>;
}

interface HostCaller {
  extra: { authInfo?: McpCaller; signal: AbortSignal };
}

/** A caller in the form the MCP libraries use. Its token stays here. */
interface McpCaller {
  token: string;
  clientId: string;
  scopes: string[];
  extra: { sub?: string; inspect: boolean };
}

export const APP_HANDLERS: Handlers<Tagged<"system" | "tools" | "mcp" | "vectors">> = {
  health: async () => ({ status: "ok" }),
  openApi: async ({ app, request }) => openApi(new URL(request.url).origin, app),
  explorer: async () => explorerPage(),
  listWorkers: async ({ app, query }) => {
    const storage = requireStorage(await app.storage(query.agentId));
    const hasWorkflows =
      storage === app.mastra.getStorage() && Object.keys(app.mastra.listWorkflows()).length > 0;
    const [workers, runs] = await Promise.all([
      listWorkers(storage),
      hasWorkflows ? workflowRunsByWorker(storage) : undefined,
    ]);
    return { workers: workers.map((worker) => ({ ...worker, workflowRuns: runs?.get(worker.id) ?? [] })) };
  },

  listTools: async ({ app, caller }) =>
    Object.fromEntries(
      Object.entries(await allTools(app, caller)).map(([name, tool]) => [name, toolInfo(name, tool)]),
    ),
  getTool: async ({ app, caller, params }) => {
    const { name, tool } = pickTool(await allTools(app, caller), params.toolId);
    return toolInfo(name, tool);
  },
  executeTool: async (call) => {
    const { name, tool } = pickTool(await allTools(call.app, call.caller), call.params.toolId);
    return runTool(call, name, tool);
  },

  listMcpServers: async ({ app, query }) => {
    const all = (Object.values(app.mastra.listMCPServers()) as McpServer[]).map((server) =>
      server.getServerInfo(),
    );
    const { limit = all.length, offset = 0 } = query;
    const more = offset + limit < all.length;
    return {
      servers: all.slice(offset, offset + limit),
      total_count: all.length,
      next: more ? `/api/mcp/v0/servers?limit=${limit}&offset=${offset + limit}` : null,
    };
  },
  getMcpServer: async ({ app, params }) => mcpServer(app, params.serverId).getServerDetail(),
  listMcpTools: async ({ app, params }) => mcpServer(app, params.serverId).getToolListInfo(),
  getMcpTool: async ({ app, params }) => mcpServer(app, params.serverId).getToolInfo(params.toolId),
  executeMcpTool: async ({ app, caller, params, body, request }) => {
    const server = mcpServer(app, params.serverId);
    const context = { extra: toMcpCaller(caller), abortSignal: request.signal };
    return { result: (await server.executeTool(params.toolId, body.data ?? {}, context)) ?? null };
  },
  listMcpResources: async ({ app, caller, params, request }) => {
    const server = mcpServer(app, params.serverId);
    if (!server.listResources) return { resources: [] };
    return server.listResources({ extra: { ...toMcpCaller(caller), signal: request.signal } });
  },
  readMcpResource: async ({ app, caller, params, body, request }) => {
    const server = mcpServer(app, params.serverId);
    if (server.readResource)
      return server.readResource(body.uri, { extra: { ...toMcpCaller(caller), signal: request.signal } });
    throw new AgentError("not-supported", `MCP server "${params.serverId}" cannot read resources.`);
  },
  mcpHttp: async ({ app, caller, params, request }) => {
    const server = mcpServer(app, params.serverId);
    if (!server.fetch)
      throw new AgentError("not-supported", `MCP server "${params.serverId}" cannot answer over HTTP.`);
    if (request.method !== "DELETE") app.checkRoom(caller);
    return app.relay(
      { caller, request },
      await server.fetch(await withinLimits(request, app), toMcpCaller(caller)),
    );
  },
  mcpSse: mcpOverSse,
  mcpMessages: mcpOverSse,

  listEmbedders: async ({ app }) => ({ embedders: await listEmbedders(app) }),
  listVectors: async ({ app }) => ({
    vectors: (Object.entries(app.mastra.listVectors()) as [string, Vector][]).map(([name, { id }]) => ({
      name,
      id,
    })),
  }),
  listVectorIndexes: async ({ app, params }) => ({ indexes: await vector(app, params).listIndexes() }),
  getVectorIndex: async ({ app, params }) => vector(app, params).describeIndex(params),
  deleteVectorIndex: async ({ app, params }) => {
    await vector(app, params).deleteIndex(params);
    return { success: true };
  },
  createVectorIndex: async ({ app, params, body }) => {
    await vector(app, params).createIndex(body);
    return { success: true };
  },
  upsertVectors: async ({ app, params, body }) => ({ ids: await vector(app, params).upsert(body) }),
  queryVectors: async ({ app, params, body }) => ({
    results: await vector(app, params).query(body),
  }),
};

/** Tools of the host, and of its agents where the host has no tool of that name. */
async function allTools(app: App, caller: Principal): Promise<Record<string, ToolLike>> {
  const requestContext = toRequestContext(undefined, caller);
  const all = new Map<string, ToolLike>();
  for (const agent of Object.values(app.mastra.listAgents()) as Agent[]) {
    const tools: Record<string, ToolLike> = await agent.listTools({ requestContext }).catch(() => ({}));
    for (const [name, tool] of Object.entries(tools)) if (!all.has(name)) all.set(name, tool);
  }
  for (const [name, tool] of Object.entries(app.mastra.listTools())) all.set(name, tool);
  return Object.fromEntries(all);
}

async function mcpOverSse({
  app,
  params,
  request,
  caller,
}: Pick<Call<"mcpSse">, "app" | "params" | "request" | "caller">): Promise<Response> {
  const server = mcpServer(app, params.serverId);
  if (!server.fetchSSE)
    throw new AgentError("not-supported", `MCP server "${params.serverId}" cannot answer over SSE.`);
  const messagePath = new URL(request.url).pathname.replace(/\/(?:sse|messages)$/, "/messages");
  if (request.method === "GET") app.checkRoom(caller);
  const options = { messagePath, ...toMcpCaller(caller) };
  return app.relay({ caller, request }, await server.fetchSSE(await withinLimits(request, app), options));
}

/** Without an authoriser the caller has no `sub`. */
function toMcpCaller(caller: Principal): { authInfo: McpCaller } {
  const { resourceId: sub } = caller;
  const extra = { ...(sub !== undefined && { sub }), inspect: caller.has("inspect") };
  return { authInfo: { token: "", clientId: "selvedge", scopes: [], extra } };
}

/** Reads the body within our limits before passing the request on, since MCP libraries would read without one. */
async function withinLimits(request: Request, app: App): Promise<Request> {
  if (request.method !== "POST") return request;
  const { url, method, signal } = request;
  const headers = new Headers(request.headers);
  headers.delete("content-length");
  const body = JSON.stringify(await readBody(request, app.limits, app.system));
  return new Request(url, { method, headers, signal, body });
}

function mcpServer(app: App, name: string): McpServer {
  const servers = app.mastra.listMCPServers() as Record<string, McpServer>;
  if (Object.hasOwn(servers, name)) return servers[name] as McpServer;
  const found = Object.values(servers).find(({ id }) => id === name);
  if (found) return found;
  throw new AgentError("not-found", `There is no MCP server "${name}".`);
}

function vector(app: App, { vectorName }: { vectorName: string }): Vector {
  return app.mastra.getVector(vectorName);
}
