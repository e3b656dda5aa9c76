import type { AgentControllerDisplayState } from "./display-state.ts";
import type { BusHost } from "./event-bus.ts";
import type { AgentControllerEvent, AgentControllerEventListener } from "./events.ts";
import type { RunEnd } from "./run-ends.ts";
import type { SessionFrame, SessionSnapshot } from "./session-frame.ts";
import { changesOf, type SessionInfo } from "./session-info.ts";
import { ThreadEvents } from "./thread-events.ts";

type Chunk = Extract<SessionFrame, { seq: number }>;

/**
 * A session as somebody sees it who reads its stream: the same events and the same display as in the process that has the
 * session. A frame that comes twice counts once.
 */
export class SessionView {
  readonly #events: ThreadEvents;
  #session: SessionInfo | undefined;
  #seq = 0;
  /** Chunks up to this one were there before anybody looked: they show, and are not told. */
  #until = 0;
  #queueRevision = 0;

  constructor(host: BusHost) {
    this.#events = new ThreadEvents(host);
  }

  /** `undefined` before the first frame. */
  get session(): SessionInfo | undefined {
    return this.#session;
  }

  /** Rises whenever the queue may have changed, also where its length did not. */
  get queueRevision(): number {
    return this.#queueRevision;
  }

  /** Where the stream continues: the `Last-Event-ID` for the next connection. */
  get lastEventId(): string | undefined {
    return this.#session && `${this.#session.version}.${this.#seq}`;
  }

  get display(): AgentControllerDisplayState {
    return this.#events.display;
  }

  subscribe(listener: AgentControllerEventListener): () => void {
    return this.#events.bus.subscribe(listener);
  }

  /** How a run on the current thread ends, or comes to wait. */
  endOf(runId: string): Promise<RunEnd> {
    return this.#events.endOf(runId);
  }

  /** Something that happened on this side. */
  emit(event: AgentControllerEvent): void {
    this.#events.bus.emit(event);
  }

  close(): void {
    this.#events.leave();
    this.#events.bus.close();
  }

  take(frame: SessionFrame): void {
    switch (frame.type) {
      case "session-snapshot":
        return this.#begin(frame);
      case "session-changed":
        return this.change(frame.session);
      case "session-facts":
        if (frame.facts.queuedFollowUps !== undefined) this.#queueRevision++;
        return this.#events.learn(frame.facts);
      case "session-event":
        return this.emit(revive(frame.event));
      case "session-live":
        return this.#events.bus.displayChanged();
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
    for (const event of events) this.emit(event);
    // Rules, grants and the like have no event of their own.
    if (events.length === 0) this.#events.bus.displayChanged();
  }

  #begin({ session, facts, after, until, questions = [], created }: SessionSnapshot): void {
    const before = this.#session;
    this.#session = session;
    if (before) for (const event of changesOf(before, session)) this.emit(event);
    this.#seq = after;
    this.#until = until;
    this.#queueRevision++;
    this.#events.begin(facts);
    const { threadId } = session;
    if (threadId !== before?.threadId) this.#events.leave();
    if (before && threadId !== before.threadId && threadId !== undefined) {
      if (created) this.emit({ type: "thread_created", thread: toThread(created) });
      else this.emit({ type: "thread_changed", threadId, previousThreadId: before.threadId ?? null });
    }
    for (const chunk of questions) this.#events.take(chunk, true);
  }

  #chunk(chunk: Chunk): void {
    if (chunk.seq <= this.#seq) return;
    this.#seq = chunk.seq;
    this.#events.take(chunk, chunk.seq <= this.#until);
  }
}

/** JSON has no times. */
function toThread<Thread extends { createdAt: Date; updatedAt: Date }>(thread: Thread): Thread {
  return { ...thread, createdAt: new Date(thread.createdAt), updatedAt: new Date(thread.updatedAt) };
}

/** An error that went over the wire is one again. */
function revive(event: AgentControllerEvent): AgentControllerEvent {
  if (!("error" in event) || event.error === undefined) return event;
  const { message } = event.error as { message?: unknown };
  return { ...event, error: new Error(String(message)) } as AgentControllerEvent;
}
