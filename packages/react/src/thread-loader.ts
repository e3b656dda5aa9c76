import { AgentError, errorFromWire } from "@selvedge/client-js";
import type { ThreadState, WireMessage } from "@selvedge/protocol/routes";
import type { ThreadDoor } from "./thread-door.ts";
import type { ThreadModel } from "./thread-model.ts";

const PER_PAGE = 40;
/** Messages that may briefly be shown before they are stored. */
const MARGIN = 4;

export interface Page {
  messages: WireMessage[];
  hasMore: boolean;
}

/** Reads what is stored of a thread. Requests made during a read are merged into one more read. */
export class ThreadLoader {
  readonly #door: ThreadDoor;
  readonly #model: ThreadModel;
  readonly #publish: () => void;
  #refreshing: Promise<void> | undefined;
  #refreshAgain = false;
  #lookingAtQueue = false;
  #lookAgain = false;

  constructor(door: ThreadDoor, model: ThreadModel, publish: () => void) {
    this.#door = door;
    this.#model = model;
    this.#publish = publish;
  }

  /** `undefined` for a new thread: it does not exist yet and is shown empty. */
  async state(): Promise<ThreadState | undefined> {
    if (!this.#model.exists) return undefined;
    return this.#door.thread.state().catch(orNothing);
  }

  /** The newest messages. */
  async newest(): Promise<Page | undefined> {
    if (!this.#model.exists) return undefined;
    return this.#door.thread.listMessages({ perPage: this.#perPage }).catch(orNothing);
  }

  /** Why the last run failed, if it did. Failing to load this does not hide the thread. */
  async lastFailure(): Promise<Error | undefined> {
    const found = await this.#door.thread.listRuns({ perPage: 1 }).catch(() => undefined);
    const run = found?.runs[0];
    if (run?.state !== "failed") return undefined;
    return errorFromWire(run.error ?? { code: "internal", message: "No reason was stored." });
  }

  /** The messages before the first one shown. */
  async earlier(): Promise<void> {
    const model = this.#model;
    const { life } = model;
    const perPage = this.#perPage;
    // Pages count from the newest message, which moves: an overlap is dropped, a gap would remain.
    let page = Math.max(0, Math.floor((model.transcript.doneCount - MARGIN) / perPage));
    for (let found = false; model.hasMore && !found; page++) {
      const { messages, hasMore } = await this.#door.thread.listMessages({ page, perPage });
      if (life !== model.life) return;
      found = model.transcript.prepend(messages);
      model.hasMore = hasMore;
    }
    this.#publish();
  }

  /** Reloads messages, queue and lanes. */
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

  /** A failed refresh leaves the view unchanged: the stream is still followed. */
  refreshInBackground(): void {
    this.refresh().catch(() => {});
  }

  /** Reloads queue and lanes in the background. */
  refreshQueue(): void {
    if (this.#lookingAtQueue) {
      this.#lookAgain = true;
      return;
    }
    const { life } = this.#model;
    this.#lookingAtQueue = true;
    this.state()
      .then((state) => {
        if (life !== this.#model.life) return;
        this.#model.takeQueue(state);
        this.#publish();
      })
      .catch(() => {})
      .finally(() => {
        this.#lookingAtQueue = false;
        if (!this.#lookAgain) return;
        this.#lookAgain = false;
        this.refreshQueue();
      });
  }

  async #refreshNow(): Promise<void> {
    const model = this.#model;
    const { life } = model;
    const { clock } = model.transcript;
    const [state, page] = await Promise.all([this.state(), this.newest()]);
    if (life !== model.life) return;
    if (page) {
      const isCut = model.transcript.merge(page.messages, clock);
      if (isCut) model.hasMore = page.hasMore;
    }
    model.takeQueue(state);
    this.#publish();
  }

  get #perPage(): number {
    return this.#door.options.perPage ?? PER_PAGE;
  }
}

function orNothing(error: unknown): undefined {
  if (AgentError.is(error, "not-found")) return undefined;
  throw error;
}
