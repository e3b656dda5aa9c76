import type {
  AgentControllerDisplayState,
  AgentControllerEventListener,
  PendingSuspension,
  TaskItemSnapshot,
  TokenUsage,
} from "@selvedge/protocol/session";
import type { SendNotificationResult } from "../agent/agent-notifications.ts";
import { AgentError, showValue } from "../errors.ts";
import type { NotificationSignalInput } from "../notification/notification-input.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { SignalInput } from "../signal/signal.ts";
import { checkId } from "../storage/check-id.ts";
import type { Admitted } from "../thread/threads.ts";
import { categoryOf } from "./categories.ts";
import { isBuiltIn } from "./check-config.ts";
import { checkOptions } from "./check-options.ts";
import type { AgentControllerWorkspace } from "./config.ts";
import type { ThreadMemory } from "./controller-host.ts";
import { type AgentControllerFile, toContents } from "./file-content.ts";
import { FollowUps } from "./follow-ups.ts";
import {
  decidePermission,
  type PermissionGrants,
  type PermissionPolicy,
  type ToolCategory,
} from "./permission.ts";
import { quietly, shown } from "./quietly.ts";
import { rulesOf } from "./run-profile.ts";
import {
  type Answered,
  type ApprovalResponse,
  SessionAnswers,
  type SuspensionResponse,
} from "./session-answers.ts";
import { SessionCore, type SessionHost } from "./session-core.ts";
import type { StoredSession } from "./session-domain.ts";
import { SessionMode } from "./session-mode.ts";
import { SessionModel } from "./session-model.ts";
import { SessionOM } from "./session-om.ts";
import { SessionPermissions } from "./session-permissions.ts";
import { type Sent, type SessionContents, SessionSends, type SignalDelivery } from "./session-sends.ts";
import { SessionState } from "./session-state.ts";
import { SessionThreads } from "./session-threads.ts";
import { SubagentModels } from "./subagent-models.ts";

/** Something that a person says in a session. */
export interface SessionMessage {
  content: string;
  files?: AgentControllerFile[];
  requestContext?: RequestContext;
}

/** What a controller provides to a session in addition to the core. */
export interface SessionParts {
  /** The name that people see. */
  publicId: string;
  memory(): Promise<ThreadMemory | null>;
  workspace: AgentControllerWorkspace | undefined;
  browser: object | undefined;
}

/**
 * A conversation of a person or a program, on a thread, in a mode. Everything durable is stored: any process can open the
 * session, answer its calls and continue it.
 */
export class Session<State extends object = Record<string, unknown>> {
  readonly #core: SessionCore;
  readonly #parts: SessionParts;
  readonly thread: SessionThreads;
  readonly mode: SessionMode;
  readonly model: SessionModel;
  readonly om: SessionOM;
  readonly permissions: SessionPermissions;
  readonly subagents: { readonly model: SubagentModels };
  readonly state: SessionState<State>;
  readonly followUps: FollowUps;
  readonly #answers: SessionAnswers;
  readonly #sends: SessionSends;

  constructor(host: SessionHost, seed: StoredSession, parts: SessionParts) {
    const core = new SessionCore(host, seed);
    this.#core = core;
    this.#parts = parts;
    this.thread = new SessionThreads(core, parts.memory);
    this.mode = new SessionMode(core);
    this.model = new SessionModel(core);
    this.om = new SessionOM(core);
    this.permissions = new SessionPermissions(core);
    this.subagents = { model: new SubagentModels(core) };
    this.state = new SessionState<State>(core);
    this.followUps = new FollowUps(core);
    this.#answers = new SessionAnswers(core);
    this.#sends = new SessionSends(core, this.thread, this.#answers);
  }

  /** For the controller. */
  get core(): SessionCore {
    return this.#core;
  }

  readonly identity = {
    getId: (): string => this.#parts.publicId,
    getOwnerId: (): string => this.#core.row.ownerId,
    getResourceId: (): string => this.#core.row.resourceId,
    getDefaultResourceId: (): string => this.#core.row.defaultResourceId,
    setResourceId: (options: { resourceId: string }): Promise<void> => this.setResourceId(options),
  };

  readonly displayState = {
    get: (): AgentControllerDisplayState => this.#core.display,
    restoreTasks: (tasks: TaskItemSnapshot[]): void => this.#core.thread.events.learn({ tasks }),
  };

  readonly run = {
    getRunId: (): string | null => this.#core.thread.activeRunId,
    getTraceId: (): string | null => null,
    isRunning: (): boolean => this.#core.display.isRunning,
    isAbortRequested: (): boolean => this.#sends.isAbortRequested,
  };

  readonly stream = {
    activeRunId: (): string | null => this.#core.thread.activeRunId,
    isActive: (): boolean => this.#core.thread.activeRunId !== null,
    isOpen: (): boolean => !this.#core.isClosed,
  };

  readonly suspensions = {
    hasPending: (): boolean => this.#core.display.pendingSuspensions.size > 0,
    has: ({ toolCallId }: { toolCallId: string }): boolean =>
      this.#core.display.pendingSuspensions.has(toolCallId),
    get: ({ toolCallId }: { toolCallId: string }): PendingSuspension | null =>
      this.#core.display.pendingSuspensions.get(toolCallId) ?? null,
  };

  readonly approval = {
    isArmed: (): boolean => this.#core.display.pendingApprovals.size > 0,
  };

  subscribe(listener: AgentControllerEventListener): () => void {
    if (typeof listener !== "function")
      throw new AgentError("invalid-argument", `A listener must be a function, got ${showValue(listener)}.`);
    return this.#core.bus.subscribe(listener);
  }

  /**
   * Sends a message. Resolves when its run has ended or waits for an answer. If a run is active, the message joins it and
   * this resolves when the message is stored.
   */
  async sendMessage(message: SessionMessage): Promise<void> {
    const { admitted, epoch } = await shown(this.#core, () => this.#send(message));
    const { action, runId } = admitted;
    if (action === "deliver" || runId === undefined) return;
    const end = await this.#core.thread.endOf(runId, epoch);
    // The run has already emitted the error.
    if (end.couldNotStart) throw end.couldNotStart;
  }

  /** Adds an instruction to the active run. The model reads it before its next step. */
  steer(message: Omit<SessionMessage, "files">): Promise<Admitted> {
    return quietly(this.#core, async () => (await this.#send(message)).admitted);
  }

  /** Queues a message. It opens a separate run after the active one. */
  followUp(message: Omit<SessionMessage, "files">): Promise<Admitted> {
    return quietly(this.#core, async () => {
      const contents = toContents(message?.content);
      return this.queue({ contents, requestContext: message.requestContext });
    });
  }

  /** Sends a prepared message and returns the outcome. */
  async admit(said: SessionContents): Promise<Admitted> {
    return (await this.#sends.send(said)).admitted;
  }

  /** Like `send`, for a separate run after the active one. */
  queue(said: SessionContents): Promise<Admitted> {
    return this.#sends.queue(said);
  }

  /** Aborts the active run and withdraws the calls that wait for an answer. */
  abort(): void {
    this.#sends.abort();
  }

  /** The newer name of `abort`. */
  abortRun(): void {
    this.abort();
  }

  /** Answers a call that waits for permission. */
  respondToToolApproval(response: ApprovalResponse): Promise<Answered> {
    return quietly(this.#core, () => this.#answers.toApproval(response));
  }

  /** Answers a tool that asked: a question, a plan, or any other that suspended its call. */
  respondToToolSuspension(response: SuspensionResponse): Promise<Answered> {
    return quietly(this.#core, () => this.#answers.toSuspension(response));
  }

  /** Adds context to the conversation that is not from a person. */
  sendSignal(signal: SignalInput, how: SignalDelivery = {}): Promise<Admitted> {
    return this.#sends.signal(signal, how);
  }

  /** Puts an event into the inbox of the session's thread. */
  sendNotificationSignal(
    notification: NotificationSignalInput,
    how: SignalDelivery = {},
  ): Promise<SendNotificationResult> {
    return this.#sends.notify(notification, how);
  }

  /** Moves to another resource, without a thread. */
  setResourceId(options: { resourceId: string }): Promise<void> {
    return quietly(this.#core, async () => {
      const { resourceId } = checkOptions("setResourceId", options);
      await this.#core.moveTo(checkId("resourceId", resourceId));
    });
  }

  grantCategory(category: ToolCategory): Promise<void> {
    return this.permissions.grant({ categories: [category] });
  }
  grantTool(toolName: string): Promise<void> {
    return this.permissions.grant({ tools: [toolName] });
  }
  revokeCategory(category: ToolCategory): Promise<void> {
    return this.permissions.revoke({ categories: [category] });
  }
  revokeTool(toolName: string): Promise<void> {
    return this.permissions.revoke({ tools: [toolName] });
  }
  getGrants(): PermissionGrants {
    return this.permissions.getGrants();
  }
  hasCategoryGrant(category: ToolCategory): boolean {
    return this.getGrants().categories.includes(category);
  }
  hasToolGrant(toolName: string): boolean {
    return this.getGrants().tools.includes(toolName);
  }

  /** What the current rules decide about a call. */
  resolveToolApproval(toolName: string, args: unknown = {}): PermissionPolicy {
    const { row, host } = this.#core;
    const { decision } = decidePermission({
      toolName,
      args,
      category: categoryOf(host.config, toolName),
      rules: rulesOf(row),
      grants: this.getGrants(),
      yolo: row.state["yolo"] === true,
      exempt: isBuiltIn(toolName),
    });
    return decision;
  }

  getCurrentRunId(): string | null {
    return this.#core.thread.activeRunId;
  }
  getTokenUsage(): TokenUsage {
    return this.#core.display.tokenUsage;
  }
  getTags(): Record<string, string> {
    return { ...this.#core.row.tags };
  }
  getWorkspace(): AgentControllerWorkspace | undefined {
    return this.#parts.workspace;
  }
  get browser(): object | undefined {
    return this.#parts.browser;
  }

  async #send(message: Omit<SessionMessage, "files"> & { files?: AgentControllerFile[] }): Promise<Sent> {
    const contents = toContents(message?.content, message?.files);
    return this.#sends.send({ contents, requestContext: message.requestContext });
  }
}
