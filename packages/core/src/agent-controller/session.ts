import type {
  AgentControllerDisplayState,
  AgentControllerEventListener,
  PendingSuspension,
  TaskItemSnapshot,
  TokenUsage,
} from "@selvedge/protocol/session";
import type { RequestContext } from "../request-context/request-context.ts";
import { RequestContext as Context } from "../request-context/request-context.ts";
import { AgentError, showValue } from "../errors.ts";
import type { MastraMemory } from "../memory/memory.ts";
import type { NotificationOptions, SendNotificationResult } from "../agent/agent-notifications.ts";
import type { NotificationSignalInput } from "../notification/notification-input.ts";
import type { SignalContents, SignalInput } from "../signal/signal.ts";
import type { StoredSession } from "./session-domain.ts";
import type { Write } from "../storage/storage.ts";
import { RUNS } from "../storage/thread-tables.ts";
import { update } from "../storage/writes.ts";
import type { Admitted, DecidedCall } from "../thread/threads.ts";
import { checkId } from "../storage/check-id.ts";
import { categoryOf } from "./categories.ts";
import { isBuiltIn, modeAfterPlan } from "./check-config.ts";
import { checkOptions } from "./check-options.ts";
import type { AgentControllerWorkspace } from "./config.ts";
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
import { SessionCore, type SessionHost } from "./session-core.ts";
import {
  modeChange,
  SessionMode,
  SessionModel,
  SessionOM,
  SessionPermissions,
  SessionState,
  SubagentModels,
  withGrants,
} from "./session-settings.ts";
import { SessionThreads } from "./session-threads.ts";
import type { PlanDecision } from "./tools/submit-plan.ts";
import { abortSubagent, goOnWith, hasResult, type Question, questionsOf } from "./waiting-calls.ts";

/** Something that a person says in a session. */
export interface SessionMessage {
  content: string;
  files?: AgentControllerFile[];
  requestContext?: RequestContext;
}

/** The same, ready for a model. */
export interface SessionContents {
  contents: SignalContents;
  requestContext?: RequestContext | undefined;
  /** Sent twice with one key, it counts once. */
  idempotencyKey?: string | undefined;
}

/** A waiting call that was answered. */
export interface Answered {
  runId: string;
  toolCallId: string;
}

export interface ApprovalResponse {
  decision: "approve" | "decline" | "always_allow_category";
  /** Needed where several calls wait. */
  toolCallId?: string;
  declineContext?: { reason?: string; message?: string };
  requestContext?: RequestContext;
}

export interface SuspensionResponse {
  resumeData: unknown;
  /** Needed where several calls wait. */
  toolCallId?: string;
  requestContext?: RequestContext;
}

/** What a session has of its controller beside the core. */
export interface SessionParts {
  /** Under which name people know it. */
  publicId: string;
  memory(): Promise<MastraMemory | null>;
  workspace: AgentControllerWorkspace | undefined;
  browser: object | undefined;
}

/** What becomes of a signal, by whether a run is under way. */
export type SignalDelivery = Pick<NotificationOptions, "ifActive" | "ifIdle">;

interface Answer {
  toolCallId: string | undefined;
  approved: boolean;
  requiresApproval: boolean;
  resumeData?: unknown;
  declineContext?: { reason?: string; message?: string } | undefined;
}

/** What became of a message, and the time at which the session was on its thread. */
interface Sent {
  admitted: Admitted;
  epoch: number;
}

/** What changes in the session together with a decision. */
type Follows = (
  call: DecidedCall,
  isSubagent: boolean,
) => Promise<{ write: Write; session: StoredSession; also?: Write[] } | undefined>;

const INTERRUPTED = "interrupted_by_user_message";

/**
 * A conversation under way: a person or a program, on a thread, in a mode. Everything that lasts is stored; any process
 * can open the session, answer for it and continue it.
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
  #abortRequested = false;
  /** How often somebody aborted. */
  #aborts = 0;
  #decisions: Promise<void> = Promise.resolve();
  #following: Promise<void> = Promise.resolve();
  #creating: Promise<unknown> | undefined;

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
    get: (): AgentControllerDisplayState => this.#core.display.get(),
    restoreTasks: (tasks: TaskItemSnapshot[]): void => this.#core.display.set({ tasks }),
  };

  readonly run = {
    getRunId: (): string | null => this.#core.activeRunId,
    getTraceId: (): string | null => null,
    isRunning: (): boolean => this.#core.display.get().isRunning,
    isAbortRequested: (): boolean => this.#abortRequested && this.#core.activeRunId !== null,
  };

  readonly stream = {
    activeRunId: (): string | null => this.#core.activeRunId,
    isActive: (): boolean => this.#core.activeRunId !== null,
    isOpen: (): boolean => !this.#core.isClosed,
  };

  readonly suspensions = {
    hasPending: (): boolean => this.#core.display.get().pendingSuspensions.size > 0,
    has: ({ toolCallId }: { toolCallId: string }): boolean =>
      this.#core.display.get().pendingSuspensions.has(toolCallId),
    get: ({ toolCallId }: { toolCallId: string }): PendingSuspension | null =>
      this.#core.display.get().pendingSuspensions.get(toolCallId) ?? null,
  };

  readonly approval = {
    isArmed: (): boolean => this.#core.display.get().pendingApprovals.size > 0,
  };

  subscribe(listener: AgentControllerEventListener): () => void {
    if (typeof listener !== "function")
      throw new AgentError("invalid-argument", `A listener is a function, got ${showValue(listener)}.`);
    return this.#core.bus.subscribe(listener);
  }

  /**
   * Sends a message. Resolves when its run has ended or waits for an answer; where a run is under way the message joins
   * it, and this resolves when the message is stored.
   */
  async sendMessage(message: SessionMessage): Promise<void> {
    const { admitted, epoch } = await shown(this.#core, () => this.#send(message));
    const { action, runId } = admitted;
    if (action === "deliver" || runId === undefined) return;
    const end = await this.#core.endOf(runId, epoch);
    // The run has told why already.
    if (end.couldNotStart) throw end.couldNotStart;
  }

  /** Puts an instruction into what goes on: the model reads it before its next step. */
  steer(message: Omit<SessionMessage, "files">): Promise<Admitted> {
    return quietly(this.#core, async () => (await this.#send(message)).admitted);
  }

  /** Sends a message for a run of its own, after the one under way. */
  followUp(message: Omit<SessionMessage, "files">): Promise<Admitted> {
    return quietly(this.#core, async () => {
      const contents = toContents(message?.content);
      return this.queue({ contents, requestContext: message.requestContext });
    });
  }

  /** Sends what is ready, and answers what became of it. */
  async admit(message: SessionContents): Promise<Admitted> {
    return (await this.#admit(message)).admitted;
  }

  async #admit({ contents, requestContext, idempotencyKey }: SessionContents): Promise<Sent> {
    const aborts = this.#aborts;
    const { agent, target, options, epoch } = await this.#address(requestContext);
    const admitted = await agent.sendMessage(
      { contents },
      {
        ...target,
        ...(idempotencyKey !== undefined && { idempotencyKey }),
        ifIdle: { streamOptions: options },
      },
    ).admitted;
    if (admitted.duplicate) return { admitted, epoch };
    if (this.#aborts === aborts) this.#abortRequested = false;
    else if (admitted.action === "wake") this.#core.abort();
    // It waits where the run reads next; only then is the question answered that keeps the run from reading.
    if (admitted.action === "deliver" && admitted.runId !== undefined) await this.#interrupt(admitted.runId);
    return { admitted, epoch };
  }

  /** The same for a run of its own, after the one under way. */
  queue({ contents, requestContext, idempotencyKey }: SessionContents): Promise<Admitted> {
    // One after the other: the count after each is told.
    const turn = this.#following.then(async () => {
      const { agent, target, options } = await this.#address(requestContext);
      const admitted = await agent.queueMessage(
        { contents },
        {
          ...target,
          ...(idempotencyKey !== undefined && { idempotencyKey }),
          ifIdle: { streamOptions: options },
        },
      ).admitted;
      await this.#core.countQueued();
      return admitted;
    });
    this.#following = turn.then(
      () => {},
      () => {},
    );
    return turn;
  }

  /** Aborts what goes on, and takes back what waits for an answer. */
  abort(): void {
    this.#abortRequested = true;
    this.#aborts++;
    const { pendingApprovals, pendingSuspensions } = this.#core.display.get();
    const questions = [...pendingApprovals.values(), ...pendingSuspensions.values()];
    if (questions.every(({ parentToolCallId }) => parentToolCallId === undefined)) this.#core.abort();
    else
      void quietly(this.#core, async () => {
        // While the run waits it is known what it waits for.
        await this.#abortSubagents();
        this.#core.abort();
      });
  }

  /** The later name of `abort`. */
  abortRun(): void {
    this.abort();
  }

  /** Answers a call that waits for permission. */
  respondToToolApproval(response: ApprovalResponse): Promise<Answered> {
    return quietly(this.#core, async () => {
      const { decision, toolCallId, declineContext } = response ?? {};
      if (decision !== "approve" && decision !== "decline" && decision !== "always_allow_category")
        throw new AgentError(
          "invalid-argument",
          `decision must be "approve", "decline" or "always_allow_category", got ${showValue(decision)}.`,
        );
      return this.#decide(
        { toolCallId, approved: decision !== "decline", declineContext, requiresApproval: true },
        decision === "always_allow_category" ? (call) => this.#grantFor(call) : undefined,
      );
    });
  }

  /** Answers a tool that asked: a question, a plan, or any other that suspended its call. */
  respondToToolSuspension(response: SuspensionResponse): Promise<Answered> {
    return quietly(this.#core, async () => {
      const { resumeData, toolCallId } = response ?? {};
      if (resumeData === undefined)
        throw new AgentError(
          "invalid-argument",
          "resumeData is missing: it is the answer the tool waits for.",
        );
      const isYes = (Object(resumeData) as Partial<PlanDecision>).action === "approved";
      const answer = { toolCallId, approved: true, resumeData, requiresApproval: false };
      return this.#decide(answer, async (call, isSubagent) =>
        call.toolName === "submit_plan" && isYes && !isSubagent ? this.#carryOutPlan(call) : undefined,
      );
    });
  }

  /** Puts context into the conversation that no person said. */
  async sendSignal(signal: SignalInput, how: SignalDelivery = {}): Promise<Admitted> {
    const { agent, target, options } = await this.#address(undefined);
    const ifIdle = { ...how.ifIdle, streamOptions: { ...how.ifIdle?.streamOptions, ...options } };
    return agent.sendSignal(signal, { ...target, ...how, ifIdle }).admitted;
  }

  /** Puts an event into the inbox of the session's thread. */
  async sendNotificationSignal(
    notification: NotificationSignalInput,
    how: SignalDelivery = {},
  ): Promise<SendNotificationResult> {
    const { agent, target, options } = await this.#address(undefined);
    const ifIdle = { ...how.ifIdle, streamOptions: { ...how.ifIdle?.streamOptions, ...options } };
    return agent.sendNotificationSignal(notification, { ...target, ...how, ifIdle });
  }

  /** Another resource, and no thread of the one before. */
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

  /** What would become of a call, by the rules as they are. */
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
    return this.#core.activeRunId;
  }
  getTokenUsage(): TokenUsage {
    return this.#core.display.get().tokenUsage;
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
    return this.#admit({ contents, requestContext: message.requestContext });
  }

  /** A person who writes instead of giving permission means: no, rather this. */
  async #interrupt(runId: string): Promise<void> {
    const { host, row } = this.#core;
    const threadId = this.thread.requireId();
    const { questions, sessionId } = await questionsOf(host.storage, { threadId, runId });
    if (sessionId !== undefined && sessionId !== row.id) return;
    for (const { toolCallId, requiresApproval } of questions) {
      if (!requiresApproval) continue;
      const declineContext = { reason: INTERRUPTED, message: "The user sent a message instead." };
      try {
        await this.#decide({ toolCallId, approved: false, declineContext, requiresApproval: true });
      } catch (error) {
        if (!AgentError.is(error, "already-decided") && !AgentError.is(error, "not-found")) throw error;
      }
    }
  }

  /** In the order in which they were given: of two answers to one question the first counts. */
  #decide(answer: Answer, follows?: Follows): Promise<Answered> {
    const turn = this.#decisions.then(() => this.#decideNow(answer, follows));
    this.#decisions = turn.then(
      () => {},
      () => {},
    );
    return turn;
  }

  async #decideNow(answer: Answer, follows: Follows | undefined): Promise<Answered> {
    await this.#core.ready();
    this.#core.checkOpen();
    const { host, row } = this.#core;
    const { requiresApproval, declineContext, toolCallId, ...rest } = answer;
    const { toolCallId: id, subagent } = await this.#find(toolCallId, requiresApproval);
    const threadId = subagent?.threadId ?? this.thread.requireId();
    let made: StoredSession | undefined;
    const decided = host.agent.sendToolApproval(
      {
        threadId,
        resourceId: row.resourceId,
        toolCallId: id,
        ...rest,
        ...(declineContext && { declineContext }),
      },
      async (call) => {
        if (call.requiresApproval !== requiresApproval) throw otherKind(call);
        const parent = subagent ? [goOnWith(subagent)] : [];
        if (!follows) return parent;
        // Asked again after a conflict: then the row may be another.
        await this.#core.refresh();
        const change = await follows(call, subagent !== undefined);
        made = change?.session;
        return change ? [change.write, ...(change.also ?? []), ...parent] : parent;
      },
    );
    const { runId } = await decided.catch(async (error: unknown) => {
      if (AgentError.is(error, "not-found") && (await hasResult(await host.memory(), threadId, id)))
        throw new AgentError("already-decided", `Tool call "${id}" has already been decided.`);
      throw error;
    });
    if (made) this.#core.made(made);
    if (subagent) await host.agent.mailMayHaveCome({ ...subagent.parent, resourceId: row.resourceId });
    return { runId, toolCallId: id };
  }

  /** The call that is meant: the one with the id, or the only one that waits for this kind of answer. */
  async #find(toolCallId: string | undefined, requiresApproval: boolean): Promise<Question> {
    const threadId = this.thread.requireId();
    const { questions } = await questionsOf(this.#core.host.storage, { threadId });
    if (toolCallId !== undefined)
      // One that does not wait is looked for all the same, to say what became of it.
      return (
        questions.find((question) => question.toolCallId === toolCallId) ?? { toolCallId, requiresApproval }
      );
    const [first, ...more] = questions.filter((question) => question.requiresApproval === requiresApproval);
    if (!first)
      throw new AgentError(
        "not-found",
        `No tool call of thread "${threadId}" waits for ${requiresApproval ? "permission" : "an answer"}.`,
      );
    if (more.length > 0)
      throw new AgentError(
        "ambiguous",
        `Several tool calls of thread "${threadId}" wait: say which one with toolCallId (${[first, ...more].map((one) => one.toolCallId).join(", ")}).`,
      );
    return first;
  }

  /** A run that is aborted while its subagent waits takes the subagent with it. */
  async #abortSubagents(): Promise<void> {
    const { host, row } = this.#core;
    const { questions } = await questionsOf(host.storage, { threadId: this.thread.requireId() });
    for (const { subagent } of questions) {
      if (!subagent) continue;
      await host.storage.commit([abortSubagent(subagent)]);
      await host.agent.mailMayHaveCome({ threadId: subagent.threadId, resourceId: row.resourceId });
    }
  }

  /** "Always" is for the tool's category, or for the tool where it has none. */
  async #grantFor({ toolName }: DecidedCall): Promise<{ write: Write; session: StoredSession }> {
    const { host, row } = this.#core;
    const category = categoryOf(host.config, toolName);
    const what = category === null ? { tools: [toolName] } : { categories: [category] };
    return this.#core.next({ grants: withGrants(row.grants, what) });
  }

  /** A plan was approved: the session and the run that made the plan go on in the mode that follows. */
  async #carryOutPlan({
    runId,
  }: DecidedCall): Promise<{ write: Write; session: StoredSession; also: Write[] } | undefined> {
    const { host, row } = this.#core;
    const mode = modeAfterPlan(host.config, row.modeId);
    if (mode.id === row.modeId) return undefined;
    const { patch, also } = await modeChange(this.#core, row, mode);
    const profile = { sessionId: row.id, modeId: mode.id, modelId: patch.modelId ?? row.modelId };
    const pinned = update(RUNS, { where: { id: runId }, merge: { options: { profile } } });
    return { ...this.#core.next(patch), also: [...also, pinned] };
  }

  /** Where messages of this session go, and what their runs are made of. */
  async #address(requestContext: RequestContext | undefined): Promise<{
    /** As long as this stays, what happens to the message is heard. */
    epoch: number;
    agent: SessionHost["agent"];
    target: { threadId: string; resourceId: string };
    options: { profile: { sessionId: string }; requestContext?: RequestContext };
  }> {
    const core = this.#core;
    await core.ready();
    core.checkOpen();
    do {
      if (core.threadId === undefined)
        await (this.#creating ??= this.thread.create().finally(() => (this.#creating = undefined)));
      await core.followed();
      core.checkOpen();
      // Others may have moved the session meanwhile.
    } while (!core.isFollowing);
    const { row, epoch } = core;
    return {
      epoch,
      agent: core.host.agent,
      target: { threadId: row.threadId!, resourceId: row.resourceId },
      options: {
        profile: { sessionId: row.id },
        // A copy: what the controller adds for a run is not for the caller.
        ...(requestContext && { requestContext: new Context(requestContext.entries()) }),
      },
    };
  }
}

/** Permission is no answer to a question, and an answer is no permission. */
function otherKind({ toolCallId, requiresApproval }: DecidedCall): AgentError {
  const [what, how] = requiresApproval
    ? ["permission", "respondToToolApproval"]
    : ["an answer", "respondToToolSuspension"];
  return new AgentError("invalid-argument", `Tool call "${toolCallId}" waits for ${what}. Use ${how}().`);
}
