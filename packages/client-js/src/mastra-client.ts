import type {
  ExecuteToolBody,
  RouteCalls,
  RouteName,
  ThreadQuery,
  ToolInfo,
} from "@selvedge/protocol/routes";
import { call, type CallArguments, type CallResult } from "./call.ts";
import { ClientAgent } from "./client-agent.ts";
import { ClientController } from "./client-controller.ts";
import type { ClientOptions } from "./client-options.ts";
import { ClientVector } from "./client-vector.ts";
import { ClientWorkspace } from "./client-workspace.ts";
import { MemoryThread } from "./memory-thread.ts";
import { type RequestInput, Transport } from "./transport.ts";

/** A tool on a server. */
export interface ClientTool {
  details(): Promise<ToolInfo>;
  execute(body?: ExecuteToolBody): Promise<unknown>;
}

/**
 * A server with agents. `call` reaches every route of the table; the other methods are shorthands for the most used
 * ones.
 */
export class MastraClient {
  readonly options: ClientOptions;
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    this.options = options;
    this.#transport = new Transport(options);
  }

  /** Calls a route by name: returns JSON for most, a `Connection` of events for streams. */
  call<Name extends RouteName>(name: Name, ...[input]: CallArguments<Name>): Promise<CallResult<Name>> {
    return call(this.#transport, name, (input ?? {}) as RequestInput);
  }

  listAgents(): Promise<CallResult<"listAgents">> {
    return this.call("listAgents");
  }

  getAgent(agentId: string): ClientAgent {
    return new ClientAgent(this.#transport, agentId);
  }

  listAgentControllers(): Promise<CallResult<"listControllers">> {
    return this.call("listControllers");
  }

  getAgentController(controllerId: string): ClientController {
    return new ClientController(this.#transport, controllerId);
  }

  listMemoryThreads(query: RouteCalls["listThreads"]["query"] = {}): Promise<CallResult<"listThreads">> {
    return this.call("listThreads", { query });
  }

  createMemoryThread({
    agentId,
    ...body
  }: RouteCalls["createThread"]["body"] & { agentId?: string } = {}): Promise<CallResult<"createThread">> {
    return this.call("createThread", { body, query: agentId === undefined ? {} : { agentId } });
  }

  getMemoryThread(options: ThreadQuery & { threadId: string }): MemoryThread {
    return new MemoryThread(this.#transport, options);
  }

  /** The configuration of an agent's memory. */
  getMemoryConfig(agentId?: string): Promise<CallResult<"memoryConfig">> {
    return this.call("memoryConfig", { query: agentId === undefined ? {} : { agentId } });
  }

  getMemoryStatus(agentId?: string): Promise<CallResult<"memoryStatus">> {
    return this.call("memoryStatus", { query: agentId === undefined ? {} : { agentId } });
  }

  /** Adds or replaces messages of existing threads. */
  saveMessageToMemory({
    agentId,
    ...body
  }: RouteCalls["saveMessages"]["body"] & { agentId?: string }): Promise<CallResult<"saveMessages">> {
    return this.call("saveMessages", { body, query: agentId === undefined ? {} : { agentId } });
  }

  /** Finds messages by words, and by meaning if semantic recall is on. */
  searchMemory(query: RouteCalls["searchMemory"]["query"]): Promise<CallResult<"searchMemory">> {
    return this.call("searchMemory", { query });
  }

  listTools(): Promise<CallResult<"listTools">> {
    return this.call("listTools");
  }

  getTool(toolId: string): ClientTool {
    return {
      details: () => this.call("getTool", { params: { toolId } }),
      execute: (body = {}) => this.call("executeTool", { params: { toolId }, body }),
    };
  }

  listWorkspaces(): Promise<CallResult<"listWorkspaces">> {
    return this.call("listWorkspaces");
  }

  getWorkspace(workspaceId: string): ClientWorkspace {
    return new ClientWorkspace(this.#transport, workspaceId);
  }

  getVector(vectorName: string): ClientVector {
    return new ClientVector(this.#transport, vectorName);
  }

  listEmbedders(): Promise<CallResult<"listEmbedders">> {
    return this.call("listEmbedders");
  }

  getMcpServerResources(serverId: string): Promise<CallResult<"listMcpResources">> {
    return this.call("listMcpResources", { params: { serverId } });
  }

  readMcpServerResource(serverId: string, uri: string): Promise<CallResult<"readMcpResource">> {
    return this.call("readMcpResource", { params: { serverId }, body: { uri } });
  }

  listMcpServers(query: RouteCalls["listMcpServers"]["query"] = {}): Promise<CallResult<"listMcpServers">> {
    return this.call("listMcpServers", { query });
  }
}
