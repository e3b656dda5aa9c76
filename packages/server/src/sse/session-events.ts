import { AgentError } from "@selvedge/core";
import type { Agent, AgentThreadSubscription } from "@selvedge/core/agent";
import {
  SESSION_DOMAIN,
  type Session,
  type StoredSession,
  waitingChunks,
} from "@selvedge/core/agent-controller";
import { readThreadOverview, watchQueue } from "@selvedge/core/threads";
import type { AgentChunk, StoredThread } from "@selvedge/protocol";
import type { AgentControllerEvent, SessionFrame, SessionInfo } from "@selvedge/protocol/session";
import type { EventSourceText } from "./event-body.ts";
import { endFrame, type FrameCache } from "./frames.ts";
import type { Pace } from "./pace.ts";
import { isLast } from "./run-events.ts";

const CHUNKS_AT_ONCE = 256;
const TEXT_AT_ONCE = 32 << 10;

/** Events of one process only: they are in no row and on no thread. */
const OF_PROCESS = /^workspace_/;

/** A reader's position: the version of the session and the number on its thread. */
export interface SessionPlace {
  version: number;
  seq: number;
}

export interface SessionEventsOptions {
  session: Session;
  agent: Agent;
  frames: FrameCache;
  pace: Pace;
  show(chunk: AgentChunk): AgentChunk;
  info(row: StoredSession): SessionInfo;
  /** A failure as the reader may see it. */
  toSafe(error: unknown): AgentError;
  /** Called once, when the reader has left. */
  release(): void;
}

/**
 * All events of a session: the chunks of its thread, interleaved with changes of the session itself. A reconnecting
 * reader gets what it missed. One that was away too long, or whose session has moved to another thread, starts again
 * with a snapshot.
 */
export class SessionEvents implements EventSourceText {
  readonly #options: SessionEventsOptions;
  readonly #stop: (() => void)[] = [];
  /** The version the reader knows. */
  #row: StoredSession;
  #subscription: AgentThreadSubscription | undefined;
  #stopQueue: () => void = () => {};
  #read: readonly (AgentChunk & { seq: number })[] = [];
  #index = 0;
  #seq = 0;
  /** The end of the replayed part of the thread; `undefined` once the reader knows the replay is over. */
  #until: number | undefined;
  #ready = "";
  #reading = false;
  #queueChanged = false;
  #runEnded = false;
  #created: StoredThread | undefined;
  #failure: { error: unknown } | undefined;
  #gaveAt = Number.NEGATIVE_INFINITY;
  #left = false;
  #wake: () => void = () => {};

  private constructor(options: SessionEventsOptions) {
    this.#options = options;
    this.#row = options.session.core.row;
  }

  static async open(options: SessionEventsOptions, place?: SessionPlace): Promise<SessionEvents> {
    const events = new SessionEvents(options);
    try {
      await events.#open(place);
      return events;
    } catch (error) {
      events.leave();
      throw error;
    }
  }

  async next(): Promise<string | undefined> {
    for (;;) {
      const text = await this.#take();
      if (text !== "") {
        this.#gaveAt = this.#options.pace.now;
        return text;
      }
      if (this.#left) return undefined;
      if (!this.#reading) await this.#options.pace.wait(this.#gaveAt);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        if (this.#hasNews()) resolve();
        else this.#readMore();
      });
    }
  }

  leave(): void {
    if (this.#left) return;
    this.#left = true;
    this.#leaveThread();
    for (const stop of this.#stop) stop();
    this.#options.release();
    this.#wake();
  }

  farewell(error: unknown): string {
    const slow = "The client stopped reading, so the stream was closed. Reconnect with Last-Event-ID.";
    return endFrame(error ?? new AgentError("reader-too-slow", slow), undefined);
  }

  get #core(): Session["core"] {
    return this.#options.session.core;
  }

  async #open(place: SessionPlace | undefined): Promise<void> {
    const core = this.#core;
    this.#stop.push(core.watchRow(() => this.#wake()));
    let isReplay = true;
    this.#stop.push(
      this.#options.session.subscribe((event) => {
        if (!isReplay || place === undefined) this.#hear(event, isReplay);
      }),
    );
    isReplay = false;
    // A reader may be ahead of this process.
    if (place && place.version > core.row.version) await core.refresh();
    await core.thread.followed();
    if (!place || !(await this.#goOn(place))) await this.#begin();
  }

  /** Resumes after what the reader had, if it is still stored. */
  async #goOn({ version, seq }: SessionPlace): Promise<boolean> {
    const { row, host } = this.#core;
    if (version > row.version || version < row.threadVersion) return false;
    const overview =
      row.threadId === undefined ? undefined : await readThreadOverview(host.storage, row.threadId);
    const last = overview?.lastSeq ?? 0;
    if (seq > last) return false;
    this.#row = row;
    if (!(await this.#follow(seq, last))) return false;
    this.#seq = seq;
    if (row.version > version) this.#addChanged();
    this.#add({ type: "session-live" });
    return true;
  }

  /** A snapshot, then the active run from its start. */
  async #begin(): Promise<void> {
    this.#leaveThread();
    const { row, host } = this.#core;
    const { threadId } = row;
    this.#row = row;
    // The tokens first: what a run adds meanwhile comes with its chunks.
    const facts = threadId === undefined ? {} : await this.#core.thread.facts(threadId);
    const overview = threadId === undefined ? undefined : await readThreadOverview(host.storage, threadId);
    const until = overview?.lastSeq ?? 0;
    let after = overview?.activeRunAfter ?? 0;
    let questions: AgentChunk[] | undefined;
    if (!(await this.#follow(after, until))) {
      questions = waitingChunks(overview!).map(this.#options.show);
      after = until;
      await this.#follow(after, until);
    }
    this.#seq = after;
    this.#until = until;
    const created = this.#created?.id === threadId ? this.#created : undefined;
    this.#created = undefined;
    this.#addNumbered({
      type: "session-snapshot",
      session: this.#options.info(row),
      facts,
      after,
      until,
      ...(questions && { questions }),
      ...(created && { created }),
    });
  }

  /** Whether the chunks after a number are still stored. */
  async #follow(after: number, last: number): Promise<boolean> {
    const { threadId, resourceId } = this.#row;
    if (threadId === undefined || this.#left) return true;
    const subscription = await this.#options.agent.subscribeToThread({ threadId, resourceId, after });
    try {
      if (after < last) {
        this.#read = await subscription.read(CHUNKS_AT_ONCE);
        this.#index = 0;
      }
    } catch (error) {
      subscription.unsubscribe();
      if (AgentError.is(error, "reader-too-slow")) return false;
      throw error;
    }
    this.#subscription = subscription;
    this.#stopQueue = watchQueue(this.#core.host.storage, threadId, () => {
      this.#queueChanged = true;
      this.#wake();
    });
    if (this.#left) this.#leaveThread();
    return true;
  }

  #leaveThread(): void {
    this.#stopQueue();
    this.#stopQueue = () => {};
    this.#subscription?.unsubscribe();
    this.#subscription = undefined;
    this.#read = [];
    this.#index = 0;
    this.#reading = false;
  }

  #hear(event: AgentControllerEvent, isReplay: boolean): void {
    if (event.type === "thread_created") this.#created = event.thread;
    // What happened while the session was opened is on no stream.
    if (!isReplay && !OF_PROCESS.test(event.type)) return;
    this.#add({ type: "session-event", event: this.#safe(event) });
    this.#wake();
  }

  #safe(event: AgentControllerEvent): AgentControllerEvent {
    if (!("error" in event) || event.error === undefined) return event;
    return { ...event, error: this.#options.toSafe(event.error).toJSON() } as never;
  }

  #hasNews(): boolean {
    return (
      this.#left ||
      this.#ready !== "" ||
      this.#failure !== undefined ||
      this.#queueChanged ||
      this.#core.isClosed ||
      this.#core.row.version > this.#row.version
    );
  }

  /** The current state; nothing if there is none. */
  async #take(): Promise<string> {
    if (this.#left) return "";
    const core = this.#core;
    if (core.isClosed) throw await this.#closed();
    if (core.row.version > this.#row.version) await this.#rowChanged();
    if (this.#ready === "") this.#addChunks();
    if (this.#ready === "" && this.#failure) throw this.#failure.error;
    if (this.#ready === "" && (this.#queueChanged || this.#runEnded)) await this.#addFacts();
    const text = this.#ready;
    this.#ready = "";
    return text;
  }

  async #closed(): Promise<AgentError> {
    const { controllerId, id } = this.#row;
    const domain = await this.#core.host.storage.domain(SESSION_DOMAIN);
    return (await domain.getSession({ controllerId, id }))
      ? new AgentError("storage-closed", `Session "${id}" was closed here. Reconnect with Last-Event-ID.`)
      : new AgentError("not-found", `Session "${id}" was deleted.`);
  }

  async #rowChanged(): Promise<void> {
    const core = this.#core;
    if (core.row.threadId !== this.#row.threadId) {
      await core.thread.followed();
      return this.#begin();
    }
    this.#row = core.row;
    this.#addChanged();
  }

  #addChunks(): void {
    while (this.#index < this.#read.length && this.#ready.length < TEXT_AT_ONCE) {
      const chunk = this.#read[this.#index++]!;
      this.#seq = chunk.seq;
      this.#ready += `id: ${this.#row.version}.${this.#options.frames.frame(chunk).slice("id: ".length)}`;
      if (isLast(chunk)) this.#runEnded = true;
    }
    if (this.#until === undefined || this.#index < this.#read.length) return;
    if ((this.#subscription?.after ?? this.#until) < this.#until) return;
    this.#until = undefined;
    this.#add({ type: "session-live" });
  }

  /** Tokens only between runs: those of an active run arrive with its chunks. */
  async #addFacts(): Promise<void> {
    const { threadId } = this.#row;
    const isOver = this.#runEnded;
    this.#queueChanged = false;
    this.#runEnded = false;
    if (threadId === undefined) return;
    const { queuedFollowUps, ...rest } = await this.#core.thread.facts(threadId);
    this.#add({ type: "session-facts", facts: { queuedFollowUps, ...(isOver && rest) } });
  }

  #addChanged(): void {
    this.#addNumbered({ type: "session-changed", session: this.#options.info(this.#row) });
  }

  #addNumbered(frame: SessionFrame): void {
    this.#ready += `id: ${this.#row.version}.${this.#seq}\n`;
    this.#add(frame);
  }

  #add(frame: SessionFrame): void {
    this.#ready += `data: ${JSON.stringify(frame)}\n\n`;
  }

  #readMore(): void {
    const subscription = this.#subscription;
    if (!subscription || this.#reading) return;
    this.#reading = true;
    const settle = (result: () => void) => {
      if (this.#subscription !== subscription) return;
      this.#reading = false;
      result();
      this.#wake();
    };
    subscription.read(CHUNKS_AT_ONCE).then(
      (chunks) =>
        settle(() => {
          this.#read = chunks;
          this.#index = 0;
          if (chunks.length === 0)
            this.#failure = { error: new AgentError("storage-closed", "The thread was closed.") };
        }),
      (error: unknown) => settle(() => void (this.#failure = { error })),
    );
  }
}

/** The position to resume from, in the header of a reconnecting reader. */
export function sessionPlace(request: Request): SessionPlace | undefined {
  const header = request.headers.get("last-event-id");
  if (header === null || header === "") return undefined;
  const match = /^(\d{1,15})\.(\d{1,15})$/.exec(header);
  if (match) return { version: Number(match[1]), seq: Number(match[2]) };
  throw new AgentError(
    "invalid-argument",
    `Last-Event-ID must be <version>.<number> of an event of this stream, got "${header.slice(0, 50)}".`,
  );
}
