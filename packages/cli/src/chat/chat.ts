import { AgentError, errorMessage } from "@selvedge/core/errors";
import type { AgentControllerDisplayState, AgentControllerEvent } from "@selvedge/protocol/session";
import { runChatCommand, startsSkill } from "./chat-commands.ts";
import type { ChatSession, OpenChat } from "./chat-session.ts";
import { diffLines } from "@selvedge/protocol";
import { printable } from "./printable.ts";
import { type Question, questionsOf, readReply } from "./question.ts";
import { patchLines } from "./tool-call.ts";
import { textOf, Transcript } from "./transcript.ts";

/** A message that was typed here and is not part of the conversation yet. */
export interface Pending {
  text: string;
  /** It is stored from `steering` or `queued` on. */
  state: "sending" | "steering" | "queued";
}

/** How many stored messages a chat begins with. */
const SHOWN_MESSAGES = 40;

/** Between two presses of a key that belong together. */
const QUICKLY_MS = 2000;

/**
 * A session in front of a person. It knows nothing of how things look: a terminal, or lines of text, show `transcript`,
 * `pending` and `questions`, and pass on what is typed.
 *
 *     what is typed → command, answer to a question, or message → session → events → transcript
 */
export class Chat {
  readonly open: OpenChat;
  readonly transcript: Transcript = new Transcript();
  /** Receives every event of the session. */
  onEvent: (event: AgentControllerEvent) => void = () => {};
  /** Called when the screen is out of date. */
  onChange: () => void = () => {};
  /** Receives text that could not be sent, so that it need not be typed again. */
  onUnsent: (text: string) => void = () => {};
  /** Receives notes for the person at this terminal. */
  onNote: (kind: "info" | "error", text: string) => void = () => {};
  /** Receives messages that were typed elsewhere. */
  onOthers: (text: string) => void = () => {};
  /** The person wants to leave. */
  onLeave: () => void = () => {};
  connection: "live" | "reconnecting" = "live";
  /** What providers said that it cost, since the chat was opened. */
  cost: number | undefined;
  #startedAt = Date.now();
  #pending: (Pending & { how: "steer" | "queue" })[] = [];
  #queue: { id: string; text: string }[] = [];
  /** Calls that were answered here and have not continued yet. */
  readonly #answered = new Set<string>();
  readonly #told = new WeakSet<Error>();
  /** Calls whose diff is being made. They do not ask before it is shown. */
  readonly #previews = new Set<string>();
  #interruptedAt: number | undefined;
  #stored = 0;
  #unsubscribe: () => void = () => {};
  #loading: Promise<void> = Promise.resolve();

  constructor(open: OpenChat) {
    this.open = open;
  }

  get session(): ChatSession {
    return this.open.session;
  }

  get display(): AgentControllerDisplayState {
    return this.session.displayState.get();
  }

  /** The first one is answered next. */
  get questions(): Question[] {
    return questionsOf(this.display, this.open.workspace?.bounds).filter(
      ({ toolCallId }) => !this.#answered.has(toolCallId) && !this.#previews.has(toolCallId),
    );
  }

  /** A run is active or about to start. */
  get isBusy(): boolean {
    const { isRunning, queuedFollowUps } = this.display;
    return isRunning || queuedFollowUps > 0 || this.#pending.length > 0 || this.#answered.size > 0;
  }

  /** When the active run began, as far as this chat knows. */
  get workingSince(): number | undefined {
    return this.display.isRunning ? this.#startedAt : undefined;
  }

  /** What was typed and is not read by the agent yet, then what waits for a separate run, here and elsewhere. */
  get pending(): Pending[] {
    return [
      ...this.#pending.map(({ text, state }) => ({ text, state })),
      ...this.#queue.map(({ text }): Pending => ({ text, state: "queued" })),
    ];
  }

  /** Loads the conversation. Returns how many messages it has, up to the limit of what is shown. */
  async start(): Promise<number> {
    this.#unsubscribe = this.session.subscribe((event) => this.#take(event));
    this.open.onConnection((state) => this.#connected(state));
    await this.#load();
    return this.transcript.said().length === 0 ? 0 : this.#stored;
  }

  stop(): void {
    this.#unsubscribe();
  }

  /** What was typed: a command, an answer, or a message. */
  async submit(typed: string, how: "steer" | "queue" = "steer"): Promise<void> {
    const text = typed.trim();
    this.typed();
    if (text === "") return;
    try {
      if (text.startsWith("/") && !(await startsSkill(this, text))) return await runChatCommand(this, text);
      const [question] = this.questions;
      if (question && how === "steer") return await this.#answer(question, typed);
      await this.#send(typed, how);
    } catch (error) {
      this.fail(error);
    }
  }

  /**
   * Ctrl-C: aborts the active run. A second time, with nothing typed in between, leaves. Some time later it aborts a run that
   * has begun since, such as that of a queued message.
   */
  interrupt(now: number = Date.now()): void {
    const before = this.#interruptedAt;
    const hasNewRun = before !== undefined && this.workingSince !== undefined && this.workingSince >= before;
    if (before !== undefined && (!hasNewRun || now - before < QUICKLY_MS)) return this.onLeave();
    this.#interruptedAt = now;
    const { isRunning, pendingSuspensions } = this.display;
    if (isRunning || pendingSuspensions.size > 0) void this.#abort();
    this.say("Press Ctrl-C again to quit.");
  }

  async #abort(): Promise<void> {
    try {
      await this.session.abort();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Something is typed, so the next Ctrl-C is a first one. */
  typed(): void {
    this.#interruptedAt = undefined;
  }

  say(text: string): void {
    this.#note("info", text);
  }

  /** Some errors come as an event and as the end of a call: each is shown once. */
  fail(error: unknown): void {
    if (error instanceof Error) {
      if (this.#told.has(error)) return;
      this.#told.add(error);
    }
    const isOffline = this.connection === "reconnecting" && AgentError.is(error, "connection-failed");
    const offline = "The server cannot be reached. Try again when the connection is back.";
    this.#note("error", isOffline ? offline : errorMessage(error));
  }

  #note(kind: "info" | "error", text: string): void {
    this.transcript.add(kind, text);
    this.onNote(kind, text);
    this.onChange();
  }

  /** Messages that wait for a separate run, as they are stored. */
  async queue(): Promise<{ id: string; text: string }[]> {
    const listed = await this.session.followUps.list();
    this.#queue = listed.map(({ id, content }) => ({ id, text: textOf(content) }));
    const texts = new Set(this.#queue.map(({ text }) => text.trim()));
    this.#pending = this.#pending.filter(({ how, text }) => how === "steer" || !texts.has(text));
    this.onChange();
    return this.#queue;
  }

  async #answer(question: Question, typed: string): Promise<void> {
    const { toolCallId } = question;
    const reply = readReply(question, typed);
    switch (reply.type) {
      case "problem":
        return this.say(reply.message);
      case "message":
        // It also declines the call.
        return this.#decide(toolCallId, () => this.#send(reply.content, "steer"));
      case "approval":
        return this.#decide(toolCallId, () =>
          this.session.respondToToolApproval({ toolCallId, decision: reply.decision }),
        );
      case "data":
        return this.#decide(toolCallId, () =>
          this.session.respondToToolSuspension({ toolCallId, resumeData: reply.resumeData }),
        );
    }
  }

  async #decide(toolCallId: string, respond: () => Promise<unknown>): Promise<void> {
    this.#answered.add(toolCallId);
    this.onChange();
    try {
      await respond();
    } catch (error) {
      this.#answered.delete(toolCallId);
      if (AgentError.is(error, "already-decided")) this.say("Another client has already answered this.");
      else if (AgentError.is(error, "not-found")) this.say("This question no longer needs an answer.");
      else throw error;
    }
  }

  async #send(content: string, how: "steer" | "queue"): Promise<void> {
    const sent: Pending & { how: "steer" | "queue" } = { text: content.trim(), state: "sending", how };
    this.#pending.push(sent);
    this.onChange();
    try {
      const { action } = await (how === "queue"
        ? this.session.followUp({ content })
        : this.session.steer({ content }));
      if (action === "deliver") sent.state = "steering";
      if (how === "queue") this.#refreshQueue();
      this.onChange();
    } catch (error) {
      this.#forget(sent);
      this.onUnsent(content);
      throw error;
    }
  }

  #forget(sent: Pending | undefined): void {
    this.#pending = this.#pending.filter((one) => one !== sent);
  }

  #take(event: AgentControllerEvent): void {
    // The session only logs errors of its listeners.
    try {
      this.#follow(event);
      this.onEvent(event);
    } catch (error) {
      this.fail(error);
    }
    this.onChange();
  }

  #follow(event: AgentControllerEvent): void {
    this.transcript.take(event);
    switch (event.type) {
      case "tool_approval_required":
        return this.#preview(event);
      case "tool_end":
        this.#answered.delete(event.toolCallId);
        return;
      case "error":
        // The terminal that gave the second answer says so itself.
        if (AgentError.is(event.error, "already-decided")) return;
        if (AgentError.is(event.error, "not-found") && this.#answered.size > 0) return;
        return this.fail(event.error);
      case "workspace_error":
        return this.fail(event.error);
      case "info":
        return this.say(event.message);
      case "agent_start":
        this.#startedAt = Date.now();
        this.#answered.clear();
        if (this.#queue.length > 0) this.#refreshQueue();
        return;
      case "agent_end":
        if (event.reason !== "suspended") this.#answered.clear();
        if (event.reason === "aborted") this.say("Stopped.");
        return;
      case "message_start": {
        if (event.message.role !== "user") return;
        const text = textOf(event.message.content).trim();
        const own = this.#pending.find((one) => one.text === text);
        if (own) this.#forget(own);
        else this.onOthers(text);
        if (this.#queue.length > 0) this.#refreshQueue();
        return;
      }
      case "follow_up_queued":
        return this.#refreshQueue();
      case "display_state_changed":
        if (event.displayState.queuedFollowUps < this.#queue.length) this.#refreshQueue();
        return;
      case "usage_update":
        this.cost = addCost(this.cost, event.usage.raw);
        return;
      case "mode_changed":
        return this.say(`Mode: ${event.modeId}`);
      case "thread_changed":
      case "thread_created":
        this.#startedAt = Date.now();
        this.#pending = [];
        this.#queue = [];
        this.#answered.clear();
        this.transcript.clear();
        this.#loading = this.#load().catch((error: unknown) => this.fail(error));
        return;
    }
  }

  /** Resolves when the conversation that the session is on is shown. */
  loaded(): Promise<void> {
    return this.#loading;
  }

  async #load(): Promise<void> {
    const threadId = this.session.thread.getId();
    const messages = await this.session.thread.listActiveMessages({ limit: SHOWN_MESSAGES });
    if (this.session.thread.getId() !== threadId) return;
    const { currentMessage, queuedFollowUps } = this.display;
    this.#stored = messages.length;
    this.transcript.load(messages, currentMessage);
    for (const approval of this.display.pendingApprovals.values()) this.#preview(approval);
    await this.#loadChanges(threadId);
    if (queuedFollowUps > 0) await this.queue();
    this.onChange();
  }

  /** A call that writes a whole file shows how the file changes. */
  #preview({ toolCallId, args }: { toolCallId: string; args: unknown }): void {
    const { path, content } = Object(args) as { path?: unknown; content?: unknown };
    const { workspace } = this.open;
    if (!workspace || typeof path !== "string" || typeof content !== "string") return;
    this.#previews.add(toolCallId);
    void workspace
      .read(path)
      // A file that cannot be read is refused when the tool runs.
      .catch(() => "")
      .then((before) => {
        this.transcript.diffs.set(toolCallId, diffLines(printable(before), printable(content)));
        this.#previews.delete(toolCallId);
        this.onChange();
      });
  }

  async #loadChanges(threadId: string | null): Promise<void> {
    if (!this.open.workspace || threadId === null) return;
    for (const { toolCallId, diff } of await this.open.workspace.changes({ threadId }))
      if (diff !== undefined) this.transcript.diffs.set(toolCallId, patchLines(diff));
  }

  #refreshQueue(): void {
    this.queue().catch((error: unknown) => this.fail(error));
  }

  #connected(state: "live" | "reconnecting"): void {
    if (state === this.connection) return;
    this.connection = state;
    this.say(state === "live" ? "Connected again." : "The connection was lost. Reconnecting …");
    // Some of what happened meanwhile may be in the store only.
    if (state === "live") this.#loading = this.#load().catch((error: unknown) => this.fail(error));
  }
}

function addCost(before: number | undefined, raw: unknown): number | undefined {
  const { cost } = Object(raw) as { cost?: unknown };
  return typeof cost === "number" && Number.isFinite(cost) ? (before ?? 0) + cost : before;
}
