import { Display, type AgentControllerDisplayState, type DisplayFacts } from "./display-state.ts";
import { type BusHost, EventBus } from "./event-bus.ts";
import { EventFold } from "./event-fold.ts";
import type { AgentControllerEvent, AgentControllerEventListener } from "./events.ts";
import { type RunEnd, RunEnds } from "./run-ends.ts";
import type { SessionFrame, SessionSnapshot } from "./session-frame.ts";
import { changesOf, type SessionInfo } from "./session-info.ts";
import { addTokenUsage } from "./token-usage.ts";

type Chunk = Extract<SessionFrame, { seq: number }>;

/**
 * A session as somebody sees it who reads its stream: the same events and the same display as in the process that has the
 * session. A frame that comes twice counts once.
 */
export class SessionView {
  readonly #display = new Display();
  readonly #bus: EventBus;
  readonly #ends = new RunEnds();
  #fold = new EventFold();
  #session: SessionInfo | undefined;
  #seq = 0;
  /** Chunks up to this one were there before anybody looked: they show, and are not told. */
  #until = 0;
  #queueRevision = 0;

  constructor(host: BusHost) {
    this.#bus = new EventBus(this.#display, host);
  }

  /** `undefined` before the first frame. */
  get session(): SessionInfo | undefined {
    return this.#session;
  }

  /** Rises whenever the queue may have changed, also where its length did not. */
  get queueRevision(): number {
    return this.#queueRevision;
  }

  /** Where the stream goes on: the `Last-Event-ID` for the next line. */
  get lastEventId(): string | undefined {
    return this.#session && `${this.#session.version}.${this.#seq}`;
  }

  get display(): AgentControllerDisplayState {
    return this.#display.get();
  }

  subscribe(listener: AgentControllerEventListener): () => void {
    return this.#bus.subscribe(listener);
  }

  /** How a run on the current thread ends, or comes to wait. */
  endOf(runId: string): Promise<RunEnd> {
    return this.#ends.of(runId);
  }

  /** Something that happened on this side. */
  emit(event: AgentControllerEvent): void {
    this.#bus.emit(event);
  }

  close(): void {
    this.#ends.leave();
    this.#bus.close();
  }

  take(frame: SessionFrame): void {
    switch (frame.type) {
      case "session-snapshot":
        return this.#begin(frame);
      case "session-changed":
        return this.change(frame.session);
      case "session-facts":
        return this.#learn(frame.facts);
      case "session-event":
        return this.#bus.emit(revive(frame.event));
      case "session-live":
        return this.#bus.displayChanged();
      default:
        return this.#chunk(frame as Chunk);
    }
  }

  /** A version of the session, from the stream or from an answer. Older ones are of no interest. */
  change(session: SessionInfo): void {
    const before = this.#session;
    if (!before || session.version <= before.version || session.threadId !== before.threadId) return;
    this.#session = session;
    const events = changesOf(before, session);
    for (const event of events) this.#bus.emit(event);
    // Rules, grants and the like have no event of their own.
    if (events.length === 0) this.#bus.displayChanged();
  }

  #begin({ session, facts, after, until, questions = [], created }: SessionSnapshot): void {
    const before = this.#session;
    this.#session = session;
    if (before) for (const event of changesOf(before, session)) this.#bus.emit(event);
    this.#fold = new EventFold();
    this.#seq = after;
    this.#until = until;
    this.#queueRevision++;
    this.#display.reset(toFacts(facts));
    const { threadId } = session;
    if (threadId !== before?.threadId) this.#ends.leave();
    if (before && threadId !== before.threadId && threadId !== undefined) {
      if (created) this.#bus.emit({ type: "thread_created", thread: toThread(created) });
      else this.#bus.emit({ type: "thread_changed", threadId, previousThreadId: before.threadId ?? null });
    }
    for (const chunk of questions) for (const event of this.#fold.take(chunk)) this.#display.take(event);
  }

  #chunk(chunk: Chunk): void {
    if (chunk.seq <= this.#seq) return;
    this.#seq = chunk.seq;
    this.#ends.takeChunk(chunk);
    for (const event of this.#fold.take(chunk)) {
      if (chunk.seq <= this.#until) this.#display.take(event);
      else this.#tell(event);
    }
  }

  #tell(event: AgentControllerEvent): void {
    if (event.type === "usage_update") {
      const { tokenUsage } = this.#display.get();
      this.#display.set({ tokenUsage: addTokenUsage(tokenUsage, event.usage) });
    }
    this.#bus.emit(event);
    this.#ends.takeEvent(event);
  }

  #learn(given: Partial<DisplayFacts>): void {
    const { queuedFollowUps: count, ...facts } = toFacts(given);
    this.#display.set(facts);
    if (count === undefined) return this.#bus.displayChanged();
    this.#queueRevision++;
    const before = this.#display.get().queuedFollowUps;
    if (count > before) return this.#bus.emit({ type: "follow_up_queued", count });
    this.#display.set({ queuedFollowUps: count });
    this.#bus.displayChanged();
  }
}

/** JSON has no maps and no times. */
function toFacts({ modifiedFiles: _, ...facts }: Partial<DisplayFacts>): Partial<DisplayFacts> {
  return facts;
}

function toThread<Thread extends { createdAt: Date; updatedAt: Date }>(thread: Thread): Thread {
  return { ...thread, createdAt: new Date(thread.createdAt), updatedAt: new Date(thread.updatedAt) };
}

/** An error that went over the wire is one again. */
function revive(event: AgentControllerEvent): AgentControllerEvent {
  if (!("error" in event) || event.error === undefined) return event;
  const { message } = event.error as { message?: unknown };
  return { ...event, error: new Error(String(message)) } as AgentControllerEvent;
}
