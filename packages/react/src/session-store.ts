import type { ClientSession, MastraClient, SessionOptions } from "@selvedge/client-js";
import {
  type AgentControllerDisplayState,
  type AgentControllerEvent,
  type AgentControllerMessage,
  defaultDisplayState,
} from "@selvedge/protocol/session";
import { ExternalStore } from "./external-store.ts";

export interface SessionStoreOptions extends Omit<SessionOptions, "onConnection"> {
  controllerId: string;
  /** Default: the resource's own session. */
  sessionId?: string;
  /** Called for each event. */
  onEvent?: (event: AgentControllerEvent) => void;
}

/** A session's state for a page. */
export interface SessionSnapshot {
  status: "loading" | "ready" | "reconnecting" | "failed";
  error: Error | undefined;
  threadId: string | null;
  modeId: string | undefined;
  modelId: string | undefined;
  /** Stored messages and those in progress, oldest first. */
  messages: AgentControllerMessage[];
  display: AgentControllerDisplayState;
}

const EMPTY: SessionSnapshot = {
  status: "loading",
  error: undefined,
  threadId: null,
  modeId: undefined,
  modelId: undefined,
  messages: [],
  display: defaultDisplayState(),
};

/** A session for any UI framework. It stays open while it has listeners. */
export class SessionStore extends ExternalStore<SessionSnapshot> {
  readonly #client: MastraClient;
  readonly #options: SessionStoreOptions;
  #session: ClientSession;
  #status: SessionSnapshot["status"] = "loading";
  #error: Error | undefined;
  #stored: AgentControllerMessage[] = [];
  /** Messages that arrived since the store was read. */
  #live = new Map<string, AgentControllerMessage>();
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
  }

  protected build(): SessionSnapshot {
    const base = { ...EMPTY, status: this.#status, error: this.#error };
    if (!this.#isOpen) return base;
    const { thread, mode, model, displayState } = this.#session;
    const display = displayState.get();
    return {
      ...base,
      threadId: thread.getId(),
      modeId: mode.get(),
      modelId: model.get(),
      messages: this.#messages(display),
      display,
    };
  }

  #make(): ClientSession {
    const { controllerId, sessionId, onEvent: _, ...options } = this.#options;
    return this.#client.getAgentController(controllerId).session(sessionId, {
      ...options,
      onConnection: (state) => {
        this.#status = state === "live" ? "ready" : "reconnecting";
        this.publish();
      },
    });
  }

  async #open(session: ClientSession): Promise<void> {
    try {
      await session.open();
      if (session !== this.#session) return;
      this.#isOpen = true;
      await this.#read(session);
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
    const before = new Set(this.#live.keys());
    const stored = await session.thread.listActiveMessages();
    if (session !== this.#session) return;
    this.#stored = stored;
    const known = new Set(stored.map(({ id }) => id));
    for (const id of before) if (known.has(id)) this.#live.delete(id);
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
        void this.#refresh(session);
        break;
      case "agent_end":
        void this.#refresh(session);
        break;
      case "error":
        this.#error = event.error;
        break;
    }
    if (this.#isOpen) this.publishSoon();
  }

  async #refresh(session: ClientSession): Promise<void> {
    try {
      await this.#read(session);
    } catch (error) {
      if (session === this.#session) this.#error = error as Error;
    }
    if (session === this.#session && this.#isOpen) this.publishSoon();
  }

  #messages({ currentMessage }: AgentControllerDisplayState): AgentControllerMessage[] {
    const known = new Set(this.#stored.map(({ id }) => id));
    const newer = [...this.#live.values()].filter(({ id }) => !known.has(id));
    const list = [...this.#stored.map((message) => this.#live.get(message.id) ?? message), ...newer];
    const isMissing = currentMessage && !list.some(({ id }) => id === currentMessage.id);
    return isMissing ? [...list, currentMessage] : list;
  }
}
