import { AgentError } from "@selvedge/protocol";
import type { RouteCalls } from "@selvedge/protocol/routes";
import {
  type AgentControllerDisplayState,
  type AgentControllerEventListener,
  type AgentControllerMessage,
  type AgentControllerMessageContent,
  type AgentControllerThread,
  type PendingSuspension,
  type SessionInfo,
  SessionView,
  type TokenUsage,
} from "@selvedge/protocol/session";
import { call, type CallInput, type CallResult } from "./call.ts";
import type { ReconnectOptions } from "./chunk-stream.ts";
import { newId } from "./new-id.ts";
import { SessionStream } from "./session-stream.ts";
import type { RequestInput, Transport } from "./transport.ts";

export interface SessionOptions {
  /** Only where the server has no authoriser: whose session it is. */
  resourceId?: string;
  /** The thread to be on when it is opened: it is created where there is none. */
  threadId?: string;
  /** For a new session: only threads with all of these count as its own. */
  tags?: Record<string, string>;
  reconnect?: ReconnectOptions;
  /** Told when the line breaks and when it stands again. */
  onConnection?: (state: "live" | "reconnecting", error?: Error) => void;
}

/** A message that waits for its own run. */
interface QueuedFollowUp {
  id: string;
  content: AgentControllerMessageContent[];
  createdAt: Date;
}

type Sent = RouteCalls["sendSessionMessage"]["body"];
type Words = { content: string; idempotencyKey?: string };
/** A message, with the key that lets a program send it again without harm. */
export type SessionSend = Words & Pick<Sent, "files">;
export type SessionAck = RouteCalls["sendSessionMessage"]["response"];
type Category = RouteCalls["setCategoryPermission"]["body"]["category"];
type Policy = RouteCalls["setCategoryPermission"]["body"]["policy"];

/** Routes with nothing but the controller and the session in their path. */
type InSession = {
  [Name in keyof RouteCalls]: RouteCalls[Name] extends { params: { controllerId: string; sessionId: string } }
    ? Name
    : never;
}[keyof RouteCalls];

const SYSTEM = {
  setTimer(ms: number, callback: () => void): () => void {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
const LOGGER = {
  warn: (message: string, ...details: unknown[]): void => console.warn(`[selvedge] ${message}`, ...details),
};

/**
 * A session on a server: the same events, methods and display state as in the process that has it. `open()`, `subscribe()`
 * and every call that needs the server connect it; what it shows is right from `open()` on.
 */
export class ClientSession {
  readonly #transport: Transport;
  readonly #controllerId: string;
  readonly #asked: string | undefined;
  readonly #options: SessionOptions;
  readonly #view = new SessionView({ system: SYSTEM, logger: LOGGER });
  readonly #waiters = new Set<() => void>();
  #stream: SessionStream | undefined;
  #opening: Promise<void> | undefined;
  #id: string | undefined;
  #closed = false;
  /** Why there is no line any more. */
  #lost: Error | undefined;

  constructor(
    transport: Transport,
    controllerId: string,
    id: string | undefined,
    options: SessionOptions = {},
  ) {
    this.#transport = transport;
    this.#controllerId = controllerId;
    this.#asked = id;
    this.#options = options;
  }

  /** Opens the session, and makes it where there is none. Resolves when everything that is there is shown. */
  open(): Promise<void> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  /** Ends the line. The session goes on. */
  close(): void {
    this.#closed = true;
    this.#stream?.leave();
    this.#view.close();
    this.#changed();
  }

  subscribe(listener: AgentControllerEventListener): () => void {
    const unsubscribe = this.#view.subscribe(listener);
    this.open().catch((error: Error) => this.#view.emit({ type: "error", error }));
    return unsubscribe;
  }

  readonly identity = {
    getId: (): string => this.#info.id,
    getOwnerId: (): string => this.#info.ownerId,
    getResourceId: (): string => this.#info.resourceId,
    setResourceId: (options: { resourceId: string }): Promise<void> => this.setResourceId(options),
  };

  readonly displayState = { get: (): AgentControllerDisplayState => this.#view.display };

  readonly run = { isRunning: (): boolean => this.#view.display.isRunning };

  readonly suspensions = {
    hasPending: (): boolean => this.#view.display.pendingSuspensions.size > 0,
    has: ({ toolCallId }: { toolCallId: string }): boolean =>
      this.#view.display.pendingSuspensions.has(toolCallId),
    get: ({ toolCallId }: { toolCallId: string }): PendingSuspension | null =>
      this.#view.display.pendingSuspensions.get(toolCallId) ?? null,
  };

  readonly approval = { isArmed: (): boolean => this.#view.display.pendingApprovals.size > 0 };

  readonly mode = {
    get: (): string => this.#info.modeId,
    switch: (body: { modeId: string }): Promise<void> => this.#change("switchSessionMode", body),
  };

  readonly model = {
    get: (): string => this.#info.modelId,
    hasSelection: (): boolean => this.#info.modelId !== "",
    displayName: (): string => this.#info.modelId.split("/").at(-1) || "unknown",
    switch: (body: RouteCalls["switchSessionModel"]["body"]): Promise<void> =>
      this.#change("switchSessionModel", body),
  };

  readonly state = {
    /** Empty without the grant `control`. */
    get: (): Record<string, unknown> => ({ ...this.#info.state }),
    set: (updates: Record<string, unknown>): Promise<void> => this.#change("setSessionState", { updates }),
  };

  /** With the grant `control`. */
  readonly permissions = {
    getRules: (): NonNullable<SessionInfo["rules"]> =>
      structuredClone(this.#info.rules ?? { categories: {}, tools: {} }),
    getGrants: (): NonNullable<SessionInfo["grants"]> =>
      structuredClone(this.#info.grants ?? { categories: [], tools: [] }),
    setForCategory: (body: { category: Category; policy: Policy }): Promise<void> =>
      this.#change("setCategoryPermission", body),
    setForTool: (body: { toolName: string; policy: Policy }): Promise<void> =>
      this.#change("setToolPermission", body),
    grant: (body: RouteCalls["grantPermissions"]["body"]): Promise<void> =>
      this.#change("grantPermissions", body),
    revoke: (body: RouteCalls["revokePermissions"]["body"]): Promise<void> =>
      this.#change("revokePermissions", body),
  };

  readonly thread = {
    getId: (): string | null => this.#info.threadId ?? null,
    isSet: (): boolean => this.#info.threadId !== undefined,
    requireId: (): string => this.#threadId(),
    list: async (query: { includeForkedSubagents?: boolean } = {}): Promise<AgentControllerThread[]> =>
      (await this.#call("listSessionThreads", { query })).threads.map(toThread),
    create: async (body: { title?: string } = {}): Promise<AgentControllerThread> =>
      this.#arrived(await this.#call("createSessionThread", { body })),
    clone: async (body: { sourceThreadId?: string; title?: string } = {}): Promise<AgentControllerThread> =>
      this.#arrived(await this.#call("cloneSessionThread", { body })),
    switch: (body: { threadId: string; abort?: boolean }): Promise<void> =>
      this.#change("switchSessionThread", body),
    rename: async ({ title, threadId }: { title: string; threadId?: string }): Promise<void> => {
      await this.open();
      const params = { threadId: threadId ?? this.#threadId() };
      await this.#reached(await this.#call("renameSessionThread", { params, body: { title } }));
    },
    delete: async ({ threadId }: { threadId: string }): Promise<void> =>
      this.#reached(await this.#call("deleteSessionThread", { params: { threadId } })),
    listMessages: async ({
      threadId,
      limit,
    }: {
      threadId: string;
      limit?: number;
    }): Promise<AgentControllerMessage[]> => {
      const query = limit === undefined ? {} : { limit };
      const { messages } = await this.#call("listSessionMessages", { params: { threadId }, query });
      return messages.map((message) => ({ ...message, createdAt: new Date(message.createdAt) }));
    },
    listActiveMessages: async (options: { limit?: number } = {}): Promise<AgentControllerMessage[]> => {
      await this.open();
      const { threadId } = this.#info;
      return threadId === undefined ? [] : this.thread.listMessages({ threadId, ...options });
    },
  };

  readonly followUps = {
    count: (): number => this.#view.display.queuedFollowUps,
    isEmpty: (): boolean => this.#view.display.queuedFollowUps === 0,
    list: async (): Promise<QueuedFollowUp[]> =>
      (await this.#call("listFollowUps", {})).followUps.map((one) => ({
        ...one,
        createdAt: new Date(one.createdAt),
      })),
    edit: async ({ id, content }: { id: string; content: string }): Promise<void> => {
      await this.#call("editFollowUp", { params: { messageId: id }, body: { message: content } });
    },
    remove: async ({ id }: { id: string }): Promise<void> => {
      await this.#call("removeFollowUp", { params: { messageId: id } });
    },
    steer: async (id: string): Promise<void> => {
      await this.#call("steerFollowUp", { params: { messageId: id }, body: {} });
    },
  };

  /** Sends a message. Resolves when its run has ended or waits for an answer. `send` resolves when it is stored. */
  async sendMessage(message: SessionSend): Promise<SessionAck> {
    const ack = await this.send(message);
    if (ack.action === "deliver" || ack.runId === undefined) return ack;
    const { couldNotStart } = await this.#view.endOf(ack.runId);
    if (couldNotStart) throw couldNotStart;
    return ack;
  }

  /** Sends a message. Resolves when it is stored, with what becomes of it. */
  send({ content, files, idempotencyKey }: SessionSend): Promise<SessionAck> {
    return this.#send("sendSessionMessage", { message: content, ...(files && { files }) }, idempotencyKey);
  }

  /** Puts an instruction into what goes on. */
  steer({ content, idempotencyKey }: Words): Promise<SessionAck> {
    return this.#send("steerSession", { message: content }, idempotencyKey);
  }

  /** Sends a message for a run of its own, after the one under way. */
  followUp({ content, idempotencyKey }: Words): Promise<SessionAck> {
    return this.#send("followUpSession", { message: content }, idempotencyKey);
  }

  /** Aborts what goes on. Answers whether there was something. */
  async abort(): Promise<boolean> {
    return (await this.#call("abortSession", { body: {} })).aborted;
  }

  respondToToolApproval(
    body: RouteCalls["answerSessionApproval"]["body"],
  ): Promise<CallResult<"answerSessionApproval">> {
    return this.#call("answerSessionApproval", { body });
  }

  respondToToolSuspension(
    body: RouteCalls["answerSessionSuspension"]["body"],
  ): Promise<CallResult<"answerSessionSuspension">> {
    return this.#call("answerSessionSuspension", { body });
  }

  sendNotificationSignal(body: RouteCalls["notifySession"]["body"]): Promise<CallResult<"notifySession">> {
    return this.#call("notifySession", { body });
  }

  setResourceId({ resourceId }: { resourceId: string }): Promise<void> {
    return this.#change("moveSession", { newResourceId: resourceId });
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
    return this.#view.display.tokenUsage;
  }
  getTags(): Record<string, string> {
    return { ...this.#info.tags };
  }

  get #info(): SessionInfo {
    if (this.#view.session) return this.#view.session;
    throw new AgentError("not-found", "This session is not open yet. Await session.open() first.");
  }

  #threadId(): string {
    const { id, threadId } = this.#info;
    if (threadId !== undefined) return threadId;
    throw new AgentError("not-found", `Session "${id}" has no thread. Create or select one first.`);
  }

  async #open(): Promise<void> {
    const { resourceId, threadId, tags, reconnect = {}, onConnection } = this.#options;
    if (this.#closed) throw new AgentError("invalid-argument", "This session was closed. Get another one.");
    const params = { controllerId: this.#controllerId };
    const body = {
      ...(this.#asked !== undefined && { id: this.#asked }),
      ...(resourceId !== undefined && { resourceId }),
      // A session that is opened again later stays where it went.
      ...(threadId !== undefined && this.#id === undefined && { threadId }),
      ...(tags && { tags }),
    };
    const { id } = await call(this.#transport, "createSession", { params, body }, { repeatable: true });
    this.#id = id;
    this.#lost = undefined;
    this.#stream = new SessionStream({
      view: this.#view,
      reconnect,
      onConnection,
      onFrame: () => this.#changed(),
      open: (lastEventId, signal) =>
        call(
          this.#transport,
          "streamSession",
          {
            params: { ...params, sessionId: id },
            signal,
            ...(lastEventId !== undefined && { headers: { "last-event-id": lastEventId } }),
          },
          { repeatable: false },
        ),
    });
    await this.#stream.start((error) => {
      this.#opening = undefined;
      this.#lost = error;
      this.#changed();
      if (!this.#closed) this.#view.emit({ type: "error", error });
    });
  }

  async #call<Name extends InSession>(name: Name, input: PartialInput<Name>): Promise<CallResult<Name>> {
    await this.open();
    const own = { controllerId: this.#controllerId, sessionId: this.#id! };
    const { params } = input as RequestInput;
    return call(this.#transport, name, { ...(input as RequestInput), params: { ...params, ...own } });
  }

  #send(
    name: "sendSessionMessage" | "steerSession" | "followUpSession",
    body: Sent,
    key: string = newId(),
  ): Promise<SessionAck> {
    return this.#call(name, { body, headers: { "idempotency-key": key } });
  }

  async #change(name: Changing, body: object): Promise<void> {
    await this.#reached(await this.#call(name, { body } as never));
  }

  async #arrived(answer: CallResult<"createSessionThread">): Promise<AgentControllerThread> {
    await this.#reached(answer.session);
    return toThread(answer.thread);
  }

  /** Resolves when the stream has brought the version that an answer told of. */
  async #reached(session: SessionInfo): Promise<void> {
    while (!this.#closed && (this.#view.session?.version ?? 0) < session.version) {
      if (this.#lost) throw this.#lost;
      await new Promise<void>((resolve) => this.#waiters.add(resolve));
    }
  }

  #changed(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }
}

/** Routes that answer the session as it is after them, and need nothing but a body. */
type Changing =
  | "switchSessionMode"
  | "switchSessionModel"
  | "switchSessionThread"
  | "moveSession"
  | "setSessionState"
  | "setCategoryPermission"
  | "setToolPermission"
  | "grantPermissions"
  | "revokePermissions";

type Own = "controllerId" | "sessionId";
type ParamsOf<Name extends InSession> = RouteCalls[Name] extends { params: infer Params } ? Params : never;
/** What a call takes beside the session. */
type PartialInput<Name extends InSession> = Omit<CallInput<Name>, "params"> &
  ([Exclude<keyof ParamsOf<Name>, Own>] extends [never]
    ? { params?: never }
    : { params: Omit<ParamsOf<Name>, Own> });

function toThread(thread: CallResult<"createSessionThread">["thread"]): AgentControllerThread {
  return { ...thread, createdAt: new Date(thread.createdAt), updatedAt: new Date(thread.updatedAt) };
}
