import type { System } from "@selvedge/core";

/** The source of a stream's text. */
export interface EventSourceText {
  /** Waits for the next frames; `undefined` at the end. */
  next(): Promise<string | Uint8Array | undefined>;
  /** Called when the reader has left. Safe to call again. */
  leave(): void;
  /** The last frame for a reader that is disconnected, with the position to resume from. */
  farewell(error: unknown): string;
}

export interface StreamLimits {
  heartbeatMs: number;
  stallMs: number;
  streamBytes: number;
}

const ENCODER = new TextEncoder();
const HEARTBEAT = ": heartbeat\n\n";
/** How long a disconnected reader may take to fetch the rest before its connection is cut. */
const GRACE_MS = 30_000;

/**
 * The body of a live response. It pulls from its source only what the reader has room for, so a slow reader costs a
 * fixed amount and delays no other. A reader that stops reading for too long is disconnected.
 *
 *     open ── source ends ──▶ closed
 *       │── stalled, or the server closes: farewell ──▶ closed (cut, if that is not fetched either)
 *       └── reader leaves ──▶ gone
 */
export class EventBody {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #source: EventSourceText;
  readonly #system: System;
  readonly #limits: StreamLimits;
  readonly #onOver: () => void;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #over = false;
  #wroteAt = 0;
  #cancelHeartbeat: (() => void) | undefined;
  #cancelStall: (() => void) | undefined;
  #stopWatching: (() => void) | undefined;

  constructor(
    source: EventSourceText,
    opening: string,
    options: { system: System; limits: StreamLimits; onOver(body: EventBody): void },
  ) {
    this.#source = source;
    this.#system = options.system;
    this.#limits = options.limits;
    this.#onOver = () => options.onOver(this);
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
          this.#write(opening);
        },
        pull: () => this.#pull(),
        cancel: () => this.#leave(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: this.#limits.streamBytes }),
    );
  }

  /** Ends the stream when the signal aborts: a reader that leaves before the first read never cancels the stream. */
  leaveWith(signal: AbortSignal): void {
    const onAbort = () => {
      if (this.#over) return;
      this.#leave();
      this.#controller.close();
    };
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    this.#stopWatching = () => signal.removeEventListener("abort", onAbort);
  }

  /** Ends the stream from this side, with a final frame. */
  end(error: unknown): void {
    if (this.#over) return;
    const text = this.#source.farewell(error);
    this.#leave();
    this.#controller.enqueue(ENCODER.encode(text));
    this.#controller.close();
    this.#system.setTimer(
      GRACE_MS,
      () => {
        try {
          this.#controller.error(new Error("The client stopped reading its stream."));
        } catch {
          // The pull succeeded and the stream is closed.
        }
      },
      { background: true },
    );
  }

  async #pull(): Promise<void> {
    this.#cancelStall?.();
    this.#cancelStall = undefined;
    if (this.#over) return;
    let piece: string | Uint8Array | undefined;
    try {
      piece = await this.#source.next();
    } catch (error) {
      return this.end(error);
    }
    if (this.#over) return;
    if (piece !== undefined) return this.#write(piece);
    this.#leave();
    this.#controller.close();
  }

  #write(piece: string | Uint8Array): void {
    this.#controller.enqueue(typeof piece === "string" ? ENCODER.encode(piece) : piece);
    this.#wroteAt = this.#system.monotonic();
    if (!this.#cancelHeartbeat) this.#beatLater(this.#limits.heartbeatMs);
    if ((this.#controller.desiredSize ?? 1) > 0) return;
    this.#cancelStall ??= this.#system.setTimer(this.#limits.stallMs, () => this.end(undefined), {
      background: true,
    });
  }

  /** One timer for many frames: checks how long the connection has been quiet. */
  #beatLater(ms: number): void {
    this.#cancelHeartbeat = this.#system.setTimer(
      ms,
      () => {
        this.#cancelHeartbeat = undefined;
        if (this.#over) return;
        const { heartbeatMs } = this.#limits;
        const quiet = this.#system.monotonic() - this.#wroteAt;
        if (quiet < heartbeatMs) this.#beatLater(heartbeatMs - quiet);
        else if ((this.#controller.desiredSize ?? 0) > 0) this.#write(HEARTBEAT);
        else this.#beatLater(heartbeatMs);
      },
      { background: true },
    );
  }

  #leave(): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelHeartbeat?.();
    this.#cancelStall?.();
    this.#stopWatching?.();
    this.#source.leave();
    this.#onOver();
  }
}
