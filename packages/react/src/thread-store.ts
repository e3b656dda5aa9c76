import { type Approval, toApproval } from "./approval.ts";
import {
  AgentError,
  type ClientAgent,
  errorFromWire,
  type LocalTools,
  type MastraClient,
  type MemoryThread,
  newId,
  type ReconnectOptions,
  type ThreadSubscription,
} from "@selvedge/client-js";
import type {
  Attributes,
  Lane,
  NumberedChunk,
  QueuedMessage,
  RunOptions,
  SendResult,
  SignalContents,
  ThreadState,
} from "@selvedge/protocol/routes";
import { ExternalStore } from "./external-store.ts";
import { fromSignal, type ThreadMessage, toParts } from "./thread-message.ts";
import { Transcript } from "./transcript.ts";

export interface ThreadStoreOptions {
  agentId: string;
  threadId: string;
  resourceId?: string;
  /** Messages of a page; 40 by default. */
  perPage?: number;
  /** Tools that run here when the agent calls them. */
  clientTools?: LocalTools;
  /** How to come back after a broken line. */
  reconnect?: ReconnectOptions;
  /** Shown until the thread's own messages are there. */
  initialMessages?: readonly ThreadMessage[];
  /** Called for each chunk, also of a run that was under way. */
  onChunk?: (chunk: NumberedChunk) => void;
}

export interface ThreadSnapshot {
  readonly status: "loading" | "ready" | "error";
  /** Why the thread cannot be shown, not yet or no longer. */
  readonly error?: Error;
  readonly connection: "connecting" | "live" | "reconnecting";
  /** Oldest first; what was sent here and is not yet on the thread comes last. */
  readonly messages: readonly ThreadMessage[];
  /** Whether there are messages before the first. */
  readonly hasMore: boolean;
  readonly run?: { readonly runId: string; readonly state: "running" | "suspended" };
  /** Why the last run failed. */
  readonly runError?: Error;
  /** Messages for runs of their own that have not begun. */
  readonly queue: readonly QueuedMessage[];
  readonly lanes: readonly Lane[];
  /** Calls that wait for a person. */
  readonly approvals: readonly Approval[];
}

export interface SendOptions {
  attributes?: Attributes;
  metadata?: Record<string, unknown>;
  ifIdle?: { streamOptions?: Omit<RunOptions, "clientTools"> };
}

const PER_PAGE = 40;
const RESTART_MS = 1000;
/** Messages that may be shown and not stored, for a moment. */
const MARGIN = 4;

const LOADING: Omit<ThreadSnapshot, "messages"> = {
  status: "loading",
  connection: "connecting",
  hasMore: false,
  queue: [],
  lanes: [],
  approvals: [],
};

/**
 * A live thread, for any kind of page. It loads what is stored, follows what comes, and shows what is sent before the
 * server has it. `useThread` is this for React.
 *
 *     start: state → messages → subscription from the start of the active run
 *     a run ends: the stored messages are read again; they are the truth about what is over
 */
export class ThreadStore extends ExternalStore<ThreadSnapshot> {
  readonly #client: MastraClient;
  readonly #options: ThreadStoreOptions;
  readonly #transcript: Transcript;
  #subscription: ThreadSubscription | undefined;
  /** Changes with every start and stop: what an earlier life left running stops at the next look. */
  #life = {};
  #status: ThreadSnapshot["status"] = "loading";
  #error: Error | undefined;
  #connection: ThreadSnapshot["connection"] = "connecting";
  #hasMore = false;
  #run: ThreadSnapshot["run"];
  #runError: Error | undefined;
  #queue: readonly QueuedMessage[] = [];
  #lanes: readonly Lane[] = [];
  #approvals: readonly Approval[] = [];
  /** Chunks up to this number are of the past: they are shown together. */
  #caughtUpAt = 0;
  /** The run whose chunks were read from its first one on: its answers are built anew, whatever was stored of them. */
  #fromStart: string | undefined;
  /** The active run of which we have seen what it was asked. */
  #askedIn: string | undefined;
  /** What the active run wrote so far is no longer kept as chunks. */
  #fromEnd = false;
  #refreshing: Promise<void> | undefined;
  #refreshAgain = false;

  constructor(client: MastraClient, options: ThreadStoreOptions) {
    super({ ...LOADING, messages: options.initialMessages ?? [] });
    this.#client = client;
    this.#options = options;
    this.#transcript = new Transcript(options.initialMessages);
  }

  /** Sends into the active run, or opens one. Shown at once; resolves when the server has it. */
  sendMessage(contents: SignalContents, options: SendOptions = {}): Promise<SendResult> {
    return this.#send("sendMessage", contents, options);
  }

  /** Sends for a run of its own, after the active one. */
  queueMessage(contents: SignalContents, options: SendOptions = {}): Promise<SendResult> {
    return this.#send("queueMessage", contents, options);
  }

  /** Changes a queued message. Rejects with `not-found` once a run has taken it. */
  async editQueued(id: string, contents: SignalContents): Promise<void> {
    await this.#onQueue(id, async () => {
      const { resourceId } = this.#options;
      const changed = await this.#thread().editQueued(id, {
        contents,
        ...(resourceId !== undefined && { resourceId }),
      });
      this.#queue = this.#queue.map((message) => (message.id === id ? changed : message));
    });
  }

  /** Takes a queued message back. */
  async removeQueued(id: string): Promise<void> {
    await this.#onQueue(id, async () => {
      await this.#thread().removeQueued(id);
      this.#queue = this.#queue.filter((message) => message.id !== id);
    });
  }

  /** Aborts the active run. Answers whether there was one. */
  async abort(): Promise<boolean> {
    const { aborted } = await this.#agent().abortThread(this.#address());
    return aborted;
  }

  approve(toolCallId: string, resumeData?: unknown): Promise<void> {
    return this.#decide(toolCallId, { approved: true, ...(resumeData !== undefined && { resumeData }) });
  }

  decline(toolCallId: string, reason?: string): Promise<void> {
    return this.#decide(toolCallId, {
      approved: false,
      ...(reason !== undefined && { declineContext: { reason } }),
    });
  }

  /** Loads the messages before the first. */
  async loadEarlier(): Promise<void> {
    const life = this.#life;
    const perPage = this.#options.perPage ?? PER_PAGE;
    // Pages count from the newest message, which moves on: an overlap is dropped, a gap would stay.
    let page = Math.max(0, Math.floor((this.#transcript.doneCount - MARGIN) / perPage));
    for (let found = false; this.#hasMore && !found; page++) {
      const { messages, hasMore } = await this.#thread().listMessages({ page, perPage });
      if (life !== this.#life) return;
      found = this.#transcript.prepend(messages);
      this.#hasMore = hasMore;
    }
    this.publish();
  }

  /** Reads the stored messages, the queue, lanes and approvals again. */
  refresh(): Promise<void> {
    if (this.#refreshing) {
      this.#refreshAgain = true;
      return this.#refreshing;
    }
    const refreshing = this.#refreshNow().finally(() => {
      this.#refreshing = undefined;
      if (!this.#refreshAgain) return undefined;
      this.#refreshAgain = false;
      return this.refresh();
    });
    this.#refreshing = refreshing;
    return refreshing;
  }

  /** Replaces what is shown; the stream goes on from there. */
  setMessages(messages: readonly ThreadMessage[]): void {
    this.#transcript.set(messages);
    this.publish();
  }

  protected start(): void {
    const life = (this.#life = {});
    void this.#follow(life);
  }

  protected stop(): void {
    this.#life = {};
    this.#subscription?.unsubscribe();
    this.#subscription = undefined;
  }

  protected build(): ThreadSnapshot {
    return {
      status: this.#status,
      ...(this.#error && { error: this.#error }),
      connection: this.#connection,
      messages: this.#transcript.view,
      hasMore: this.#hasMore,
      ...(this.#run && { run: this.#run }),
      ...(this.#runError && { runError: this.#runError }),
      queue: this.#queue,
      lanes: this.#lanes,
      approvals: this.#approvals,
    };
  }

  /** Loads and follows until the store stops. Where the stream has gone on without us, it begins anew. */
  async #follow(life: object): Promise<void> {
    for (;;) {
      try {
        await this.#loadAndRead(life);
        return;
      } catch (error) {
        if (life !== this.#life) return;
        const isGone = AgentError.is(error, "reader-too-slow");
        if (!isGone && !isPassing(error)) return this.#giveUp(error);
        this.#error = error as Error;
        this.#connection = this.#status === "loading" ? "connecting" : "reconnecting";
        this.publish();
        if (!isGone) await new Promise((resolve) => setTimeout(resolve, RESTART_MS * (0.5 + Math.random())));
        if (life !== this.#life) return;
      }
    }
  }

  async #loadAndRead(life: object): Promise<void> {
    const perPage = this.#options.perPage ?? PER_PAGE;
    const state = await this.#thread().state().catch(orNothing);
    const page = state && (await this.#thread().listMessages({ perPage }).catch(orNothing));
    if (life !== this.#life) return;
    const rebuilds = state !== undefined && state.runState !== "idle" && !this.#fromEnd;
    const after = rebuilds ? state.activeRunAfter : (state?.lastSeq ?? 0);
    const { clientTools } = this.#options;
    const subscription = await this.#agent().subscribeToThread({
      ...this.#address(),
      after,
      ...(clientTools && { clientTools }),
    });
    if (life !== this.#life) return subscription.unsubscribe();
    this.#subscription = subscription;
    this.#transcript.rest();
    this.#transcript.merge(page?.messages ?? [], this.#transcript.clock);
    this.#hasMore = page?.hasMore ?? false;
    this.#takeState(state);
    this.#fromStart = undefined;
    this.#askedIn = state?.activeRunId ?? undefined;
    this.#caughtUpAt = state?.lastSeq ?? 0;
    this.#status = "ready";
    this.#error = undefined;
    this.#connection = "live";
    this.publish();
    // Until the first chunk has come, an error may mean that the chunks asked for are gone.
    this.#fromEnd = rebuilds;
    await subscription.processDataStream({
      onChunk: (chunk) => {
        if (life === this.#life) this.#take(chunk);
      },
      reconnect: this.#options.reconnect ?? true,
      onConnection: (connection) => {
        if (life !== this.#life) return;
        this.#connection = connection;
        this.publish();
      },
    });
  }

  #take(chunk: NumberedChunk): void {
    this.#fromEnd = false;
    if (chunk.type === "start") this.#fromStart = chunk.runId;
    this.#transcript.take(chunk, this.#fromStart === chunk.runId);
    const isPast = chunk.seq < this.#caughtUpAt;
    this.#trackRun(chunk, isPast);
    this.#options.onChunk?.(chunk);
    if (!isPast) this.publishSoon();
  }

  #trackRun(chunk: NumberedChunk, isPast: boolean): void {
    const { runId } = chunk;
    if (this.#run?.runId !== runId || this.#run.state !== "running") this.#run = { runId, state: "running" };
    switch (chunk.type) {
      case "start":
        this.#runError = undefined;
        this.#askedIn = undefined;
        break;
      case "data-user-message":
      case "data-signal": {
        const { id, type } = chunk.data as { id: string; type: string };
        this.#askedIn = runId;
        this.#queue = this.#queue.filter((message) => message.id !== id);
        if (type === "state" && !isPast) this.#refreshInBackground();
        break;
      }
      case "step-start":
        // Asked by a call of its own and not by a message on the thread: what was asked is in the store.
        if (this.#askedIn !== runId && !isPast) this.#refreshInBackground();
        this.#askedIn = runId;
        break;
      case "tool-call-approval":
      case "tool-call-suspended":
        this.#approvals = [...this.#without(chunk.payload.toolCallId), toApproval(chunk)];
        break;
      case "tool-result":
      case "tool-error":
      case "tool-output-denied":
        this.#approvals = this.#without(chunk.payload.toolCallId);
        break;
      case "tripwire":
        this.#runError = new AgentError("tripwire", chunk.payload.reason);
        break;
      case "error":
        this.#runError = errorFromWire(chunk.payload.error);
        this.#endRun(isPast);
        break;
      case "abort":
        this.#endRun(isPast);
        break;
      case "finish":
        if (chunk.payload.stepResult.reason === "suspended") this.#run = { runId, state: "suspended" };
        else this.#endRun(isPast);
        break;
    }
  }

  #endRun(isPast: boolean): void {
    this.#run = undefined;
    this.#approvals = [];
    if (!isPast) this.#refreshInBackground();
  }

  #without(toolCallId: string): Approval[] {
    return this.#approvals.filter((approval) => approval.toolCallId !== toolCallId);
  }

  #takeState(state: ThreadState | undefined): void {
    this.#takeQueue(state);
    this.#approvals = state?.approvals ?? [];
    const runId = state?.activeRunId ?? undefined;
    this.#run =
      state === undefined || state.runState === "idle" || runId === undefined
        ? undefined
        : { runId, state: state.runState };
  }

  #takeQueue(state: ThreadState | undefined): void {
    this.#lanes = state?.lanes ?? [];
    const waiting = (state?.queue ?? []).filter(({ id }) => !this.#transcript.has(id));
    const known = new Set(waiting.map(({ id }) => id));
    const sending = this.#queue.filter(({ id, runId }) => runId === "" && !known.has(id));
    this.#queue = [...waiting.filter(({ due }) => due === "next"), ...sending];
    for (const { due, signal, runId } of waiting)
      if (due === "now") this.#transcript.show({ ...fromSignal(signal, runId), state: "waiting" });
  }

  async #refreshNow(): Promise<void> {
    const life = this.#life;
    const { clock } = this.#transcript;
    const perPage = this.#options.perPage ?? PER_PAGE;
    const [state, page] = await Promise.all([
      this.#thread().state().catch(orNothing),
      this.#thread().listMessages({ perPage }).catch(orNothing),
    ]);
    if (life !== this.#life) return;
    if (page) {
      const isCut = this.#transcript.merge(page.messages, clock);
      if (isCut) this.#hasMore = page.hasMore;
    }
    this.#takeQueue(state);
    this.publish();
  }

  /** A refresh that fails leaves what is shown as it is: the stream is still followed. */
  #refreshInBackground(): void {
    this.refresh().catch(() => {});
  }

  #giveUp(error: unknown): void {
    this.#status = "error";
    this.#error = error instanceof Error ? error : new Error(String(error));
    this.publish();
  }

  async #send(
    kind: "sendMessage" | "queueMessage",
    contents: SignalContents,
    { attributes, metadata, ifIdle }: SendOptions,
  ): Promise<SendResult> {
    const id = newId();
    const createdAt = new Date().toISOString();
    const more = { ...(attributes && { attributes }), ...(metadata && { metadata }) };
    const isQueued = kind === "queueMessage";
    if (isQueued) {
      const signal = { id, type: "user", tagName: "user", contents, createdAt, ...more } as const;
      const message: QueuedMessage = { id, agentId: this.#options.agentId, due: "next", runId: "", signal };
      this.#queue = [...this.#queue, message];
    } else {
      const parts = toParts(contents);
      this.#transcript.show({ id, role: "user", type: "user", createdAt, parts, ...more, state: "sending" });
    }
    this.publish();
    try {
      const { clientTools } = this.#options;
      const streamOptions = { ...ifIdle?.streamOptions, ...(clientTools && { clientTools }) };
      const result = await this.#agent()[kind]({
        message: { contents, id, ...more },
        ...this.#address(),
        ...(Object.keys(streamOptions).length > 0 && { ifIdle: { streamOptions } }),
      });
      this.#accepted(id, result, isQueued);
      return result;
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      this.#queue = this.#queue.filter((message) => message.id !== id);
      this.#transcript.change(id, { state: "failed", error: reason });
      throw error;
    } finally {
      this.publish();
    }
  }

  #accepted(id: string, { action, runId }: SendResult, isQueued: boolean): void {
    if (action === "discard") {
      this.#queue = this.#queue.filter((message) => message.id !== id);
      this.#transcript.withdraw(id);
    } else if (isQueued)
      this.#queue = this.#queue.map((message) => (message.id === id ? { ...message, runId } : message));
    else this.#transcript.change(id, { state: "waiting", runId });
    if (action === "persist" || (action === "queue" && !isQueued)) this.#refreshInBackground();
  }

  async #onQueue(id: string, change: () => Promise<void>): Promise<void> {
    try {
      await change();
    } catch (error) {
      if (AgentError.is(error, "not-found")) this.#queue = this.#queue.filter((message) => message.id !== id);
      throw error;
    } finally {
      this.publish();
    }
  }

  async #decide(
    toolCallId: string,
    decision: { approved: boolean; resumeData?: unknown; declineContext?: { reason: string } },
  ): Promise<void> {
    try {
      await this.#agent().sendToolApproval({ ...this.#address(), toolCallId, ...decision });
      this.#approvals = this.#without(toolCallId);
    } catch (error) {
      // Somebody else was first.
      if (AgentError.is(error, "already-decided")) this.#approvals = this.#without(toolCallId);
      throw error;
    } finally {
      this.publish();
    }
  }

  #agent(): ClientAgent {
    return this.#client.getAgent(this.#options.agentId);
  }

  #thread(): MemoryThread {
    return this.#client.getMemoryThread({ agentId: this.#options.agentId, ...this.#address() });
  }

  #address(): { threadId: string; resourceId?: string } {
    const { threadId, resourceId } = this.#options;
    return { threadId, ...(resourceId !== undefined && { resourceId }) };
  }
}

/** A thread that nobody has written to does not exist yet, and is shown empty. */
function orNothing(error: unknown): undefined {
  if (AgentError.is(error, "not-found")) return undefined;
  throw error;
}

/** The server cannot be reached, or not now. */
function isPassing(error: unknown): boolean {
  return AgentError.is(error) && (error.retryable || error.status >= 500) && error.status !== 501;
}
