import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { AgentError, type Logger, realSystem, type System } from "@selvedge/core";
import { Quota, toLimits } from "@selvedge/core/guards";
import type { ToolExecutionOptions } from "@selvedge/core/tools";
import {
  type AuthInfo,
  InMemoryServerEventBus,
  type McpRequestContext,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type Server,
  type ServerEvent,
  type WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { serveStdio, type StdioServerHandle, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { consoleLogger } from "../console-logger.ts";
import { Authorizer } from "./authorizer.ts";
import { type CallExtra, hostExtra } from "./call-extra.ts";
import { callTool, type CallGuard } from "./call-tool.ts";
import { checkCaller } from "./check-caller.ts";
import { type Connection, openConnection } from "./connection.ts";
import { converseInRounds, converseOverSession } from "./conversation.ts";
import { HttpEndpoint, type StreamableHTTPServerTransportOptions } from "./http-endpoint.ts";
import { OpenCalls } from "./open-calls.ts";
import { runHandler } from "./run-handler.ts";
import { readResource } from "./resources-handlers.ts";
import { type ServedTool } from "./served-tool.ts";
import { servedTools } from "./served-tools.ts";
import { DEFAULT_CALL_LIMITS, type MCPServerConfig } from "./server-config.ts";
import {
  type ServerDetail,
  serverDetail,
  type ServerInfo,
  serverInfo,
  type ToolInfo,
  toolInfo,
  type ToolListInfo,
} from "./server-info.ts";
import type { ServerParts } from "./server-parts.ts";
import { WebSseEndpoint, type WebSseOptions } from "./web-sse-endpoint.ts";
import { SseEndpoint, type SseRequest } from "./sse-endpoint.ts";

// Web frameworks pass different values; the documentation leaves the type open too.
// oxlint-disable-next-line typescript/no-explicit-any
type Given = any;

type SsePaths = Pick<SseRequest, "url" | "ssePath" | "messagePath">;

/** The caller, when the host makes the request on their behalf. */
interface HostCaller {
  extra?: { authInfo?: AuthInfo; signal?: AbortSignal };
}

/** Serves tools, agents and workflows over stdio, HTTP or SSE, to several clients at once. */
export class MCPServer {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** The tools by name, and a way to announce that they changed. */
  readonly tools: (() => Record<string, ServedTool["tool"]>) & { notifyListChanged(): Promise<void> };
  readonly resources: {
    notifyUpdated(resource: { uri: string }): Promise<void>;
    notifyListChanged(): Promise<void>;
  };
  readonly prompts: { notifyListChanged(): Promise<void> };
  readonly #config: MCPServerConfig;
  readonly #releaseDate: string;
  readonly #logger: Logger;
  readonly #system: System;
  readonly #tools: ReadonlyMap<string, ServedTool>;
  readonly #calls: OpenCalls;
  readonly #guard: CallGuard;
  readonly #bus = new InMemoryServerEventBus();
  readonly #live = new Set<Connection>();
  readonly #authorizer: Authorizer | undefined;
  readonly #http: HttpEndpoint;
  readonly #sse: SseEndpoint;
  readonly #honoSse: SseEndpoint;
  readonly #webSse: WebSseEndpoint;
  #stdio: { transport: StdioServerTransport; handle: StdioServerHandle } | undefined;

  constructor(config: MCPServerConfig) {
    for (const field of ["name", "version"] as const) {
      if (typeof config?.[field] !== "string" || config[field] === "")
        throw new AgentError(
          "invalid-argument",
          `An MCP server needs a ${field}, got ${String(config?.[field])}.`,
        );
    }
    this.#config = config;
    this.#logger = config.logger ?? consoleLogger;
    this.#system = config.system ?? realSystem;
    this.id = config.id ?? this.#system.newId();
    this.name = config.name;
    this.version = config.version;
    this.#releaseDate = config.releaseDate ?? new Date(this.#system.now()).toISOString();
    this.#tools = servedTools(config, this.#logger);
    this.#authorizer = config.auth && new Authorizer(config.auth, this.#logger);
    this.#calls = new OpenCalls(config.requestStateKey ?? randomBytes(32), this.#system);
    const callLimits = toLimits(DEFAULT_CALL_LIMITS, config.limits);
    this.#guard = {
      limits: callLimits,
      running: new Quota({ total: callLimits.calls, each: callLimits.callsPerCaller }),
      system: this.#system,
    };
    const limits = config.sessions ?? {};
    const shared = { system: this.#system, logger: this.#logger };
    const openSession = (): Connection => this.#openSession();
    this.#http = new HttpEndpoint({
      openSession,
      factory: (context) => this.#connect(context).server,
      bus: this.#bus,
      limits,
      ...shared,
    });
    this.#sse = new SseEndpoint(openSession, limits, shared);
    this.#honoSse = new SseEndpoint(openSession, limits, shared);
    this.#webSse = new WebSseEndpoint(openSession, limits, shared);
    const tell = (event: ServerEvent, send: (server: Server) => Promise<void>) => () =>
      this.#tell(event, send);
    this.tools = Object.assign(
      () => Object.fromEntries([...this.#tools].map(([name, { tool }]) => [name, tool])),
      { notifyListChanged: tell({ kind: "tools_list_changed" }, (server) => server.sendToolListChanged()) },
    );
    this.prompts = {
      notifyListChanged: tell({ kind: "prompts_list_changed" }, (server) => server.sendPromptListChanged()),
    };
    this.resources = {
      notifyListChanged: tell({ kind: "resources_list_changed" }, (server) =>
        server.sendResourceListChanged(),
      ),
      notifyUpdated: ({ uri }) =>
        this.#tell(
          { kind: "resource_updated", uri },
          (server) => server.sendResourceUpdated({ uri }),
          ({ subscriptions }) => subscriptions.has(uri),
        ),
    };
  }

  /** Serves the parent process over stdin and stdout. */
  async startStdio(): Promise<void> {
    const transport = new StdioServerTransport();
    const handle = serveStdio((context) => this.#keep(this.#connect(context, true)).server, {
      transport,
      onerror: (error) => this.#logger.debug("MCP over stdio:", error),
    });
    this.#stdio = { transport, handle };
  }

  /** Handles a web server's request at `ssePath` or `messagePath`. */
  async startSSE(request: SsePaths & { req: Given; res: Given }): Promise<void> {
    await this.#serveSse(this.#sse, request);
  }

  /**
   * Like `startSSE`, for Hono on Node: pass its context as `context` and return the result from the handler. The
   * context may also be passed as `req`; the handler then returns the `RESPONSE_ALREADY_SENT` of Hono's server.
   */
  startHonoSSE(request: SsePaths & { context: Given }): Promise<Response>;
  startHonoSSE(request: SsePaths & { req: Given; res?: Given }): Promise<void>;
  async startHonoSSE({
    context,
    req = context,
    res,
    ...paths
  }: SsePaths & { context?: Given; req?: Given; res?: Given }): Promise<Response | void> {
    const { incoming, outgoing } = (req?.env ?? {}) as Partial<Record<"incoming" | "outgoing", Given>>;
    const onNode = incoming !== undefined && outgoing !== undefined;
    if (!onNode && !res) {
      throw new AgentError(
        "not-supported",
        "startHonoSSE needs Hono on Node, or req and res of a Node server. Elsewhere return server.fetchSSE(context.req.raw, { messagePath }).",
      );
    }
    await this.#serveSse(this.#honoSse, {
      ...paths,
      ...(onNode ? { req: incoming, res: outgoing } : { req, res }),
    });
    // Hono's server skips this response. It reads the headers only of a clone; a new Response is Hono's lightweight
    // class.
    if (context) return new Response(null, { headers: { "x-hono-already-sent": "true" } }).clone();
  }

  /** Handles a web server's request at `httpPath`, in both versions of the protocol. */
  async startHTTP(request: {
    url: URL;
    httpPath: string;
    req: IncomingMessage;
    res: ServerResponse;
    options?: StreamableHTTPServerTransportOptions;
  }): Promise<void> {
    const { url, httpPath, req, res, options = {} } = request;
    if (this.#authorizer?.serveMetadata(url, req, res)) return;
    if (url.pathname !== httpPath) {
      res.writeHead(404, { "content-type": "text/plain" }).end("Not found");
      return;
    }
    if (!checkCaller(req, res, { ...this.#config, ...options })) return;
    if (this.#authorizer && !(await this.#authorizer.admit(req, res))) return;
    await this.#http.serve(req, res, options);
  }

  /**
   * Handles one request for hosts that use `Request` and `Response`. The host decides who may call and passes the
   * caller as `caller`: a session belongs to the caller who opened it, and tools receive the caller as `authInfo`.
   */
  fetch(request: Request, caller: { authInfo?: AuthInfo } = {}): Promise<Response> {
    return this.#http.fetch(request, caller);
  }

  /** The same for clients of the older SSE transport: a GET opens the stream, POSTs go to `messagePath`. */
  fetchSSE(request: Request, options: WebSseOptions): Promise<Response> {
    return this.#webSse.fetch(request, options);
  }

  async close(): Promise<void> {
    this.#calls.close();
    await Promise.all([
      this.#http.close(),
      this.#sse.close(),
      this.#honoSse.close(),
      this.#webSse.close(),
      this.#stdio?.handle.close(),
    ]);
    await Promise.all([...this.#live].map(({ server }) => server.close()));
    this.#live.clear();
    this.#stdio = undefined;
  }

  getServerInfo(): ServerInfo {
    return serverInfo(this.#config, this.id, this.#releaseDate);
  }

  getServerDetail(): ServerDetail {
    return serverDetail(this.#config, this.id, this.#releaseDate);
  }

  getToolListInfo(): ToolListInfo {
    return { tools: [...this.#tools.values()].map(toolInfo) };
  }

  getToolInfo(toolName: string): ToolInfo {
    return toolInfo(this.#find(toolName));
  }

  /** Runs a tool without a client. Throws if the tool does not exist, its input is invalid, or it fails. */
  async executeTool(
    toolId: string,
    args: Given,
    executionContext: {
      messages?: Given[];
      toolCallId?: string;
      abortSignal?: AbortSignal;
      extra?: NonNullable<ToolExecutionOptions["extra"]>;
    } = {},
  ): Promise<Given> {
    return callTool(this.#find(toolId), args ?? {}, executionContext, this.#guard);
  }

  /** Lists resources without a client. Lists may differ per caller. */
  async listResources(caller: HostCaller = {}): Promise<{ resources: Resource[] }> {
    const { resources } = this.#config;
    if (!resources) return { resources: [] };
    return runHandler("The list of resources", this.#extra(caller), this.#guard, async (extra) => ({
      resources: await resources.listResources({ extra }),
    }));
  }

  /** Reads a resource without a client: one that is listed or matches a listed template. */
  async readResource(uri: string, caller: HostCaller = {}): Promise<ReadResourceResult> {
    const { resources } = this.#config;
    try {
      if (!resources) throw new ResourceNotFoundError(uri);
      return await runHandler("The resource handler", this.#extra(caller), this.#guard, (extra) =>
        readResource(resources, uri, extra),
      );
    } catch (thrown) {
      if (!(thrown instanceof ResourceNotFoundError)) throw thrown;
      const message = `There is no resource "${uri}" on MCP server "${this.name}".`;
      throw new AgentError("not-found", message, { cause: thrown });
    }
  }

  getStdioTransport(): StdioServerTransport | undefined {
    return this.#stdio?.transport;
  }

  getSseTransport(): SSEServerTransport | undefined {
    return this.#sse.latest;
  }

  getSseHonoTransport(): SSEServerTransport | undefined {
    return this.#honoSse.latest;
  }

  getStreamableHTTPTransport(): WebStandardStreamableHTTPServerTransport | undefined {
    return this.#http.latestTransport;
  }

  #extra({ extra }: HostCaller): CallExtra {
    return hostExtra(this.#system.newId(), extra);
  }

  #find(toolName: string): ServedTool {
    const served = this.#tools.get(toolName);
    if (served) return served;
    throw new AgentError("tool-not-found", `There is no tool "${toolName}" on MCP server "${this.name}".`);
  }

  async #serveSse(endpoint: SseEndpoint, request: SseRequest): Promise<void> {
    const { url, req, res } = request;
    if (this.#authorizer?.serveMetadata(url, req, res) || !checkCaller(req, res, this.#config)) return;
    if (!this.#authorizer || (await this.#authorizer.admit(req, res))) await endpoint.serve(request);
  }

  #openSession(): Connection {
    return this.#keep(this.#connect({ era: "legacy" }));
  }

  #connect({ era }: McpRequestContext, isParent = false): Connection {
    const parts: ServerParts = {
      config: this.#config,
      tools: this.#tools,
      guard: this.#guard,
      logger: this.#logger,
      system: this.#system,
      newId: () => this.#system.newId(),
      isParent,
      converse: era === "modern" ? converseInRounds(this.#calls) : converseOverSession,
    };
    return openConnection(parts, era === "modern" ? this.#calls.codec : undefined);
  }

  /** A lasting connection is notified of changes. */
  #keep(connection: Connection): Connection {
    this.#live.add(connection);
    let onclose: (() => void) | undefined;
    // The transport's owner sets its own handler; ours runs first.
    Object.defineProperty(connection.server, "onclose", {
      get: () => () => {
        this.#live.delete(connection);
        onclose?.();
      },
      set: (handler: (() => void) | undefined) => {
        onclose = handler;
      },
    });
    return connection;
  }

  async #tell(
    event: ServerEvent,
    send: (server: Server) => Promise<void>,
    concerns: (connection: Connection) => boolean = () => true,
  ): Promise<void> {
    this.#bus.publish(event);
    await Promise.all(
      [...this.#live]
        .filter(concerns)
        .map(({ server }) =>
          send(server).catch((error: unknown) =>
            this.#logger.debug("Notifying an MCP client failed:", error),
          ),
        ),
    );
  }
}
