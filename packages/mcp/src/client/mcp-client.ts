import { type OptionNames, warnUnknownOptions } from "@selvedge/core/guards";
import { AgentError, type Logger, realSystem, type System } from "@selvedge/core";
import type { Tool, ToolsetsInput } from "@selvedge/core/tools";
import type { Root } from "@modelcontextprotocol/client";
import { consoleLogger } from "../console-logger.ts";
import { checkProviders } from "./check-audience.ts";
import { quietly } from "./connections.ts";
import { onProcessExit } from "./exit-guard.ts";
import type { ElicitationHandler, ProgressHandler } from "./handle-server-requests.ts";
import { addInstance, configHash, findInstance, removeInstance } from "./instances.ts";
import { PromptActions } from "./prompt-actions.ts";
import { readDefinition } from "./read-definition.ts";
import { ResourceActions } from "./resource-actions.ts";
import { ServerConnection } from "./server-connection.ts";
import type { MastraMCPServerDefinition } from "./server-definition.ts";
import { serverTools } from "./server-tools.ts";
import { distinctToolsets, flatTools, type Toolsets } from "./tool-names.ts";

const DEFAULT_TIMEOUT_MS = 60_000;

export interface MCPClientOptions {
  /** Distinguishes clients with the same servers. */
  id?: string;
  servers: Record<string, MastraMCPServerDefinition>;
  /** Default request timeout in milliseconds. */
  timeout?: number;
  logger?: Logger;
  system?: System;
}

const CLIENT_OPTIONS: OptionNames<Required<MCPClientOptions>> = {
  id: true,
  servers: true,
  timeout: true,
  logger: true,
  system: true,
};

/** Tools of several MCP servers. Connects on first use; one failing server does not affect the others. */
export class MCPClient {
  readonly id: string;
  readonly configHash: string;
  readonly identities: readonly unknown[];
  readonly resources: ResourceActions;
  readonly prompts: PromptActions;
  readonly elicitation: { onRequest(serverName: string, handler: ElicitationHandler): Promise<void> };
  readonly tools: { onListChanged(serverName: string, handler: () => void): Promise<void> };
  readonly progress: { onUpdate(serverName: string, handler: ProgressHandler): Promise<void> };
  readonly roots: { set(serverName: string, roots: Root[]): Promise<void> };
  readonly #connections = new Map<string, ServerConnection>();
  readonly #logger: Logger;
  readonly #undoExit: () => void;
  #errors: Record<string, string> = {};
  #disconnecting: Promise<void> | undefined;

  constructor(options: MCPClientOptions) {
    const { id, servers, timeout = DEFAULT_TIMEOUT_MS, logger, system } = options;
    warnUnknownOptions("new MCPClient()", options, CLIENT_OPTIONS, logger ?? consoleLogger);
    const definitions = Object.fromEntries(
      Object.entries(servers ?? {}).map(([name, given]) => [name, readDefinition(name, given)]),
    );
    checkProviders(definitions);
    this.configHash = configHash(servers);
    this.identities = Object.values(definitions).map(({ authProvider }) => authProvider);
    this.id = id ?? this.configHash;
    this.#logger = logger ?? consoleLogger;
    const existing = findInstance(id, this.configHash, this.identities);
    const defaults = { timeout, system: system ?? realSystem, logger: this.#logger };
    if (!existing)
      for (const [name, definition] of Object.entries(definitions))
        this.#connections.set(name, new ServerConnection(name, definition, defaults));
    const connections = {
      all: [...this.#connections.values()],
      find: (name: string) => this.#find(name),
      logger: this.#logger,
    };
    this.resources = new ResourceActions(connections);
    this.prompts = new PromptActions(connections);
    this.elicitation = {
      onRequest: async (serverName, handler) => {
        this.#find(serverName).handlers.elicitation = handler;
      },
    };
    this.tools = {
      onListChanged: (serverName, handler) => {
        const connection = this.#find(serverName);
        connection.handlers.toolsChanged = handler;
        return quietly(connection.listen());
      },
    };
    this.progress = {
      onUpdate: async (serverName, handler) => {
        this.#find(serverName).handlers.progress = handler;
      },
    };
    this.roots = { set: (serverName, roots) => this.#find(serverName).setRoots(roots) };
    this.#undoExit = existing
      ? () => {}
      : onProcessExit(() => this.#connections.forEach((one) => one.kill()));
    // Returns the existing client for a known id, as documented: a module evaluated twice gets one client.
    if (existing) return existing as MCPClient;
    addInstance(this);
  }

  /** Why servers or tools were missing from the last listing, by server. */
  get errors(): Readonly<Record<string, string>> {
    return this.#errors;
  }

  get sessionIds(): Record<string, string> {
    const pairs = [...this.#connections].map(([name, { sessionId }]) => [name, sessionId] as const);
    return Object.fromEntries(
      pairs.filter((pair): pair is readonly [string, string] => pair[1] !== undefined),
    );
  }

  /** All tools of all servers, as `<server>_<tool>`. */
  async getTools(): Promise<Record<string, Tool>> {
    return (await this.getToolsWithErrors()).tools;
  }

  /** The newer name of `getTools`. */
  listTools(): Promise<Record<string, Tool>> {
    return this.getTools();
  }

  async getToolsWithErrors(): Promise<{ tools: Record<string, Tool>; errors: Record<string, string> }> {
    const { toolsets, errors } = await this.#list();
    return { tools: flatTools(toolsets), errors };
  }

  /**
   * Tools grouped by server, for the `toolsets` option of a call. A tool name used by several servers becomes
   * `<server>_<tool>`. `result["server.tool"]` also finds a tool; these names are not enumerable, since they are not
   * toolsets.
   */
  async getToolsets(): Promise<Toolsets> {
    return (await this.getToolsetsWithErrors()).toolsets;
  }

  /** The newer name of `getToolsets`. */
  listToolsets(): Promise<Toolsets> {
    return this.getToolsets();
  }

  async getToolsetsWithErrors(): Promise<{ toolsets: Toolsets; errors: Record<string, string> }> {
    const { toolsets, errors } = await this.#list();
    return { toolsets: distinctToolsets(toolsets) satisfies ToolsetsInput, errors };
  }

  /** Opens a new connection to one server. */
  async reconnectServer(serverName: string): Promise<void> {
    await this.#find(serverName).reconnect();
  }

  /** Completes an OAuth flow after a redirect: `callback` is the query string the user returned with. */
  async finishAuth(serverName: string, callback: URLSearchParams): Promise<void> {
    await this.#find(serverName).finishAuth(callback);
  }

  /** Closes all connections and child processes. This client cannot be used again; create a new one. */
  disconnect(): Promise<void> {
    this.#disconnecting ??= Promise.allSettled(
      [...this.#connections.values()].map((one) => one.close()),
    ).then(() => {
      this.#undoExit();
      removeInstance(this);
    });
    return this.#disconnecting;
  }

  async #list(): Promise<{ toolsets: Toolsets; errors: Record<string, string> }> {
    const toolsets: Toolsets = {};
    const errors: Record<string, string> = {};
    const listed = await Promise.allSettled([...this.#connections.values()].map((one) => serverTools(one)));
    for (const [index, name] of [...this.#connections.keys()].entries()) {
      const result = listed[index]!;
      if (result.status === "rejected") {
        errors[name] = result.reason instanceof Error ? result.reason.message : String(result.reason);
        this.#logger.warn(`MCP server "${name}" is left out: ${errors[name]}`);
        continue;
      }
      const { tools, problems } = result.value;
      if (problems.length > 0) errors[name] = problems.join("\n");
      toolsets[name] = tools;
    }
    this.#errors = errors;
    return { toolsets, errors };
  }

  #find(name: string): ServerConnection {
    const connection = this.#connections.get(name);
    if (connection) return connection;
    const known = [...this.#connections.keys()].map((one) => `"${one}"`).join(", ") || "none";
    throw new AgentError("not-found", `This MCP client has no server "${name}". It has: ${known}.`);
  }
}
