import {
  type ClientSession,
  type MastraClient,
  newId,
  type QueuedFollowUp,
  type SessionAck,
  type SessionOptions,
  type SessionSend,
} from "@selvedge/client-js";
import {
  type AgentControllerDisplayState,
  type AgentControllerEvent,
  type AgentControllerMessage,
  defaultDisplayState,
  type SessionInfo,
} from "@selvedge/protocol/session";
import { ExternalStore } from "./external-store.ts";

export interface SessionStoreOptions extends Omit<SessionOptions, "onConnection"> {
  controllerId: string;
  /** Default: the resource's own session. */
  sessionId?: string;
  /** Called for each event. */
  onEvent?: (event: AgentControllerEvent) => void;
}

/** A message that was sent here and that no run has read yet. */
export interface SentMessage {
  readonly id: string;
  readonly content: string;
  readonly files: readonly { mediaType: string; data: string; filename?: string | undefined }[];
  readonly createdAt: Date;
  /** `waiting`: the server has it, and a run reads it at its next step. */
  readonly state: "sending" | "waiting" | "failed";
  readonly error?: Error;
}

/** A session's state for a page. */
export interface SessionSnapshot {
  status: "loading" | "ready" | "reconnecting" | "failed";
  error: Error | undefined;
  threadId: string | null;
  modeId: string | undefined;
  modelId: string | undefined;
  /** The session itself: rules, grants, state and tags, as far as the caller may see them. */
  info: SessionInfo | undefined;
  /** Stored messages and those in progress, oldest first. */
  messages: AgentControllerMessage[];
  /** Whether there are messages before the first. */
  hasMore: boolean;
  /** What was sent here and stands in no run yet. */
  sent: readonly SentMessage[];
  /** Messages that wait for runs of their own. */
  followUps: readonly QueuedFollowUp[];
  display: AgentControllerDisplayState;
}

const EMPTY: SessionSnapshot = {
  status: "loading",
  error: undefined,
  threadId: null,
  modeId: undefined,
  modelId: undefined,
  info: undefined,
  messages: [],
  hasMore: false,
  sent: [],
  followUps: [],
  display: defaultDisplayState(),
};

const PAGE = 100;
/** As many as the server gives at once. */
const MAX_MESSAGES = 1000;

/** A session for any UI framework. It stays open while it has listeners. */
export class SessionStore extends ExternalStore<SessionSnapshot> {
  readonly #client: MastraClient;
  readonly #options: SessionStoreOptions;
  #session: ClientSession;
  #status: SessionSnapshot["status"] = "loading";
  #error: Error | undefined;
  #stored: AgentControllerMessage[] = [];
  #limit = PAGE;
  /** Messages that arrived since the store was read. */
  #live = new Map<string, AgentControllerMessage>();
  #sent: readonly SentMessage[] = [];
  #followUps: readonly QueuedFollowUp[] = [];
  /** The revision of the queue that was read. */
  #revision = -1;
  #isOpen = false;

  constructor(client: MastraClient, options: SessionStoreOptions) {
    super(EMPTY);
    this.#client = client;
    this.#options = options;
    this.#session = this.#make();
  }

  /** For every action on the session. */
  get session(): ClientSession {
    return this.#session;
  }

  /** Sends a message. It is shown at once; resolves when the server has it. */
  async send(message: SessionSend): Promise<SessionAck> {
    const { id = newId(), content, files = [] } = message;
    this.#sent = [...this.#sent, { id, content, files, createdAt: new Date(), state: "sending" }];
    this.publish();
    try {
      const ack = await this.#session.send({ ...message, id });
      this.#changeSent(id, { state: "waiting" });
      return ack;
    } catch (error) {
      this.#changeSent(id, { state: "failed", error: error as Error });
      throw error;
    }
  }

  /** Queues a message for a separate run. */
  async followUp(message: SessionSend): Promise<SessionAck> {
    const ack = await this.#session.followUp(message);
    await this.#readQueue(this.#session);
    return ack;
  }

  /** Shows more of the messages before the first. */
  async loadEarlier(): Promise<void> {
    this.#limit = Math.min(MAX_MESSAGES, this.#limit + PAGE);
    await this.#refresh(this.#session);
  }

  protected start(): void {
    const session = this.#session;
    session.subscribe((event) => this.#take(session, event));
    void this.#open(session);
  }

  /** A closed session stays closed: the next listener gets a new one. */
  protected stop(): void {
    this.#session.close();
    this.#session = this.#make();
    this.#status = "loading";
    this.#isOpen = false;
    this.#live = new Map();
    this.#revision = -1;
  }

  protected build(): SessionSnapshot {
    const base = { ...EMPTY, status: this.#status, error: this.#error };
    if (!this.#isOpen) return base;
    const { thread, mode, model, displayState } = this.#session;
    const display = displayState.get();
    const messages = this.#messages(display);
    return {
      ...base,
      threadId: thread.getId(),
      modeId: mode.get(),
      modelId: model.get(),
      info: this.#session.info(),
      messages,
      hasMore: this.#stored.length >= this.#limit && this.#limit < MAX_MESSAGES,
      sent: this.#sent.filter(({ id }) => !messages.some((message) => message.id === id)),
      followUps: this.#followUps,
      display,
    };
  }

  #make(): ClientSession {
    const { controllerId, sessionId, onEvent: _, ...options } = this.#options;
    const session: ClientSession = this.#client.getAgentController(controllerId).session(sessionId, {
      ...options,
      onConnection: (state) => {
        if (session !== this.#session) return;
        const isBack = state === "live" && this.#status === "reconnecting";
        this.#status = state === "live" ? "ready" : "reconnecting";
        // After a long absence the stream begins with how things are now, without what was said meanwhile.
        if (isBack) void this.#refresh(session);
        this.publish();
      },
    });
    return session;
  }

  async #open(session: ClientSession): Promise<void> {
    try {
      await session.open();
      if (session !== this.#session) return;
      await Promise.all([this.#read(session), this.#readQueue(session)]);
      if (session !== this.#session) return;
      this.#isOpen = true;
      this.#status = "ready";
    } catch (error) {
      if (session !== this.#session) return;
      this.#status = "failed";
      this.#error = error as Error;
    }
    this.publish();
  }

  /** Loads the stored messages. Messages that arrive in the meantime are kept. */
  async #read(session: ClientSession): Promise<void> {
    const before = new Map(this.#live);
    const written = session.displayState.get().currentMessage?.id;
    const stored = await session.thread.listActiveMessages({ limit: this.#limit });
    if (session !== this.#session) return;
    this.#stored = stored;
    const known = new Set(stored.map(({ id }) => id));
    // One that is still being written is newer than what is stored of it.
    const current = session.displayState.get().currentMessage?.id;
    for (const [id, message] of before) {
      // Neither stored nor being written: a step that was taken again under another id, after its process died.
      const isGone = id !== written && this.#live.get(id) === message;
      if (id !== current && (known.has(id) || isGone)) this.#live.delete(id);
    }
    this.#sent = this.#sent.filter(({ id }) => !known.has(id));
  }

  async #readQueue(session: ClientSession): Promise<void> {
    this.#revision = session.followUps.revision();
    const followUps = await session.followUps.list();
    if (session !== this.#session) return;
    this.#followUps = followUps;
    if (this.#isOpen) this.publishSoon();
  }

  #take(session: ClientSession, event: AgentControllerEvent): void {
    if (session !== this.#session) return;
    this.#options.onEvent?.(event);
    switch (event.type) {
      case "message_start":
      case "message_update":
      case "message_end":
        this.#live.set(event.message.id, event.message);
        break;
      case "thread_changed":
      case "thread_created":
        this.#stored = [];
        this.#live = new Map();
        this.#sent = [];
        this.#limit = PAGE;
        void this.#refresh(session);
        break;
      case "agent_start":
        this.#error = undefined;
        break;
      case "agent_end":
        void this.#refresh(session);
        break;
      case "error":
        this.#error = event.error;
        break;
    }
    if (!this.#isOpen) return;
    if (session.followUps.revision() !== this.#revision)
      this.#readQueue(session).catch(() => (this.#revision = -1));
    this.publishSoon();
  }

  async #refresh(session: ClientSession): Promise<void> {
    try {
      await this.#read(session);
    } catch (error) {
      if (session === this.#session) this.#error = error as Error;
    }
    if (session === this.#session && this.#isOpen) this.publishSoon();
  }

  #changeSent(id: string, change: Pick<SentMessage, "state" | "error">): void {
    this.#sent = this.#sent.map((message) => (message.id === id ? { ...message, ...change } : message));
    this.publish();
  }

  #messages({ currentMessage }: AgentControllerDisplayState): AgentControllerMessage[] {
    const known = new Set(this.#stored.map(({ id }) => id));
    // A message without content is what is left of a step that was taken again under another id.
    const newer = [...this.#live.values()].filter(({ id, content }) => !known.has(id) && content.length > 0);
    const list = [...this.#stored.map((message) => this.#live.get(message.id) ?? message), ...newer];
    const isMissing = currentMessage && !list.some(({ id }) => id === currentMessage.id);
    return isMissing ? [...list, currentMessage] : list;
  }
}
