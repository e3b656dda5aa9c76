import type { Display } from "./display-state.ts";
import {
  type AgentControllerEvent,
  type AgentControllerEventListener,
  type EventOf,
  FREQUENT,
} from "./events.ts";

/** A clock and a place for what goes wrong. */
export interface BusHost {
  readonly system: {
    setTimer(ms: number, callback: () => void, options?: { background?: boolean }): () => void;
  };
  readonly logger: { warn(message: string, ...details: unknown[]): void };
}

/** What people have to know, also if they come later. */
const MAX_UNHEARD = 20;
const UNHEARD: ReadonlySet<string> = new Set(["error", "info"]);
/** How long the display may be behind while much happens. */
const DISPLAY_MS = 16;

/**
 * Tells listeners what happens in a session, in order, and after each event that the display has changed. A listener that
 * fails, leaves, or makes more happen harms nobody.
 */
export class EventBus {
  readonly #system: BusHost["system"];
  readonly #logger: BusHost["logger"];
  readonly #display: Display;
  readonly #listeners = new Set<{ listener: AgentControllerEventListener }>();
  readonly #queue: AgentControllerEvent[] = [];
  #isTelling = false;
  #cancelTimer: (() => void) | undefined;
  /** What late listeners are told first. */
  #workspace: AgentControllerEvent[] = [];
  /** What happened before anybody could listen, such as while the session was opened: the first who comes is told. */
  #unheard: AgentControllerEvent[] | undefined = [];

  constructor(display: Display, { system, logger }: BusHost) {
    this.#display = display;
    this.#system = system;
    this.#logger = logger;
  }

  subscribe(listener: AgentControllerEventListener): () => void {
    const entry = { listener };
    this.#listeners.add(entry);
    for (const event of [...(this.#unheard ?? []), ...this.#workspace]) this.#tell(entry, event);
    this.#unheard = undefined;
    return () => void this.#listeners.delete(entry);
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  emit(event: AgentControllerEvent): void {
    this.#queue.push(event);
    if (this.#isTelling) return;
    this.#isTelling = true;
    try {
      for (let next = this.#queue.shift(); next; next = this.#queue.shift()) this.#emitNow(next);
    } finally {
      this.#isTelling = false;
    }
  }

  /** The display changed without an event. */
  displayChanged(): void {
    this.emit(this.#changed());
  }

  close(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#listeners.clear();
  }

  #emitNow(event: AgentControllerEvent): void {
    if (event.type.startsWith("workspace_")) this.#workspace = [...this.#workspace, event].slice(-2);
    if (UNHEARD.has(event.type) && this.#unheard)
      this.#unheard = [...this.#unheard, event].slice(-MAX_UNHEARD);
    if (FREQUENT.has(event.type)) {
      this.#display.take(event);
      this.#tellAll(event);
      this.#cancelTimer ??= this.#system.setTimer(DISPLAY_MS, () => this.#flush(), { background: true });
      return;
    }
    this.#flush();
    this.#display.take(event);
    this.#tellAll(event);
    if (event.type !== "display_state_changed") this.#tellAll(this.#changed());
  }

  #flush(): void {
    if (!this.#cancelTimer) return;
    this.#cancelTimer();
    this.#cancelTimer = undefined;
    this.#tellAll(this.#changed());
  }

  #changed(): EventOf<"display_state_changed"> {
    const display = this.#display;
    return {
      type: "display_state_changed",
      get displayState() {
        return display.get();
      },
    };
  }

  #tellAll(event: AgentControllerEvent): void {
    for (const entry of Array.from(this.#listeners)) if (this.#listeners.has(entry)) this.#tell(entry, event);
  }

  #tell({ listener }: { listener: AgentControllerEventListener }, event: AgentControllerEvent): void {
    const failed = (error: unknown) => this.#logger.warn(`A listener failed on "${event.type}"`, error);
    try {
      const answer: unknown = listener(event);
      if (answer instanceof Promise) answer.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}
