import { AgentError, backoff } from "@selvedge/protocol";
import type { SessionFrame, SessionView } from "@selvedge/protocol/session";
import { isRefusal, type ReconnectOptions } from "./chunk-stream.ts";
import type { Connection } from "./connection.ts";
import { pause } from "./pause.ts";

/** Connects after the frames already received. */
type Open = (lastEventId: string | undefined, signal: AbortSignal) => Promise<Connection<SessionFrame>>;

const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 30_000;

export interface SessionStreamOptions {
  open: Open;
  view: SessionView;
  reconnect: ReconnectOptions;
  /** Called after every frame. */
  onFrame(): void;
  onConnection: ((state: "live" | "reconnecting", error?: Error) => void) | undefined;
}

/** Keeps a view of a session up to date over connections that may break. */
export class SessionStream {
  readonly #options: SessionStreamOptions;
  readonly #leaving = new AbortController();
  #connection: Connection<SessionFrame> | undefined;
  #onLive: () => void = () => {};

  constructor(options: SessionStreamOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the initial state has arrived. Rejects if the server refuses. `over` is called when the stream ends
   * later.
   */
  start(over: (error: Error) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#onLive = resolve;
      this.#run().then(resolve, (error: Error) => {
        reject(error);
        over(error);
      });
    });
  }

  leave(): void {
    this.#leaving.abort();
    this.#connection?.close();
  }

  async #run(): Promise<void> {
    const { open, view, reconnect, onConnection } = this.#options;
    const { maxRetries = Number.POSITIVE_INFINITY, delayMs = FIRST_DELAY_MS } = reconnect;
    const { signal } = this.#leaving;
    for (let attempt = 0; !signal.aborted; attempt++) {
      let broken: Error;
      try {
        this.#connection = await open(view.lastEventId, signal);
        if (attempt > 0 && !signal.aborted) onConnection?.("live");
        await this.#read(this.#connection);
        broken = new AgentError("connection-failed", "The server closed the stream of the session.");
      } catch (error) {
        if (signal.aborted) return;
        if (!AgentError.is(error) || (isRefusal(error) && error.code !== "reader-too-slow")) throw error;
        broken = error;
      }
      if (signal.aborted) return;
      if (this.#connection?.heard) attempt = 0;
      if (attempt >= maxRetries) throw broken;
      onConnection?.("reconnecting", broken);
      await pause(backoff(attempt, Math.random(), { firstMs: delayMs, capMs: MAX_DELAY_MS }), signal);
    }
  }

  async #read(connection: Connection<SessionFrame>): Promise<void> {
    const { view, onFrame } = this.#options;
    for await (const frames of connection.read())
      for (const frame of frames) {
        if (this.#leaving.signal.aborted) return;
        view.take(frame);
        onFrame();
        if (frame.type === "session-live") this.#onLive();
      }
  }
}
