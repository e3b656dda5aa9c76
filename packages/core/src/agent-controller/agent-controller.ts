import type { AgentControllerEventListener, AgentControllerThread } from "@selvedge/protocol/session";
import type { Agent } from "../agent/agent.ts";
import { AgentError, showValue } from "../errors.ts";
import type { Mastra } from "../mastra/mastra.ts";
import type { MastraMemory } from "../memory/memory.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import { checkId } from "../storage/check-id.ts";
import type { ObservationalMemoryRecord } from "../storage/om-record.ts";
import { categoryOf } from "./categories.ts";
import { checkConfig } from "./check-config.ts";
import { checkOptions } from "./check-options.ts";
import type {
  AgentControllerConfig,
  AgentControllerMode,
  AgentControllerWorkspace,
  CreateSessionOptions,
} from "./config.ts";
import { ControllerHost } from "./controller-host.ts";
import { ControllerRuns } from "./controller-runs.ts";
import { checkHeartbeat, type HeartbeatHandler, Heartbeats } from "./heartbeats.ts";
import { type AvailableModel, type ModelAuthStatus, Models } from "./models.ts";
import { omStatusEvent } from "./om-status-event.ts";
import { OpenSessions } from "./open-sessions.ts";
import type { ToolCategory } from "./permission.ts";
import { Session, type SessionMessage } from "./session.ts";
import type { SuspensionResponse } from "./session-answers.ts";
import type { StoredSession } from "./session-domain.ts";
import { Workspaces } from "./workspaces.ts";

/**
 * One agent in several modes, driven by a terminal, a page or a program: sessions, threads, approvals and events. What
 * lasts is in the store, so any process with the same controller can continue a session.
 */
export class AgentController<State extends object = Record<string, unknown>> {
  readonly id: string;
  /** This process's own session. It can be read at once, and is stored with its first use. */
  readonly session: Session<State>;
  readonly #config: AgentControllerConfig;
  readonly #host: ControllerHost;
  readonly #workspaces: Workspaces;
  readonly #sessions: OpenSessions<State>;
  readonly #runs: ControllerRuns;
  readonly #models: Models;
  readonly #heartbeats: Heartbeats;
  #init: Promise<void> | undefined;
  #resolvedWorkspace: AgentControllerWorkspace | undefined;

  constructor(config: AgentControllerConfig<State>) {
    this.#config = config as unknown as AgentControllerConfig;
    checkConfig(this.#config);
    this.id = config.id;
    for (const handler of this.#handlers()) checkHeartbeat(handler);
    this.#host = new ControllerHost(this.#config, (run) => this.#runs.profile(run));
    this.#workspaces = new Workspaces(this.#host);
    this.#sessions = new OpenSessions(this.#host, this.#workspaces);
    this.#runs = new ControllerRuns(this.#host, this.#sessions, this.#workspaces);
    this.#models = new Models(this.#host);
    this.#heartbeats = new Heartbeats(this.#host);
    this.session = this.#sessions.own;
  }

  // Lifecycle

  /** Opens the store, the workspace and the heartbeats. Calling it again has no effect. */
  init(): Promise<void> {
    this.#init ??= this.#start().catch((error: unknown) => {
      this.#init = undefined;
      throw error;
    });
    return this.#init;
  }

  /** Called by the host that the controller is registered with. */
  useHost(host: Mastra<any, any, any>): void {
    this.#host.register(host as Mastra);
  }

  /** Continues what other processes left unfinished. Called by the host. */
  async recover(): Promise<void> {
    // A brief failure of the store must not stop the other: the agent retries by itself.
    await Promise.all([this.#host.agent.recover(), this.#host.rows.domain()]);
  }

  /** Stops heartbeats and closes what the controller opened. Sessions stay in the store. */
  async destroy(): Promise<void> {
    await this.#heartbeats.stop();
    await this.#sessions.destroy();
    await this.#workspaces.destroy();
    await this.#host.end();
    this.#init = undefined;
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
   * Opens a session: the existing one with this id, from any process, or a new one. Throws if the id belongs to a session
   * of another resource, without revealing that it exists.
   */
  createSession(options: CreateSessionOptions): Promise<Session<State>> {
    return this.#sessions.keep(options);
  }

  /**
   * Like `createSession`, for servers: once every user has released the session, it is closed here a little later. It stays
   * in the store.
   */
  leaseSession(options: CreateSessionOptions): Promise<{ session: Session<State>; release: () => void }> {
    return this.#sessions.lease(options);
  }

  /** The stored session, if it exists. */
  findSession(id: string): Promise<StoredSession | null> {
    return this.#host.rows.find(id);
  }

  /** Stored sessions, newest first: those of one owner, or all. */
  async listSessions(options: { ownerId?: string | undefined; limit: number }): Promise<StoredSession[]> {
    return (await this.#host.rows.domain()).listSessions(this.id, options);
  }

  /** Deletes a session and aborts its run. Its threads stay. */
  async deleteSession(options: { id: string }): Promise<void> {
    const { id } = checkOptions("deleteSession", options);
    await this.#sessions.delete(checkId("id", id));
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

  /** The agent of the current mode, as sessions use it. Its runs follow the rules of the session that used the thread last. */
  getCurrentAgent(): Agent {
    return this.#host.agent;
  }

  /** The memory of the current mode, or `null` if none is configured. */
  getResolvedMemory(): Promise<MastraMemory | null> {
    return this.#host.memoryOf(this.session.mode.get());
  }

  /** The host: the one the controller is registered with, or its own. `undefined` before `init()`. */
  getMastra(): Mastra | undefined {
    return this.#host.mastra;
  }

  listModes(): AgentControllerMode[] {
    return [...this.#config.modes];
  }

  getToolCategory(options: { toolName: string }): ToolCategory | null {
    return categoryOf(this.#config, checkOptions("getToolCategory", options).toolName);
  }

  async getCurrentModelAuthStatus(): Promise<ModelAuthStatus> {
    return this.#models.authStatus(this.session.model.get());
  }
  listAvailableModels(): Promise<AvailableModel[]> {
    return this.#models.list();
  }
  invalidateAvailableModelsCache(): void {
    this.#models.forget();
  }

  // Workspace

  getWorkspace(): AgentControllerWorkspace | undefined {
    return this.#workspaces.shared ?? this.#resolvedWorkspace;
  }

  /** The workspace of a session: its own, or the one the controller creates for it. */
  async resolveWorkspace(options: {
    session: Session<State>;
    requestContext?: RequestContext;
  }): Promise<AgentControllerWorkspace | undefined> {
    const { session, requestContext } = checkOptions("resolveWorkspace", options);
    if (!(session instanceof Session))
      throw new AgentError("invalid-argument", `session must be a Session, got ${showValue(session)}.`);
    const { id } = session.core.row;
    const workspace = session.getWorkspace() ?? (await this.#workspaces.of(id, requestContext));
    // Never one of another session, which may belong to another person.
    if ((session as object) === this.session) this.#resolvedWorkspace = workspace;
    return workspace;
  }

  hasWorkspace(): boolean {
    return this.#config.workspace !== undefined;
  }

  isWorkspaceReady(): boolean {
    return this.#workspaces.isReady;
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

  /** Alias, for callers that look for threads under `memory`. */
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
    const threads = await this.session.thread.list({ allResources: true });
    return [...new Set(threads.map(({ resourceId }) => resourceId))].toSorted();
  }

  /** Emits the progress of observational memory on the session's thread. */
  async loadOMProgress(): Promise<void> {
    const { core, om } = this.session;
    const record = await this.getObservationalMemoryRecord();
    const memory = await this.#host.memoryOf(core.row.modeId).catch(() => null);
    core.bus.emit(omStatusEvent(record, core.row.threadId, om, memory?.omThresholds));
  }

  /** The observational memory record of the session's thread, even if it is switched off in this process. */
  async getObservationalMemoryRecord(): Promise<ObservationalMemoryRecord | null> {
    return this.session.om.record();
  }

  async #start(): Promise<void> {
    this.#sessions.checkAlive();
    await this.#host.begin();
    await this.session.core.ready();
    await this.recover();
    const { shared } = this.#workspaces;
    if (shared) await this.#workspaces.start(this.session.core.bus, shared);
    for (const handler of this.#handlers()) await this.#heartbeats.register(handler);
  }

  #handlers(): HeartbeatHandler[] {
    return [...(this.#config.heartbeatHandlers ?? []), ...(this.#config.intervalHandlers ?? [])];
  }
}
