import type { AgentControllerEventListener, AgentControllerThread } from "@selvedge/protocol/session";
import { Agent } from "../agent/agent.ts";
import type { RunAddress } from "../agent/agent-config.ts";
import { resolveDynamic } from "../agent/dynamic.ts";
import { AgentError, showValue } from "../errors.ts";
import { defaultLogger, type Logger } from "../logger.ts";
import { Mastra } from "../mastra/mastra.ts";
import type { MastraMemory } from "../memory/memory.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { currentRun } from "../run/current-run.ts";
import { checkId } from "../storage/check-id.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import type { ThreadDomain } from "../storage/thread-domain.ts";
import type { Storage } from "../storage/storage.ts";
import { ACTORS } from "../storage/thread-tables.ts";
import { realSystem, type System } from "../system.ts";
import type { CloneThreadOptions, CloneThreadResult } from "../storage/clone-thread.ts";
import type { Tool, ToolsInput } from "../tool/tool.ts";
import { categoryOf } from "./categories.ts";
import { checkConfig, defaultMode } from "./check-config.ts";
import { checkOptions } from "./check-options.ts";
import type { AgentControllerConfig, AgentControllerMode, AgentControllerWorkspace } from "./config.ts";
import { checkStore, ControllerMemory } from "./controller-memory.ts";
import { checkHeartbeat, type HeartbeatHandler, Heartbeats } from "./heartbeats.ts";
import { authStatus, type AvailableModel, listModels, type ModelAuthStatus } from "./models.ts";
import type { ToolCategory } from "./permission.ts";
import { PlainHistory } from "./plain-history.ts";
import { type AgentControllerRequestContext, CONTROLLER_KEY, emitOnStream } from "./request-context.ts";
import { modeOf, profileOf, type RunIds } from "./run-profile.ts";
import { Session, type SessionMessage, type SuspensionResponse } from "./session.ts";
import type { SessionHost } from "./session-core.ts";
import { SESSION_DOMAIN, type SessionDomain, type StoredSession } from "./session-domain.ts";
import { SessionLeases } from "./session-leases.ts";
import { SessionRecord } from "./session-record.ts";
import { subagentModel } from "./session-settings.ts";
import { StateRules } from "./session-state.ts";
import { tagsAsMetadata } from "./thread-settings.ts";
import { builtInTools, withoutEffect } from "./tools/built-in-tools.ts";
import { createSubagentTool } from "./tools/subagent-tool.ts";

export interface CreateSessionOptions {
  /** Stable: the same id opens the same session, in any process. */
  id: string;
  ownerId: string;
  resourceId?: string;
  /** Only threads with all of these count as the session's; new ones get them. */
  tags?: Record<string, string>;
  workspace?: AgentControllerWorkspace;
  browser?: object;
  requestContext?: RequestContext;
  /** The thread to be on: it is created where there is none. */
  threadId?: string;
}

const MODELS_CACHE_MS = 10_000;
const OWN_SESSIONS = 100;

/**
 * One agent in several modes, driven by a terminal, a page or a program: sessions, threads, approvals and events. What
 * lasts is in the store, so any process with the same controller can go on with a session.
 */
export class AgentController<State extends object = Record<string, unknown>> {
  readonly id: string;
  /** This process's own session. It can be read at once, and is stored with its first use. */
  readonly session: Session<State>;
  readonly #config: AgentControllerConfig;
  readonly #agent: Agent;
  readonly #heartbeats: Heartbeats;
  readonly #stateRules: StateRules;
  readonly #sessions = new Map<string, Promise<Session<State>>>();
  /** Those that are open until somebody deletes them or the controller ends. */
  readonly #kept = new Set<string>();
  readonly #leases = new SessionLeases(
    () => this.#system,
    (id) => this.#closeUnused(id),
  );
  readonly #workspaces = new Map<string, Promise<AgentControllerWorkspace | undefined>>();
  #host: Mastra | undefined;
  #ownHost: Mastra | undefined;
  #ephemeral: Storage | undefined;
  #init: Promise<void> | undefined;
  readonly #initialized = new Map<AgentControllerWorkspace, Promise<void>>();
  #workspaceReady = false;
  #destroyed = false;
  #resolvedWorkspace: AgentControllerWorkspace | undefined;
  #subagent: Tool | undefined;
  #models: { at: number; list: AvailableModel[] } | undefined;

  constructor(config: AgentControllerConfig<State>) {
    checkConfig(config as unknown as AgentControllerConfig);
    this.#config = config as unknown as AgentControllerConfig;
    this.id = config.id;
    for (const handler of this.#handlers()) checkHeartbeat(handler);
    this.#stateRules = new StateRules(this.#config);
    this.#agent = this.#makeAgent();
    this.#heartbeats = new Heartbeats(this.#system, this.#logger);
    this.session = this.#open(this.#ownSeed(), this.id);
  }

  // Lifecycle

  /** Opens the store, the workspace and the heartbeats. Calling it again is free. */
  init(): Promise<void> {
    this.#init ??= this.#start().catch((error: unknown) => {
      this.#init = undefined;
      throw error;
    });
    return this.#init;
  }

  /** Called by the host that the controller is registered with. */
  useHost(host: Mastra<any, any, any>): void {
    this.#host = host;
    this.#agent.useHost(host);
  }

  /** Takes up what other processes left unfinished. The host calls it. */
  async recover(): Promise<void> {
    // A store that fails for a moment keeps neither from the other: the agent tries again by itself.
    await Promise.all([this.#agent.recover(), this.#storage.domain(SESSION_DOMAIN)]);
  }

  /** Stops heartbeats and closes what the controller opened, for good. Sessions stay in the store. */
  async destroy(): Promise<void> {
    this.#destroyed = true;
    await this.#heartbeats.stop();
    this.#leases.stop();
    for (const session of [this.session, ...(await this.#openSessions())]) await session.core.close();
    this.#sessions.clear();
    for (const workspace of await this.#ownWorkspaces())
      if (this.#initialized.has(workspace)) await workspace.destroy?.();
    this.#initialized.clear();
    this.#workspaces.clear();
    this.#workspaceReady = false;
    if (!this.#host) await this.#agent.close();
    this.#ownHost = undefined;
    this.#init = undefined;
  }

  /** Its runs have ended: a message would never be answered. */
  #checkAlive(): void {
    if (this.#destroyed)
      throw new AgentError("not-found", `Controller "${this.id}" was destroyed. Create a new one.`);
  }

  registerHeartbeat(handler: HeartbeatHandler): Promise<void> {
    return this.#heartbeats.register(handler);
  }
  async removeHeartbeat(options: { id: string }): Promise<void> {
    await this.#heartbeats.remove(checkOptions("removeHeartbeat", options).id);
  }
  stopHeartbeats(): Promise<void> {
    return this.#heartbeats.stop();
  }

  // Sessions

  /**
   * Opens a session: the one with this id, wherever it was made, or a new one. One of another resource counts as absent and
   * cannot be made.
   */
  async createSession(options: CreateSessionOptions): Promise<Session<State>> {
    this.#checkAlive();
    const id = checkId("id", options?.id);
    this.#kept.add(id);
    return this.#openSession(options);
  }

  /**
   * The same for those who serve many: a session that nobody else has opened is closed a little after it was released. It
   * stays in the store.
   */
  async leaseSession(
    options: CreateSessionOptions,
  ): Promise<{ session: Session<State>; release: () => void }> {
    this.#checkAlive();
    const release = this.#leases.take(checkId("id", options?.id));
    try {
      return { session: await this.#openSession(options), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** The row of a session, where there is one. */
  async findSession(id: string): Promise<StoredSession | null> {
    const domain = await this.#storage.domain(SESSION_DOMAIN);
    return domain.getSession({ controllerId: this.id, id });
  }

  /** The rows of sessions, the newest first: of one owner, or of all. */
  async listSessions(options: { ownerId?: string | undefined; limit: number }): Promise<StoredSession[]> {
    return (await this.#storage.domain(SESSION_DOMAIN)).listSessions(this.id, options);
  }

  #openSession(options: CreateSessionOptions): Promise<Session<State>> {
    const { id } = options;
    const known = this.#sessions.get(id);
    if (known)
      return known.then((session) =>
        session.core.isClosed ? this.#again(options) : this.#checkOwner(session, options),
      );
    const created = this.#create(options);
    this.#sessions.set(id, created);
    created.catch(() => this.#sessions.get(id) === created && this.#sessions.delete(id));
    return created;
  }

  /** Removes a session. What it has under way is aborted; its threads stay. */
  async deleteSession(options: { id: string }): Promise<void> {
    const { id } = checkOptions("deleteSession", options);
    const session = await this.#sessions.get(checkId("id", id))?.catch(() => undefined);
    session?.abort();
    const domain = await this.#storage.domain(SESSION_DOMAIN);
    const existed = await domain.deleteSession({ controllerId: this.id, id });
    await session?.core.close();
    this.#sessions.delete(id);
    this.#kept.delete(id);
    if (!existed) throw new AgentError("not-found", `There is no session "${id}".`);
  }

  /** The session's thread, mode and threads. */
  async getSession(): Promise<{
    currentThreadId: string | null;
    currentModeId: string;
    threads: AgentControllerThread[];
  }> {
    const threads = await this.session.thread.list();
    return { currentThreadId: this.session.thread.getId(), currentModeId: this.session.mode.get(), threads };
  }

  // What the controller is made of

  /** The agent of the current mode, as sessions use it. Its runs are under the rules of the session that had the thread last. */
  getCurrentAgent(): Agent {
    return this.#agent;
  }

  /** The memory of the current mode, or `null` where none was configured. */
  getResolvedMemory(): Promise<MastraMemory | null> {
    return this.#resolvedMemory(this.session.mode.get());
  }

  /** The host: the one the controller is registered with, or its own. `undefined` before `init()`. */
  getMastra(): Mastra | undefined {
    return this.#host ?? this.#ownHost;
  }

  listModes(): AgentControllerMode[] {
    return [...this.#config.modes];
  }

  getToolCategory(options: { toolName: string }): ToolCategory | null {
    return categoryOf(this.#config, checkOptions("getToolCategory", options).toolName);
  }

  async getCurrentModelAuthStatus(): Promise<ModelAuthStatus> {
    return authStatus(this.session.model.get(), this.#config, environment());
  }

  async listAvailableModels(): Promise<AvailableModel[]> {
    const now = this.#system.monotonic();
    if (this.#models && now - this.#models.at < MODELS_CACHE_MS) return [...this.#models.list];
    const list = await listModels(this.#config, environment(), this.#logger);
    this.#models = { at: now, list };
    return [...list];
  }

  invalidateAvailableModelsCache(): void {
    this.#models = undefined;
  }

  // Workspace

  getWorkspace(): AgentControllerWorkspace | undefined {
    const { workspace } = this.#config;
    return typeof workspace === "function" ? this.#resolvedWorkspace : workspace;
  }

  /** The workspace of a session: its own, or the one that the controller makes for it. */
  async resolveWorkspace(options: {
    session: Session<State>;
    requestContext?: RequestContext;
  }): Promise<AgentControllerWorkspace | undefined> {
    const { session, requestContext } = checkOptions("resolveWorkspace", options);
    if (!(session instanceof Session))
      throw new AgentError("invalid-argument", `session must be a Session, got ${showValue(session)}.`);
    const { id } = session.core.row;
    const workspace = session.getWorkspace() ?? (await this.#workspaceFor(id, requestContext));
    // Never one of another session: it may be another person's.
    if ((session as object) === this.session) this.#resolvedWorkspace = workspace;
    return workspace;
  }

  hasWorkspace(): boolean {
    return this.#config.workspace !== undefined;
  }

  isWorkspaceReady(): boolean {
    return this.#workspaceReady;
  }

  // The process's own session, by the names of the class

  subscribe(listener: AgentControllerEventListener): () => void {
    return this.session.subscribe(listener);
  }
  selectOrCreateThread(): Promise<AgentControllerThread> {
    return this.session.thread.selectOrCreate();
  }
  createThread(options?: { title?: string }): Promise<AgentControllerThread> {
    return this.session.thread.create(options);
  }
  switchThread(options: { threadId: string; abort?: boolean }): Promise<AgentControllerThread> {
    return this.session.thread.switch(options);
  }
  renameThread(options: { title: string }): Promise<void> {
    return this.session.thread.rename(options);
  }
  cloneThread(options?: {
    sourceThreadId?: string;
    title?: string;
    resourceId?: string;
  }): Promise<AgentControllerThread> {
    return this.session.thread.clone(options);
  }
  setResourceId(options: { resourceId: string }): Promise<void> {
    return this.session.setResourceId(options);
  }
  sendMessage(message: SessionMessage): Promise<void> {
    return this.session.sendMessage(message);
  }
  abort(): void {
    this.session.abort();
  }
  steer(message: Omit<SessionMessage, "files">): ReturnType<Session["steer"]> {
    return this.session.steer(message);
  }
  followUp(message: Omit<SessionMessage, "files">): ReturnType<Session["followUp"]> {
    return this.session.followUp(message);
  }
  respondToToolSuspension(response: SuspensionResponse): ReturnType<Session["respondToToolSuspension"]> {
    return this.session.respondToToolSuspension(response);
  }

  /** The same, for those who look for threads under `memory`. */
  readonly memory = {
    createThread: (options?: { title?: string }): Promise<AgentControllerThread> =>
      this.createThread(options),
    switchThread: (options: { threadId: string }): Promise<AgentControllerThread> =>
      this.switchThread(options),
    renameThread: (options: { title: string }): Promise<void> => this.renameThread(options),
    listThreads: (options?: Parameters<Session["thread"]["list"]>[0]): Promise<AgentControllerThread[]> =>
      this.session.thread.list(options),
    deleteThread: (options: { threadId: string }): Promise<void> => this.session.thread.delete(options),
  };

  async getKnownResourceIds(): Promise<string[]> {
    const threads = await this.session.thread.list({ allResources: true, includeForkedSubagents: true });
    return [...new Set(threads.map(({ resourceId }) => resourceId))].toSorted();
  }

  /** Tells how far observational memory has come. There is none yet, so nothing is told. */
  async loadOMProgress(): Promise<void> {}

  async getObservationalMemoryRecord(): Promise<ObservationalMemoryRecord | null> {
    return null;
  }

  // Inside

  get #system(): System {
    const system = this.#config.system ?? this.#host?.system ?? realSystem;
    return system;
  }

  get #logger(): Logger {
    return this.#config.logger ?? this.#host?.logger ?? defaultLogger;
  }

  /** Where everything is: the controller's store, the host's, the memory's, or one that goes with the process. */
  get #storage(): Storage {
    const { storage, memory, agent } = this.#config;
    const own = typeof memory === "function" ? undefined : memory?.storage;
    const ofAgent = agent?.configuration.memory;
    const ofAgents = typeof ofAgent === "function" ? undefined : ofAgent?.storage;
    return (
      storage ?? this.#host?.getStorage() ?? own ?? ofAgents ?? (this.#ephemeral ??= new InMemoryStorage())
    );
  }

  /** The configured workspace, or those that were made for sessions. */
  async #ownWorkspaces(): Promise<AgentControllerWorkspace[]> {
    const { workspace } = this.#config;
    if (typeof workspace !== "function") return workspace ? [workspace] : [];
    const made = await Promise.allSettled(this.#workspaces.values());
    return made.flatMap((result) => (result.status === "fulfilled" ? (result.value ?? []) : []));
  }

  #handlers(): HeartbeatHandler[] {
    return [...(this.#config.heartbeatHandlers ?? []), ...(this.#config.intervalHandlers ?? [])];
  }

  #makeAgent(): Agent {
    const { agent, threads, logger, system } = this.#config;
    const { durableContextKeys, notifications } = agent?.configuration ?? {};
    return new Agent({
      id: this.id,
      name: this.id,
      description: agent?.description ?? "",
      instructions: "",
      // What a run really uses comes from its profile.
      model: "none/none",
      memory: new ControllerMemory(
        () => this.#storage,
        async ({ requestContext }) => {
          const { session } = requestContext.get(CONTROLLER_KEY) as AgentControllerRequestContext;
          const memory = await this.#resolvedMemory(session?.modeId ?? defaultMode(this.#config).id);
          return memory ?? new PlainHistory(this.#storage);
        },
      ),
      profile: (run) => profileOf(this.#profileHost(), this.#withSession(run)),
      ...(durableContextKeys && { durableContextKeys }),
      ...(notifications && { notifications }),
      ...(threads && { threads }),
      ...(logger && { logger }),
      ...(system && { system }),
    });
  }

  /** A run without a thread belongs to the process that makes it, and so to its own session. */
  #withSession(run: RunAddress): RunAddress {
    if (run.threadId !== undefined || run.pinned) return run;
    return { ...run, pinned: { sessionId: this.session.core.row.id } };
  }

  #profileHost(): Parameters<typeof profileOf>[0] {
    const { config, storage, system } = this.#sessionHost();
    return {
      config,
      storage,
      system,
      session: async (id) => {
        const domain = await storage.domain(SESSION_DOMAIN);
        return (await domain.getSession({ controllerId: this.id, id })) ?? undefined;
      },
      toolsFor: (run, ids) => this.#toolsFor(run, ids),
      describe: (run, ids, session) => this.#describe(run, ids, session),
    };
  }

  #sessionHost(): SessionHost {
    const system = () => this.#system;
    const logger = () => this.#logger;
    const storage = () => this.#storage;
    return {
      config: this.#config,
      agent: this.#agent,
      stateRules: this.#stateRules,
      // Some of it is known only when the controller is registered.
      get system() {
        return system();
      },
      get logger() {
        return logger();
      },
      get storage() {
        return storage();
      },
      newId: () => this.#newId(),
      memory: () => this.#memoryDomain(),
      storeRow: (seed) => this.#storeRow(seed),
    };
  }

  #newId(): string {
    return this.#config.idGenerator?.() ?? this.#system.newId();
  }

  async #memoryDomain(): Promise<ThreadDomain> {
    return (await this.#storage.getStore("memory"))!;
  }

  async #start(): Promise<void> {
    this.#checkAlive();
    await this.#storage.init();
    if (!this.#host)
      this.#ownHost ??= new Mastra({
        storage: this.#storage,
        logger: this.#logger,
        system: this.#system,
        threads: { recover: false },
      });
    await this.session.core.ready();
    await this.recover();
    const { workspace } = this.#config;
    if (workspace && typeof workspace !== "function") await this.#initWorkspace(this.session, workspace);
    for (const handler of this.#handlers()) await this.#heartbeats.register(handler);
  }

  /** A workspace that does not come up is told, and does not keep people from talking. */
  async #initWorkspace(session: Session<State>, workspace: AgentControllerWorkspace): Promise<void> {
    const { bus } = session.core;
    bus.emit({ type: "workspace_status_changed", status: "initializing" });
    try {
      await this.#initOnce(workspace);
    } catch (thrown) {
      return workspaceFailed(session, thrown);
    }
    this.#workspaceReady = true;
    bus.emit({ type: "workspace_status_changed", status: "ready" });
    bus.emit({ type: "workspace_ready", workspaceId: workspace.id, workspaceName: workspace.name });
  }

  /** Sessions may share a workspace. One that failed is tried again by the next session. */
  #initOnce(workspace: AgentControllerWorkspace): Promise<void> {
    let begun = this.#initialized.get(workspace);
    if (!begun) {
      begun = (async () => workspace.init())();
      this.#initialized.set(workspace, begun);
      begun.catch(() => this.#initialized.delete(workspace));
    }
    return begun;
  }

  #open(
    seed: StoredSession,
    publicId: string,
    more: { workspace?: AgentControllerWorkspace; browser?: object } = {},
  ): Session<State> {
    const { workspace, browser } = this.#config;
    return new Session<State>(this.#sessionHost(), seed, {
      publicId,
      memory: () => this.#resolvedMemory(modeOf(this.#config, seed.modeId).id),
      workspace: more.workspace ?? (typeof workspace === "function" ? undefined : workspace),
      browser: more.browser ?? (typeof browser === "function" ? undefined : browser),
    });
  }

  #seed(about: Pick<StoredSession, "id" | "ownerId" | "resourceId"> & Partial<StoredSession>): StoredSession {
    const mode = defaultMode(this.#config);
    const { initial } = this.#stateRules;
    const seeded = initial["currentModelId"];
    const now = new Date(this.#system.now());
    return {
      controllerId: this.id,
      defaultResourceId: about.resourceId,
      threadId: undefined,
      threadVersion: 0,
      modeId: mode.id,
      modelId: typeof seeded === "string" ? seeded : (mode.defaultModelId ?? ""),
      tags: {},
      state: initial,
      rules: { categories: {}, tools: {} },
      grants: { categories: [], tools: [] },
      settings: {},
      process: undefined,
      version: 0,
      createdAt: now,
      updatedAt: now,
      ...about,
    };
  }

  /** The process's own session has a row of its own: two terminals must not move each other. */
  #ownSeed(): StoredSession {
    const resourceId = this.#config.resourceId ?? this.id;
    const id = `own-${this.#system.newId()}`;
    return this.#seed({ id, ownerId: this.id, resourceId, process: "here" });
  }

  async #storeRow(seed: StoredSession): Promise<StoredSession> {
    if (seed.version > 0) return seed;
    await this.#stateRules.begin();
    const domain = await this.#storage.domain(SESSION_DOMAIN);
    if (seed.process === undefined) return domain.createSession(seed);
    const last = await this.#tidyOwn(domain, seed);
    const inherited = last && (await this.#inherit(seed, last));
    return domain.createSession({ ...seed, ...inherited, process: this.#storage.ownerId() });
  }

  /** State and rules of the last session go on in the next; what a person allowed for once does not. */
  async #inherit(seed: StoredSession, last: StoredSession): Promise<Partial<StoredSession>> {
    const state = await this.#stateRules.changed(seed.state, last.state).catch((error: unknown) => {
      this.#logger.warn(`The state of the last session of "${this.id}" is no longer valid`, error);
      return seed.state;
    });
    return { state, rules: last.rules, settings: last.settings };
  }

  /** Drops sessions of processes that are gone and have nothing under way. Answers the last one. */
  async #tidyOwn(domain: SessionDomain, { resourceId }: StoredSession): Promise<StoredSession | undefined> {
    const own = await domain.listOwnSessions(this.id, OWN_SESSIONS);
    const last = own.find((session) => session.resourceId === resourceId);
    const gone = own.filter(({ process }) => this.#storage.isOwnerDead(process!));
    const threadIds = gone.flatMap(({ threadId }) => threadId ?? []);
    const actors =
      threadIds.length === 0
        ? []
        : await this.#storage.select({ table: ACTORS, where: { thread_id: { in: threadIds } } });
    const busy = new Set(
      actors
        .filter(({ run_id, has_mail }) => run_id !== null || has_mail !== null)
        .map((actor) => actor.thread_id),
    );
    for (const session of gone)
      if (session.threadId === undefined || !busy.has(session.threadId)) await domain.deleteSession(session);
    return last;
  }

  async #again(options: CreateSessionOptions): Promise<Session<State>> {
    this.#sessions.delete(options.id);
    return this.#openSession(options);
  }

  #closeUnused(id: string): void {
    const opened = this.#sessions.get(id);
    if (this.#kept.has(id)) return;
    void opened?.then(
      async ({ core }) => {
        // What it has under way may need what the session holds.
        if (core.activeRunId !== null) return this.#leases.take(id)();
        if (this.#sessions.get(id) === opened) this.#sessions.delete(id);
        await core.close();
      },
      () => {},
    );
  }

  #checkOwner(session: Session<State>, options: CreateSessionOptions): Session<State> {
    this.#requireOwner(session.core.row, options);
    return session;
  }

  /** Whose a session is was decided when it was made. */
  #requireOwner(row: StoredSession, { id, ownerId, resourceId }: CreateSessionOptions): void {
    const asked = resourceId ?? this.#config.resourceId ?? this.id;
    if (row.defaultResourceId === asked && row.ownerId === ownerId) return;
    throw new AgentError("not-found", `There is no session "${id}" of "${ownerId}" for resource "${asked}".`);
  }

  async #create(options: CreateSessionOptions): Promise<Session<State>> {
    const { id } = options;
    const ownerId = checkId("ownerId", options.ownerId);
    const resourceId = checkId("resourceId", options.resourceId ?? this.#config.resourceId ?? this.id);
    const tags = checkTags(options.tags);
    const domain = await this.#storage.domain(SESSION_DOMAIN);
    let row = await domain.getSession({ controllerId: this.id, id });
    const isNew = !row;
    if (!row) {
      const initial = await this.#stateRules.begin();
      // Tools find a session's tags in its state, where the schema has a place for them.
      const known = tagsAsMetadata(tags);
      const state =
        Object.keys(known).length === 0
          ? initial
          : await this.#stateRules.changed(initial, known).catch(() => initial);
      const seed = this.#seed({ id, ownerId, resourceId, tags, state });
      row = await domain.createSession(seed).catch(async (error: unknown) => {
        if (!AgentError.is(error, "conflict")) throw error;
        return domain.getSession({ controllerId: this.id, id });
      });
    }
    if (!row)
      throw new AgentError("conflict", `Session "${id}" was deleted while it was being opened. Try again.`);
    this.#requireOwner(row, options);
    const requestContext = options.requestContext ?? new RequestContext();
    let failed: { reason: unknown } | undefined;
    const workspace =
      options.workspace ??
      (await this.#workspaceFor(id, requestContext).catch((reason: unknown) => {
        failed = { reason };
        return undefined;
      }));
    const browser = options.browser ?? (await this.#browserFor(requestContext));
    const session = this.#open(row, id, { ...(workspace && { workspace }), ...(browser && { browser }) });
    try {
      await session.core.ready();
      await this.#settle(session, options.threadId);
    } catch (error) {
      await session.core.close();
      if (isNew) await domain.forgetNew(row);
      throw error;
    }
    if (workspace) await this.#initWorkspace(session, workspace);
    else if (failed) workspaceFailed(session, failed.reason);
    return session;
  }

  /** A session has a thread and a mode that exist. */
  async #settle(session: Session<State>, threadId: string | undefined): Promise<void> {
    const { core, thread } = session;
    const { modeId } = core.row;
    if (!this.#config.modes.some((mode) => mode.id === modeId)) {
      const mode = defaultMode(this.#config);
      await core.change(async () => ({ patch: { modeId: mode.id } }));
      const message = `Mode "${modeId}" does not exist any more. The session is in mode "${mode.id}".`;
      core.bus.emit({ type: "info", message });
    }
    if (threadId !== undefined) {
      const known = await (await this.#memoryDomain()).getThreadById({ threadId });
      if (known) await thread.switch({ threadId, abort: false });
      else await thread.create({ threadId });
    } else if (core.threadId === undefined || !(await thread.getById({ threadId: core.threadId })))
      await thread.selectOrCreate();
    else await core.lock.moveTo(core.threadId, async () => {});
  }

  async #openSessions(): Promise<Session<State>[]> {
    const opened = await Promise.allSettled(this.#sessions.values());
    return opened.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  }

  async #resolvedMemory(modeId: string): Promise<MastraMemory | null> {
    const mode = modeOf(this.#config, modeId);
    const configured = (mode.agent ?? this.#config.agent)?.configuration.memory ?? this.#config.memory;
    if (configured === undefined) return null;
    const requestContext = new RequestContext();
    const memory = await resolveDynamic(configured, {
      requestContext,
      runtimeContext: requestContext,
      mastra: this.getMastra(),
    });
    if (!memory)
      throw new AgentError(
        "memory-required",
        `The memory function of controller "${this.id}" gave ${showValue(memory)}.`,
      );
    checkStore(memory, this.#storage);
    return memory;
  }

  /** Once per session and process. */
  #workspaceFor(
    sessionId: string,
    requestContext = new RequestContext(),
  ): Promise<AgentControllerWorkspace | undefined> {
    const { workspace } = this.#config;
    if (typeof workspace !== "function") return Promise.resolve(workspace);
    let made = this.#workspaces.get(sessionId);
    if (!made) {
      made = (async () => workspace({ requestContext, mastra: this.getMastra() }))();
      this.#workspaces.set(sessionId, made);
      made.catch(() => this.#workspaces.delete(sessionId));
    }
    return made;
  }

  async #browserFor(requestContext: RequestContext): Promise<object | undefined> {
    const { browser } = this.#config;
    if (typeof browser !== "function") return browser;
    return (browser as (context: object) => object | Promise<object>)({
      requestContext,
      mastra: this.getMastra(),
    });
  }

  async #toolsFor(
    run: RunAddress,
    { fork }: RunIds,
  ): Promise<{ builtIn: ToolsInput; own: ToolsInput; workspace: ToolsInput }> {
    const { requestContext } = run;
    const { tools } = this.#config;
    const context = requestContext.get(CONTROLLER_KEY) as AgentControllerRequestContext;
    const workspace = context.workspace ? await context.workspace.tools({ requestContext }) : {};
    const own =
      tools &&
      (await resolveDynamic(tools, {
        requestContext,
        runtimeContext: requestContext,
        mastra: this.getMastra(),
      }));
    const subagent = this.#subagentTool();
    const stub = fork && subagent ? withoutEffect(subagent) : subagent;
    return { builtIn: builtInTools(this.#config, stub), own: { ...own }, workspace };
  }

  #subagentTool(): Tool | undefined {
    const { subagents = [] } = this.#config;
    if (subagents.length === 0) return undefined;
    this.#subagent ??= createSubagentTool({
      subagents,
      agent: this.#agent,
      storage: this.#storage,
      system: this.#system,
      defaultModel: ({ defaultModelId = "" }) => defaultModelId,
      clone: this.#hasMemory ? (options) => this.#clone(options) : undefined,
    }) as Tool;
    return this.#subagent;
  }

  get #hasMemory(): boolean {
    const { memory, agent, modes } = this.#config;
    return memory !== undefined || agent?.hasMemory === true || modes.some((mode) => mode.agent?.hasMemory);
  }

  async #clone(options: CloneThreadOptions): Promise<CloneThreadResult> {
    type Copying = { cloneThread?(options: CloneThreadOptions): Promise<CloneThreadResult> };
    const memory = (await this.getResolvedMemory()) as Copying | null;
    if (memory?.cloneThread) return memory.cloneThread(options);
    throw new AgentError("memory-required", "A fork needs a memory that can copy threads.");
  }

  async #describe(
    { requestContext, threadId, resourceId }: RunAddress,
    { sessionId, modeId, modelId }: RunIds,
    session: StoredSession | undefined,
  ): Promise<void> {
    const open = sessionId === undefined ? undefined : await this.#liveSession(sessionId);
    const workspace =
      open?.getWorkspace() ??
      (sessionId === undefined
        ? undefined
        : await this.#workspaceFor(sessionId, requestContext).catch((error: unknown) => {
            this.#logger.warn(`The workspace of session "${sessionId}" could not be created`, error);
            return undefined;
          }));
    if (workspace)
      await this.#initOnce(workspace).catch((error: unknown) =>
        this.#logger.warn(`Workspace "${workspace.id}" could not be initialized`, error),
      );
    const record = session && (await this.#record(session));
    const change = async (
      updates: (state: Record<string, unknown>) => Record<string, unknown>,
    ): Promise<void> => {
      await record?.change(
        async ({ state }) => ({ patch: { state: await this.#stateRules.changed(state, updates(state)) } }),
        (writes) => this.#storage.commit(writes, { key: session!.id, id: this.#system.newId() }),
      );
    };
    const context: AgentControllerRequestContext = {
      controllerId: this.id,
      state: session?.state ?? this.#stateRules.initial,
      getState: () => ({ ...((open?.core.row ?? record?.current)?.state ?? this.#stateRules.initial) }),
      setState: (updates) => change(() => updates),
      updateState: (updates) => change(updates),
      threadId,
      resourceId,
      session: session && { id: session.id, ownerId: session.ownerId, modeId, modelId, state: session.state },
      get abortSignal() {
        return currentRun()?.controller.signal;
      },
      workspace,
      browser: open?.browser,
      emitEvent: emitOnStream,
      getSubagentModelId: ({ agentType } = {}) => (record ? subagentModel(record.current, agentType) : null),
    };
    requestContext.set(CONTROLLER_KEY, context);
  }

  async #liveSession(id: string): Promise<Session<State> | undefined> {
    if (this.session.core.row.id === id) return this.session;
    return this.#sessions.get(id)?.catch(() => undefined);
  }

  /** The row of a session that may not be open here. It is read again where it turns out to have changed. */
  async #record(session: StoredSession): Promise<SessionRecord> {
    const record = new SessionRecord(this.#storage, await this.#storage.domain(SESSION_DOMAIN), session);
    record.close();
    return record;
  }
}

/** What an engine for observational memory keeps of a thread. */
export interface ObservationalMemoryRecord {
  id: string;
  activeObservations: string;
  generationCount: number;
  observationTokenCount: number;
  [field: string]: unknown;
}

function workspaceFailed({ core: { bus } }: Session<any>, thrown: unknown): void {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  bus.emit({ type: "workspace_status_changed", status: "error", error });
  bus.emit({ type: "workspace_error", error });
}

function checkTags(tags: unknown): Record<string, string> {
  if (tags === undefined) return {};
  const isFit =
    typeof tags === "object" &&
    tags !== null &&
    !Array.isArray(tags) &&
    Object.values(tags).every((value) => typeof value === "string");
  if (!isFit)
    throw new AgentError("invalid-argument", `tags must be an object of texts, got ${showValue(tags)}.`);
  for (const key of Object.keys(tags)) checkId("tag", key);
  return { ...(tags as Record<string, string>) };
}

function environment(): Record<string, string | undefined> {
  return globalThis.process?.env ?? {};
}
