import type { Agent } from "../agent/agent.ts";
import { checkDurableContextKeys } from "../agent/check-options.ts";
import { AgentError, showValue } from "../errors.ts";
import { defaultLogger, type Logger, silentLogger } from "../logger.ts";
import type { ServerConfig } from "./server-config.ts";
import type { ThreadsConfig } from "../agent/agent-config.ts";
import type { MastraMemory } from "../memory/memory.ts";
import {
  type NotificationDispatchConfig,
  NotificationDispatcher,
} from "../notification/notification-dispatcher.ts";
import type { Storage } from "../storage/storage.ts";
import { type IdPurpose, realSystem, type System } from "../system.ts";
import type { TelemetrySettings } from "../telemetry/telemetry.ts";
import type { ToolLike } from "../tool/tool.ts";
import type { Vector } from "../vector/vector.ts";
import type { Workspace } from "../workspace/workspace.ts";

type Registry<Value> = Record<string, Value>;

/** A controller, as its host sees it. */
export interface HostedController {
  readonly id: string;
  useHost(host: Mastra<any, any, any>): void;
  /** The agent that carries out its runs. */
  getCurrentAgent(): Agent<any, any>;
  recover(): Promise<void>;
  destroy(): Promise<void>;
}

/** What traces the runs, as the host sees it. */
interface HostedObservability {
  readonly telemetry?: TelemetrySettings | undefined;
  shutdown?(): Promise<void>;
}

export interface MastraConfig<
  Agents extends Registry<Agent<any, any>> = Registry<Agent<any, any>>,
  Vectors extends Registry<Vector> = Registry<Vector>,
  Controllers extends Registry<HostedController> = Registry<HostedController>,
> {
  agents?: Agents;
  /** Controllers. Their sessions resume and their threads are served like those of agents. */
  agentControllers?: Controllers;
  tools?: Registry<ToolLike>;
  /** Used by every memory that has no storage. */
  storage?: Storage;
  memory?: Registry<MastraMemory>;
  vectors?: Vectors;
  /** Files for agents that have no workspace. */
  workspace?: Workspace;
  /** Stored; see the MCP package. */
  mcpServers?: Registry<any>;
  /** Stored; running them is later work. */
  workflows?: Registry<any>;
  scorers?: Registry<any>;
  /** With dispatch enabled, deferred notifications and summaries are delivered when due. */
  notifications?: { dispatch?: NotificationDispatchConfig };
  /** Limits for the threads of all agents, and whether unfinished runs are resumed. */
  threads?: ThreadsConfig;
  /** How the host is served: its own routes, middleware, authentication, address. */
  server?: ServerConfig;
  /** Traces all runs: an `Observability` of @selvedge/observability. */
  observability?: HostedObservability;
  /** Request context keys stored with a run, for agents that set none. */
  durableContextKeys?: readonly string[];
  /** `false` disables logging. */
  logger?: Logger | false;
  /** Makes the ids of threads, messages and runs. */
  idGenerator?: (purpose?: IdPurpose) => string;
  system?: System;
}

/**
 * The host: what an app's agents share. It passes its storage and logger to what is registered with it, finds things by
 * name, and closes what it opened. Agents also work without one.
 */
export class Mastra<
  Agents extends Registry<Agent<any, any>> = Registry<Agent<any, any>>,
  Vectors extends Registry<Vector> = Registry<Vector>,
  Controllers extends Registry<HostedController> = Registry<HostedController>,
> {
  readonly logger: Logger;
  readonly system: System;
  readonly #config: MastraConfig<Agents, Vectors, Controllers>;
  #closed: Promise<void> | undefined;
  #recovery: Promise<void> | undefined;
  readonly #dispatcher: NotificationDispatcher | undefined;
  readonly #workspaces = new Map<string, Workspace>();
  #dispatch: Promise<void> | undefined;

  constructor(config: MastraConfig<Agents, Vectors, Controllers> = {}) {
    checkDurableContextKeys(config.durableContextKeys);
    this.#config = { ...config };
    this.logger = config.logger === false ? silentLogger : (config.logger ?? defaultLogger);
    this.system = withIds(config.system ?? realSystem, config.idGenerator);
    this.#checkAgentIds();
    if (config.workspace) this.addWorkspace(config.workspace);
    if (config.storage)
      for (const memory of Object.values(config.memory ?? {})) memory.useStorage(config.storage);
    for (const agent of Object.values(config.agents ?? {})) agent.useHost(this);
    for (const controller of this.#controllers) controller.useHost(this);
    if (config.storage && config.threads?.recover !== false) {
      this.#recovery = this.#recover();
      this.#recovery.catch(
        (error: unknown) => !this.#closed && this.logger.error("Recovering unfinished threads failed", error),
      );
    }
    this.#dispatcher = this.#makeDispatcher(config);
    this.#dispatch = this.#dispatcher?.start();
    this.#dispatch?.catch(
      (error: unknown) => !this.#closed && this.logger.error("Notifications are not dispatched", error),
    );
  }

  /** The telemetry of runs that have none of their own. */
  get telemetry(): TelemetrySettings | undefined {
    return this.#config.observability?.telemetry;
  }

  get threads(): ThreadsConfig | undefined {
    return this.#config.threads;
  }

  get durableContextKeys(): readonly string[] | undefined {
    return this.#config.durableContextKeys;
  }

  getAgent<Name extends keyof Agents & string>(name: Name): Agents[Name] {
    return find(this.#config.agents, name, "agent") as Agents[Name];
  }

  getAgentById(id: string): Agent<any, any> {
    const agent = Object.values(this.#config.agents ?? {}).find((candidate) => candidate.id === id);
    if (!agent)
      throw missing(
        "agent with id",
        id,
        Object.values(this.#config.agents ?? {}).map((candidate) => candidate.id),
      );
    return agent;
  }

  /** Adds an agent to a host that exists already. Resolves when what it left unfinished is taken up. */
  async addAgent(agent: Agent<any, any>, name: string = agent.id): Promise<void> {
    const before = this.#config.agents;
    if (before && Object.hasOwn(before, name)) {
      if (before[name] === agent) return;
      throw new AgentError("invalid-argument", `There is already an agent "${name}". Pass another name.`);
    }
    this.#config.agents = { ...before, [name]: agent } as unknown as Agents;
    try {
      this.#checkAgentIds();
    } catch (error) {
      this.#config.agents = before as Agents;
      throw error;
    }
    agent.useHost(this);
    if (this.#recovery) await agent.recover();
  }

  listAgents(): Agents {
    return { ...this.#config.agents } as Agents;
  }

  /** The older name of `listAgents`. */
  getAgents(): Agents {
    return this.listAgents();
  }

  /** Finds a controller by its registered name or its id. */
  getAgentController<Name extends keyof Controllers & string>(id: Name): Controllers[Name] {
    const byId = this.#controllers.find((controller) => controller.id === id);
    const named = this.#config.agentControllers;
    if (byId && !(named && Object.hasOwn(named, id))) return byId as Controllers[Name];
    return find(named, id, "agent controller") as Controllers[Name];
  }

  listAgentControllers(): Controllers {
    return { ...this.#config.agentControllers } as Controllers;
  }

  /** Adds a controller to a host that exists already. Resolves when what its sessions left unfinished is taken up. */
  async addAgentController(controller: HostedController, name: string = controller.id): Promise<void> {
    const before = this.#config.agentControllers;
    this.#config.agentControllers = { ...before, [name]: controller } as unknown as Controllers;
    try {
      this.#checkAgentIds();
    } catch (error) {
      this.#config.agentControllers = before as Controllers;
      throw error;
    }
    controller.useHost(this);
    if (this.#recovery) await controller.recover();
  }

  get #controllers(): HostedController[] {
    return Object.values(this.#config.agentControllers ?? {});
  }

  getTool(name: string): ToolLike {
    return find(this.#config.tools, name, "tool");
  }

  listTools(): Registry<ToolLike> {
    return { ...this.#config.tools };
  }

  getServer(): ServerConfig | undefined {
    return this.#config.server;
  }

  getStorage(): Storage | undefined {
    return this.#config.storage;
  }

  getMemory(name: string): MastraMemory {
    return find(this.#config.memory, name, "memory");
  }

  listMemory(): Registry<MastraMemory> {
    return { ...this.#config.memory };
  }

  getVector<Name extends keyof Vectors & string>(name: Name): Vectors[Name] {
    return find(this.#config.vectors, name, "vector store") as Vectors[Name];
  }

  listVectors(): Vectors {
    return { ...this.#config.vectors } as Vectors;
  }

  getVectors(): Vectors {
    return this.listVectors();
  }

  /** The workspace of agents that have none. */
  getWorkspace(): Workspace | undefined {
    return this.#config.workspace;
  }

  getWorkspaceById(id: string): Workspace {
    const found = this.#workspaces.get(id);
    if (!found) throw missing("workspace with id", id, [...this.#workspaces.keys()]);
    return found;
  }

  listWorkspaces(): Registry<Workspace> {
    return Object.fromEntries(this.#workspaces);
  }

  addWorkspace(workspace: Workspace): void {
    const known = this.#workspaces.get(workspace.id);
    if (known && known !== workspace) {
      throw new AgentError("invalid-argument", `Another workspace has the id ${showValue(workspace.id)}.`);
    }
    workspace.useStorage(this.getStorage());
    this.#workspaces.set(workspace.id, workspace);
  }

  /** Forgets a workspace. With `destroy`, also releases what it has open. */
  async removeWorkspace(id: string, options: { destroy?: boolean } = {}): Promise<void> {
    const found = this.getWorkspaceById(id);
    this.#workspaces.delete(id);
    if (options.destroy) await found.destroy();
  }

  getMCPServer(name: string): any {
    return find(this.#config.mcpServers, name, "MCP server");
  }

  listMCPServers(): Registry<any> {
    return { ...this.#config.mcpServers };
  }

  getWorkflow(name: string): any {
    return find(this.#config.workflows, name, "workflow");
  }

  listWorkflows(): Registry<any> {
    return { ...this.#config.workflows };
  }

  getLogger(): Logger {
    return this.logger;
  }

  generateId(purpose: IdPurpose = { idType: "generic" }): string {
    return this.system.newId(purpose);
  }

  /**
   * Waits until the store is open, work left unfinished by other processes has resumed, and notifications are being
   * dispatched. Calls also work without it; awaiting it reveals problems early.
   */
  async start(): Promise<void> {
    if (this.#closed) throw new AgentError("storage-closed", "This Mastra is closed. Create a new one.");
    await this.#config.storage?.init();
    await this.#recovery;
    await this.#dispatch;
  }

  /**
   * Waits briefly for runs to end, releases threads to other processes, then closes the storage and vector stores. Safe
   * to call again.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#recovery?.catch(() => {});
    await this.#dispatch?.catch(() => {});
    await this.#dispatcher?.close();
    await Promise.all(this.#controllers.map((controller) => controller.destroy()));
    const agents = [
      ...Object.values(this.#config.agents ?? {}),
      ...this.#controllers.map((controller) => controller.getCurrentAgent()),
    ];
    await Promise.all(agents.map((agent) => agent.close()));
    // A process without an owner would be killed by the next one.
    await Promise.all([...this.#workspaces.values()].map((workspace) => workspace.stop()));
    await Promise.all(Object.values(this.#config.vectors ?? {}).map(async (vector) => vector.close?.()));
    await this.#config.storage?.close();
    await this.#config.observability?.shutdown?.();
  }

  async #recover(): Promise<void> {
    const hosted = [...Object.values(this.#config.agents ?? {}), ...this.#controllers];
    await Promise.all(hosted.map((one) => one.recover()));
  }

  #makeDispatcher({
    notifications,
    storage,
    agents,
  }: MastraConfig<Agents, Vectors, Controllers>): NotificationDispatcher | undefined {
    const { dispatch } = notifications ?? {};
    if (!dispatch?.enabled) return undefined;
    if (!storage) {
      throw new AgentError(
        "storage-required",
        "notifications.dispatch needs storage: pass new Mastra({ storage }).",
      );
    }
    const { system, logger } = this;
    const options = { storage, system, logger, config: dispatch };
    const ofControllers = this.#controllers.map((controller) => controller.getCurrentAgent());
    return new NotificationDispatcher({
      ...options,
      agents: [...Object.values(agents ?? {}), ...ofControllers],
    });
  }

  #checkAgentIds(): void {
    const seen = new Map<string, { key: string; agent: object }>();
    const all = { ...this.#config.agents, ...this.#config.agentControllers };
    const shared = Object.keys(this.#config.agentControllers ?? {}).find((key) =>
      Object.hasOwn(this.#config.agents ?? {}, key),
    );
    if (shared !== undefined)
      throw new AgentError(
        "invalid-argument",
        `An agent and a controller are both called "${shared}". Give each its own name.`,
      );
    for (const [key, agent] of Object.entries(all)) {
      const other = seen.get(agent.id);
      // One agent may have several names.
      if (other !== undefined && other.agent !== agent) {
        throw new AgentError(
          "invalid-argument",
          `Agents "${other.key}" and "${key}" have the same id "${agent.id}". Give each its own.`,
        );
      }
      seen.set(agent.id, { key, agent });
    }
  }
}

function withIds(system: System, newId: MastraConfig["idGenerator"]): System {
  if (!newId) return system;
  return {
    now: () => system.now(),
    monotonic: () => system.monotonic(),
    setTimer: (ms, callback, options) => system.setTimer(ms, callback, options),
    newId: (purpose) => (purpose ? newId(purpose) : system.newId()),
    random: () => system.random(),
  };
}

function find<Value>(registry: Registry<Value> | undefined, name: string, kind: string): Value {
  if (registry && Object.hasOwn(registry, name)) return registry[name] as Value;
  throw missing(kind, name, Object.keys(registry ?? {}));
}

function missing(kind: string, name: string, known: string[]): AgentError {
  const list = known.length > 0 ? `Registered: ${known.join(", ")}.` : "None is registered.";
  return new AgentError("not-found", `There is no ${kind} "${name}". ${list}`);
}
