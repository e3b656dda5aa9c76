import type { AgentChunk } from "../chunk.ts";
import { type AgentControllerDisplayState, Display, type DisplayFacts } from "./display-state.ts";
import { type BusHost, EventBus } from "./event-bus.ts";
import { EventFold } from "./event-fold.ts";
import type { AgentControllerEvent } from "./events.ts";
import { type RunEnd, RunEnds } from "./run-ends.ts";
import { addTokenUsage } from "./token-usage.ts";

/** What happens on the thread of a session, told and shown: from its chunks, and from what stands beside them. */
export class ThreadEvents {
  readonly bus: EventBus;
  readonly #display = new Display();
  readonly #ends = new RunEnds();
  #fold = new EventFold();

  constructor(host: BusHost) {
    this.bus = new EventBus(this.#display, host);
  }

  get display(): AgentControllerDisplayState {
    return this.#display.get();
  }

  /** A thread is read from here on. Nothing is left of what was shown before. */
  begin(facts: Partial<DisplayFacts> = {}): void {
    this.#fold = new EventFold();
    this.#display.reset(facts);
  }

  /** Releases the callers that wait for a run. The run continues. */
  leave(): void {
    this.#ends.leave();
  }

  /** Rises whenever a thread is left. */
  get epoch(): number {
    return this.#ends.epoch;
  }

  /** How a run ends, or comes to wait, that began on the thread of that time. */
  endOf(runId: string, epoch?: number): Promise<RunEnd> {
    return this.#ends.of(runId, epoch);
  }

  /** The next chunk. What is past shows and is not told. Answers what was told. */
  take(chunk: AgentChunk, isPast: boolean): readonly AgentControllerEvent[] {
    this.#ends.takeChunk(chunk);
    const events = this.#fold.take(chunk);
    for (const event of events) {
      if (isPast) this.#display.take(event);
      else this.#tell(event);
    }
    return isPast ? [] : events;
  }

  /** What the store says beside the stream. */
  learn({ queuedFollowUps: count, ...facts }: Partial<DisplayFacts>): void {
    this.#display.set(facts);
    const before = this.display.queuedFollowUps;
    if (count !== undefined && count > before) return this.bus.emit({ type: "follow_up_queued", count });
    if (count !== undefined) this.#display.set({ queuedFollowUps: count });
    this.bus.displayChanged();
  }

  #tell(event: AgentControllerEvent): void {
    if (event.type === "usage_update")
      this.#display.set({ tokenUsage: addTokenUsage(this.display.tokenUsage, event.usage) });
    this.bus.emit(event);
    this.#ends.takeEvent(event);
  }
}
