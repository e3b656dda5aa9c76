import type { Agent } from "../agent/agent.ts";
import type { ThreadsConfig } from "../agent/agent-config.ts";
import { checkDurableContextKeys } from "../agent/check-options.ts";
import { toAgent, type ToolLoopAgentLike } from "../agent/from-tool-loop-agent.ts";
import { DEFAULT_LEASE } from "../actor/owner.ts";
import { AgentError, showValue } from "../errors.ts";
import { defaultLogger, type Logger, silentLogger } from "../logger.ts";
import type { MastraMemory } from "../memory/memory.ts";
import { NotificationDispatcher } from "../notification/notification-dispatcher.ts";
import type { Scheduler } from "../schedule/scheduler.ts";
import { Schedules } from "../schedule/schedules.ts";
import type { MastraScorer } from "../scorer/scorer.ts";
import type { Storage } from "../storage/storage.ts";
import { type IdPurpose, realSystem, type System } from "../system.ts";
import type { TelemetrySettings } from "../telemetry/telemetry.ts";
import type { ToolLike } from "../tool/tool.ts";
import { warnUnknownOptions } from "../unknown-options.ts";
import type { Vector } from "../vector/vector.ts";
import type { WorkflowDefinition } from "../workflow/definition.ts";
import type { StoredDefinition } from "../workflow/definition-domain.ts";
import { DynamicWorkflows } from "../workflow/dynamic-workflows.ts";
import { WORKFLOW_DOMAIN } from "../workflow/workflow-domain.ts";
import type { StoredRunsOptions } from "../workflow/workflow-host.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { Background } from "./background.ts";
import type { AnyWorkflow, HostedController, MastraConfig } from "./mastra-config.ts";
import { MASTRA_OPTIONS } from "./mastra-option-names.ts";
import { byId, byName, byNameOrId, checkIds, type Registry } from "./registry.ts";
import type { ServerConfig } from "./server-config.ts";

/**
 * The host: what an app's agents share. It passes its storage and logger to what is registered with it, finds things by
 * name, and closes what it opened. Agents also work without one.
 */
export class Mastra<
  Agents extends Registry<Agent<any, any>> = Registry<Agent<any, any>>,
  Vectors extends Registry<Vector> = Registry<Vector>,
  Controllers extends Registry<HostedController> = Registry<HostedController>,
  Workflows extends Registry<AnyWorkflow> = Registry<AnyWorkflow>,
> {
  readonly logger: Logger;
  readonly system: System;
  readonly #config: Omit<MastraConfig<Agents, Vectors, Controllers, Workflows>, "agents"> & {
    agents?: Agents;
  };
  readonly #background: Background;
  /** Whether this process takes up what others left unfinished: runs of threads, and of workflows. */
  readonly #recovers: { threads: boolean; workflows: boolean };
  #closed: Promise<void> | undefined;
  readonly #dispatcher: NotificationDispatcher | undefined;
  readonly #workspaces = new Map<string, Workspace>();
  /** Schedules of workflows and agents, stored and fired by any process that has them. */
  readonly schedules: Schedules;
  readonly #dynamic: DynamicWorkflows;
  #dynamicLoading: Promise<void> | undefined;
  #scheduler: Promise<Scheduler> | undefined;

  constructor(config: MastraConfig<Agents, Vectors, Controllers, Workflows> = {}) {
    checkDurableContextKeys(config.durableContextKeys);
    const { agents, ...rest } = config;
    this.#config = { ...rest, ...(agents && { agents: toAgents<Agents>(agents) }) };
    this.logger = config.logger === false ? silentLogger : (config.logger ?? defaultLogger);
    warnUnknownOptions("new Mastra()", config, MASTRA_OPTIONS, this.logger);
    this.system = withIds(config.system ?? realSystem, config.idGenerator);
    this.#checkAgentIds();
    if (config.workspace) this.addWorkspace(config.workspace);
    if (config.storage)
      for (const memory of Object.values(config.memory ?? {})) memory.useStorage(config.storage);
    for (const agent of Object.values(this.#config.agents ?? {})) agent.useHost(this);
    for (const controller of this.#controllers) controller.useHost(this);
    checkIds(this.#config.workflows ?? {}, "Workflows");
    for (const workflow of this.#workflows) workflow.useHost(this);
    config.storage?.offer(WORKFLOW_DOMAIN);
    this.#background = new Background(this.logger);
    this.#recovers = {
      threads: config.storage !== undefined && config.threads?.recover !== false,
      workflows: config.storage !== undefined && config.workflowRuns?.recover !== false,
    };
    this.#dynamic = this.#makeDynamic();
    this.schedules = new Schedules(this.system, () => this.#openScheduler());
    this.#dispatcher = this.#makeDispatcher(config);
    this.#begin();
  }

  #begin(): void {
    const { threads, workflows } = this.#recovers;
    const background = this.#background;
    if (workflows && this.#workflows.length > 0)
      void background.begin("Recovering unfinished workflow runs failed", () => this.#recoverWorkflows());
    if (threads) void background.begin("Recovering unfinished threads failed", () => this.#recover());
    if (workflows)
      this.#dynamicLoading = background.begin("Loading stored workflows failed", () => this.#dynamic.load());
    // From now on, this process fires schedules.
    if (threads)
      void background.begin("Schedules are not fired", async () => (await this.#openScheduler()).start());
    const dispatcher = this.#dispatcher;
    if (dispatcher) void background.begin("Notifications are not dispatched", () => dispatcher.start());
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
    return byName(this.#config.agents, name, "agent") as Agents[Name];
  }

  getAgentById(id: string): Agent<any, any> {
    return byId(this.#config.agents, id, "agent");
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
    if (this.#recovers.threads) await agent.recover();
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
    return byNameOrId(this.#config.agentControllers, id, "agent controller") as Controllers[Name];
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
    if (this.#recovers.threads) await controller.recover();
  }

  get #controllers(): HostedController[] {
    return Object.values(this.#config.agentControllers ?? {});
  }

  getTool(name: string): ToolLike {
    return byName(this.#config.tools, name, "tool");
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
    return byName(this.#config.memory, name, "memory");
  }

  listMemory(): Registry<MastraMemory> {
    return { ...this.#config.memory };
  }

  getVector<Name extends keyof Vectors & string>(name: Name): Vectors[Name] {
    return byName(this.#config.vectors, name, "vector store") as Vectors[Name];
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
    return byId(this.listWorkspaces(), id, "workspace");
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

  getScorer(name: string): MastraScorer<any, any, any, any> {
    return byName(this.#config.scorers, name, "scorer");
  }

  getScorerById(id: string): MastraScorer<any, any, any, any> {
    return byId(this.#config.scorers, id, "scorer");
  }

  listScorers(): Registry<MastraScorer<any, any, any, any>> {
    return { ...this.#config.scorers };
  }

  getMCPServer(name: string): any {
    return byName(this.#config.mcpServers, name, "MCP server");
  }

  listMCPServers(): Registry<any> {
    return { ...this.#config.mcpServers };
  }

  /** Finds a workflow by its registered name or its id. */
  getWorkflow<Name extends keyof Workflows & string>(name: Name): Workflows[Name] {
    return byNameOrId(this.#config.workflows, name, "workflow") as Workflows[Name];
  }

  getWorkflowById(id: string): AnyWorkflow {
    return byId(this.#config.workflows, id, "workflow");
  }

  listWorkflows(): Workflows {
    return { ...this.#config.workflows } as Workflows;
  }

  /** Adds a workflow to a host that exists already. Resolves when what it left unfinished is taken up. */
  async addWorkflow(workflow: AnyWorkflow, name: string = workflow.id): Promise<void> {
    const before = this.#config.workflows;
    this.#config.workflows = { ...before, [name]: workflow } as unknown as Workflows;
    try {
      checkIds(this.#config.workflows ?? {}, "Workflows");
    } catch (error) {
      this.#config.workflows = before as Workflows;
      throw error;
    }
    workflow.useHost(this);
    if (this.#recovers.workflows) await workflow.engine().recover();
    if (this.#recovers.threads) (await this.#scheduler)?.declared();
  }

  /** Checks and stores a workflow that is defined as data, and adds it to the host. A known id is replaced. */
  addDynamicWorkflow(definition: WorkflowDefinition): Promise<void> {
    return this.addDynamicWorkflows([definition]);
  }

  /** The same for several that may name each other. One that is wrong refuses all. */
  async addDynamicWorkflows(definitions: readonly WorkflowDefinition[]): Promise<void> {
    await this.#dynamicLoading?.catch(() => {});
    await this.#dynamic.add(definitions);
  }

  /** The stored definitions of workflows, oldest first. */
  listDynamicWorkflows(): Promise<StoredDefinition[]> {
    return this.#dynamic.list();
  }

  getDynamicWorkflow(id: string): Promise<StoredDefinition | null> {
    return this.#dynamic.get(id);
  }

  deleteDynamicWorkflow(id: string): Promise<void> {
    return this.#dynamic.remove(id);
  }

  #makeDynamic(): DynamicWorkflows {
    const agents = () => Object.values(this.#config.agents ?? {});
    const tools = () => Object.entries(this.#config.tools ?? {});
    const unregister = (id: string): void => {
      const others = Object.entries(this.#config.workflows ?? {}).filter(
        ([, workflow]) => workflow.id !== id,
      );
      this.#config.workflows = Object.fromEntries(others) as unknown as Workflows;
    };
    return new DynamicWorkflows({
      storage: () => {
        const { storage } = this.#config;
        if (storage) return storage;
        throw new AgentError(
          "storage-required",
          "Workflows as data need storage: pass new Mastra({ storage }).",
        );
      },
      logger: this.logger,
      parts: {
        agent: (id) => agents().find((agent) => agent.id === id),
        tool: (id) => tools().find(([name, tool]) => name === id || tool.id === id)?.[1],
        workflow: (id) => this.#workflows.find((workflow) => workflow.id === id),
      },
      register: async (workflow) => {
        unregister(workflow.id);
        await this.addWorkflow(workflow as AnyWorkflow);
      },
      unregister,
    });
  }

  /** Takes up the runs of all workflows whose process died. Happens by itself, unless `workflowRuns.recover` is off. */
  async restartAllActiveWorkflowRuns(): Promise<void> {
    await Promise.all(this.#workflows.map((workflow) => workflow.restartAllActiveWorkflowRuns()));
  }

  /** How the runs of workflows are carried out. For workflows. */
  get workflowRuns(): StoredRunsOptions {
    const { threads, workflowRuns } = this.#config;
    const { recover: _, ...limits } = workflowRuns ?? {};
    return {
      limits,
      retention: threads,
      ...(threads?.lease && { lease: { ...DEFAULT_LEASE, ...threads.lease } }),
    };
  }

  get #workflows(): AnyWorkflow[] {
    return Object.values(this.#config.workflows ?? {});
  }

  async #recoverWorkflows(): Promise<void> {
    await Promise.all(this.#workflows.map((workflow) => workflow.engine().recover()));
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
    if (this.#closed)
      throw new AgentError("storage-closed", "This Mastra instance is closed. Create a new one.");
    await this.#config.storage?.init();
    await this.#background.done();
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
    await this.#background.close();
    await this.#dispatcher?.close();
    await (await this.#scheduler?.catch(() => undefined))?.close();
    // Before the agents, whose runs their steps may wait for.
    await Promise.all(this.#workflows.map((workflow) => workflow.engine().close()));
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

  #openScheduler(): Promise<Scheduler> {
    this.#scheduler ??= this.#makeScheduler();
    return this.#scheduler;
  }

  async #makeScheduler(): Promise<Scheduler> {
    const { storage } = this.#config;
    if (!storage)
      throw new AgentError("storage-required", "Schedules need storage: pass new Mastra({ storage }).");
    const { system, logger } = this;
    const agents = () => Object.values(this.#config.agents ?? {});
    const workflows = () => this.#workflows;
    // It contains a calendar, which most programs do not need at their start.
    const { Scheduler: Class } = await import("../schedule/scheduler.ts");
    return new Class({ storage, system, logger, targets: { agents, workflows } });
  }

  #makeDispatcher({
    notifications,
    storage,
    agents,
  }: MastraConfig<Agents, Vectors, Controllers, Workflows>): NotificationDispatcher | undefined {
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
    const shared = Object.keys(this.#config.agentControllers ?? {}).find((key) =>
      Object.hasOwn(this.#config.agents ?? {}, key),
    );
    if (shared !== undefined)
      throw new AgentError(
        "invalid-argument",
        `An agent and a controller are both called "${shared}". Give each its own name.`,
      );
    checkIds({ ...this.#config.agents, ...this.#config.agentControllers }, "Agents");
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

function toAgents<Agents extends Registry<Agent<any, any>>>(
  agents: Readonly<Record<string, Agent<any, any> | ToolLoopAgentLike>>,
): Agents {
  return Object.fromEntries(
    Object.entries(agents).map(([key, agent]) => [key, toAgent(key, agent)]),
  ) as Agents;
}
