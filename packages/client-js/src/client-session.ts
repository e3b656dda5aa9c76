import type { RouteCalls } from "@selvedge/protocol/routes";
import type {
  AgentControllerDisplayState,
  AgentControllerEventListener,
  AgentControllerMessageContent,
  PendingSuspension,
  SessionInfo,
  TokenUsage,
} from "@selvedge/protocol/session";
import type { CallResult } from "./call.ts";
import { ClientSessionThreads } from "./client-session-threads.ts";
import { newId } from "./new-id.ts";
import { SessionLine, type SessionOptions } from "./session-line.ts";
import type { Transport } from "./transport.ts";

/** A message that waits for its own run. */
export interface QueuedFollowUp {
  id: string;
  content: AgentControllerMessageContent[];
  createdAt: Date;
}

type Sent = RouteCalls["sendSessionMessage"]["body"];
/** A message with an idempotency key, so that it can safely be sent again. */
export type SessionSend = { content: string; idempotencyKey?: string } & Pick<Sent, "files" | "id">;
export type SessionAck = RouteCalls["sendSessionMessage"]["response"];
type Category = RouteCalls["setCategoryPermission"]["body"]["category"];
type Policy = RouteCalls["setCategoryPermission"]["body"]["policy"];

/**
 * A session on a server: the same events, methods and display state as in the process that has it. `open()`, `subscribe()`
 * and every call that needs the server connect it; its state is complete after `open()`.
 */
export class ClientSession {
  readonly #line: SessionLine;
  readonly thread: ClientSessionThreads;

  constructor(
    transport: Transport,
    controllerId: string,
    id: string | undefined,
    options: SessionOptions = {},
  ) {
    this.#line = new SessionLine(transport, controllerId, id, options);
    this.thread = new ClientSessionThreads(this.#line);
  }

  /** Opens the session, or creates it. Resolves when the stored state is loaded. */
  open(): Promise<void> {
    return this.#line.open();
  }

  /** Closes the connection. The session continues. */
  close(): void {
    this.#line.close();
  }

  subscribe(listener: AgentControllerEventListener): () => void {
    const unsubscribe = this.#line.view.subscribe(listener);
    this.open().catch((error: Error) => this.#line.view.emit({ type: "error", error }));
    return unsubscribe;
  }

  /** The session as the server last sent it: thread, mode, model, tags, and with the grant `control` state, rules and grants. */
  info(): SessionInfo {
    return this.#line.info;
  }

  readonly identity = {
    getId: (): string => this.#line.info.id,
    getOwnerId: (): string => this.#line.info.ownerId,
    getResourceId: (): string => this.#line.info.resourceId,
    setResourceId: (options: { resourceId: string }): Promise<void> => this.setResourceId(options),
  };

  readonly displayState = { get: (): AgentControllerDisplayState => this.#line.view.display };

  readonly run = { isRunning: (): boolean => this.#line.view.display.isRunning };

  readonly suspensions = {
    hasPending: (): boolean => this.#line.view.display.pendingSuspensions.size > 0,
    has: ({ toolCallId }: { toolCallId: string }): boolean =>
      this.#line.view.display.pendingSuspensions.has(toolCallId),
    get: ({ toolCallId }: { toolCallId: string }): PendingSuspension | null =>
      this.#line.view.display.pendingSuspensions.get(toolCallId) ?? null,
  };

  readonly approval = { isArmed: (): boolean => this.#line.view.display.pendingApprovals.size > 0 };

  readonly mode = {
    get: (): string => this.#line.info.modeId,
    switch: (body: { modeId: string }): Promise<void> => this.#line.change("switchSessionMode", body),
  };

  readonly model = {
    get: (): string => this.#line.info.modelId,
    hasSelection: (): boolean => this.#line.info.modelId !== "",
    displayName: (): string => this.#line.info.modelId.split("/").at(-1) || "unknown",
    switch: (body: RouteCalls["switchSessionModel"]["body"]): Promise<void> =>
      this.#line.change("switchSessionModel", body),
  };

  readonly state = {
    /** Empty without the grant `control`. */
    get: (): Record<string, unknown> => ({ ...this.#line.info.state }),
    set: (updates: Record<string, unknown>): Promise<void> =>
      this.#line.change("setSessionState", { updates }),
  };

  /** With the grant `control`. */
  readonly permissions = {
    getRules: (): NonNullable<SessionInfo["rules"]> =>
      structuredClone(this.#line.info.rules ?? { categories: {}, tools: {} }),
    getGrants: (): NonNullable<SessionInfo["grants"]> =>
      structuredClone(this.#line.info.grants ?? { categories: [], tools: [] }),
    setForCategory: (body: { category: Category; policy: Policy }): Promise<void> =>
      this.#line.change("setCategoryPermission", body),
    setForTool: (body: { toolName: string; policy: Policy }): Promise<void> =>
      this.#line.change("setToolPermission", body),
    grant: (body: RouteCalls["grantPermissions"]["body"]): Promise<void> =>
      this.#line.change("grantPermissions", body),
    revoke: (body: RouteCalls["revokePermissions"]["body"]): Promise<void> =>
      this.#line.change("revokePermissions", body),
  };

  readonly followUps = {
    count: (): number => this.#line.view.display.queuedFollowUps,
    isEmpty: (): boolean => this.#line.view.display.queuedFollowUps === 0,
    /** Increases whenever the queue may have changed. */
    revision: (): number => this.#line.view.queueRevision,
    list: async (): Promise<QueuedFollowUp[]> =>
      (await this.#line.call("listFollowUps", {})).followUps.map((one) => ({
        ...one,
        createdAt: new Date(one.createdAt),
      })),
    edit: async ({
      id,
      content,
      files,
    }: { id: string; content: string } & Pick<Sent, "files">): Promise<void> => {
      const body = { message: content, ...(files && { files }) };
      await this.#line.call("editFollowUp", { params: { messageId: id }, body });
    },
    /** Moves a message to another position in the queue: 0 is the next one. */
    move: async ({ id, to }: { id: string; to: number }): Promise<void> => {
      await this.#line.call("moveFollowUp", { params: { messageId: id }, body: { to } });
    },
    remove: async ({ id }: { id: string }): Promise<void> => {
      await this.#line.call("removeFollowUp", { params: { messageId: id } });
    },
    steer: async (id: string): Promise<void> => {
      await this.#line.call("steerFollowUp", { params: { messageId: id }, body: {} });
    },
  };

  /** Sends a message. Resolves when its run has ended or waits for an answer. `send` resolves when it is stored. */
  async sendMessage(message: SessionSend): Promise<SessionAck> {
    const ack = await this.send(message);
    if (ack.action === "deliver" || ack.runId === undefined) return ack;
    const { couldNotStart } = await this.#line.view.endOf(ack.runId);
    if (couldNotStart) throw couldNotStart;
    return ack;
  }

  /** Sends a message. Resolves when it is stored, with what happens to it. */
  send(message: SessionSend): Promise<SessionAck> {
    return this.#send("sendSessionMessage", message);
  }

  /** Adds an instruction to the active run. */
  steer(message: Omit<SessionSend, "files">): Promise<SessionAck> {
    return this.#send("steerSession", message);
  }

  /** Queues a message. It opens a separate run after the active one. */
  followUp(message: SessionSend): Promise<SessionAck> {
    return this.#send("followUpSession", message);
  }

  /** Aborts the active run. Returns whether there was one. */
  async abort(): Promise<boolean> {
    return (await this.#line.call("abortSession", { body: {} })).aborted;
  }

  respondToToolApproval(
    body: RouteCalls["answerSessionApproval"]["body"],
  ): Promise<CallResult<"answerSessionApproval">> {
    return this.#line.call("answerSessionApproval", { body });
  }

  respondToToolSuspension(
    body: RouteCalls["answerSessionSuspension"]["body"],
  ): Promise<CallResult<"answerSessionSuspension">> {
    return this.#line.call("answerSessionSuspension", { body });
  }

  sendNotificationSignal(body: RouteCalls["notifySession"]["body"]): Promise<CallResult<"notifySession">> {
    return this.#line.call("notifySession", { body });
  }

  setResourceId({ resourceId }: { resourceId: string }): Promise<void> {
    return this.#line.change("moveSession", { newResourceId: resourceId });
  }

  grantCategory(category: Category): Promise<void> {
    return this.permissions.grant({ categories: [category] });
  }
  grantTool(toolName: string): Promise<void> {
    return this.permissions.grant({ tools: [toolName] });
  }
  revokeCategory(category: Category): Promise<void> {
    return this.permissions.revoke({ categories: [category] });
  }
  revokeTool(toolName: string): Promise<void> {
    return this.permissions.revoke({ tools: [toolName] });
  }
  getGrants(): NonNullable<SessionInfo["grants"]> {
    return this.permissions.getGrants();
  }
  getTokenUsage(): TokenUsage {
    return this.#line.view.display.tokenUsage;
  }
  getTags(): Record<string, string> {
    return { ...this.#line.info.tags };
  }

  #send(
    name: "sendSessionMessage" | "steerSession" | "followUpSession",
    { content, idempotencyKey = newId(), files, id }: SessionSend,
  ): Promise<SessionAck> {
    const body: Sent = {
      message: content,
      ...(files && { files }),
      ...(id !== undefined && { id }),
    };
    return this.#line.call(name, { body, headers: { "idempotency-key": idempotencyKey } });
  }
}
