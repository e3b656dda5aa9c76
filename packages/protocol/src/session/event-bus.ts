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

interface Entry {
  readonly listener: AgentControllerEventListener;
  isGone: boolean;
}

/** What people have to know, also if they come later. */
const MAX_UNHEARD = 20;
const UNHEARD: ReadonlySet<string> = new Set(["error", "info"]);
/** How long the display may be behind while much happens. */
const DISPLAY_MS = 16;

/**
 * Tells listeners what happens in a session, in order, and after each event that the display has changed. A listener that
 * throws, leaves, or causes more events affects no other.
 */
export class EventBus {
  readonly #system: BusHost["system"];
  readonly #logger: BusHost["logger"];
  readonly #display: Display;
  /** Replaced when a listener is added or removed, so that it can be iterated meanwhile. */
  #listeners: readonly Entry[] = [];
  readonly #queue: AgentControllerEvent[] = [];
  #isTelling = false;
  #cancelTimer: (() => void) | undefined;
  /** The events that late listeners receive first. */
  #workspace: AgentControllerEvent[] = [];
  /** Events from before the first listener, such as while the session was opened. The first listener receives them. */
  #unheard: AgentControllerEvent[] | undefined = [];

  constructor(display: Display, { system, logger }: BusHost) {
    this.#display = display;
    this.#system = system;
    this.#logger = logger;
  }

  subscribe(listener: AgentControllerEventListener): () => void {
    const entry: Entry = { listener, isGone: false };
    this.#listeners = [...this.#listeners, entry];
    for (const event of [...(this.#unheard ?? []), ...this.#workspace]) this.#tell(entry, event);
    this.#unheard = undefined;
    return () => {
      entry.isGone = true;
      this.#listeners = this.#listeners.filter((other) => other !== entry);
    };
  }

  get hasListeners(): boolean {
    return this.#listeners.length > 0;
  }

  emit(event: AgentControllerEvent): void {
    if (this.#isTelling) return void this.#queue.push(event);
    this.#isTelling = true;
    try {
      this.#emitNow(event);
      while (this.#queue.length > 0) this.#emitNow(this.#queue.shift()!);
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
    for (const entry of this.#listeners) entry.isGone = true;
    this.#listeners = [];
  }

  #emitNow(event: AgentControllerEvent): void {
    if (FREQUENT.has(event.type)) {
      this.#display.take(event);
      this.#tellAll(event);
      this.#cancelTimer ??= this.#system.setTimer(DISPLAY_MS, () => this.#flush(), { background: true });
      return;
    }
    if (event.type.startsWith("workspace_")) this.#workspace = [...this.#workspace, event].slice(-2);
    if (UNHEARD.has(event.type) && this.#unheard)
      this.#unheard = [...this.#unheard, event].slice(-MAX_UNHEARD);
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
    for (const entry of this.#listeners) if (!entry.isGone) this.#tell(entry, event);
  }

  #tell({ listener }: Entry, event: AgentControllerEvent): void {
    try {
      const answer: unknown = listener(event);
      if (answer instanceof Promise) answer.catch((error: unknown) => this.#failed(event, error));
    } catch (error) {
      this.#failed(event, error);
    }
  }

  #failed({ type }: AgentControllerEvent, error: unknown): void {
    this.#logger.warn(`A listener failed on "${type}"`, error);
  }
}
