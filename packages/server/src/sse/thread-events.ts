import type { AgentThreadSubscription } from "@selvedge/core/agent";
import type { AgentChunk } from "@selvedge/protocol";
import type { EventSourceText } from "./event-body.ts";
import { endFrame, type FrameCache, QUEUE_FRAME } from "./frames.ts";
import type { Pace } from "./pace.ts";

/** The target size of one write to the body. */
const CHUNKS_AT_ONCE = 256;
const TEXT_AT_ONCE = 32 << 10;

/** Calls back when a thread's queue may have changed, until stopped. */
export type WatchQueue = (onChange: () => void) => () => void;

/** All events on a thread, run after run, and notices that its queue changed. */
export class ThreadEvents implements EventSourceText {
  readonly #subscription: AgentThreadSubscription;
  readonly #frames: FrameCache;
  readonly #pace: Pace;
  readonly #stopWatching: () => void;
  #read: readonly (AgentChunk & { seq: number })[] = [];
  #index = 0;
  #after: number;
  #gaveAt = Number.NEGATIVE_INFINITY;
  #reading = false;
  #isOver = false;
  #failure: { error: unknown } | undefined;
  #queueChanged = false;
  #wake: () => void = () => {};

  constructor(
    subscription: AgentThreadSubscription,
    frames: FrameCache,
    pace: Pace,
    watchQueue: WatchQueue = () => () => {},
  ) {
    this.#subscription = subscription;
    this.#frames = frames;
    this.#pace = pace;
    this.#after = subscription.after;
    this.#stopWatching = watchQueue(() => {
      this.#queueChanged = true;
      this.#wake();
    });
  }

  async next(): Promise<string | Uint8Array | undefined> {
    for (;;) {
      if (this.#index < this.#read.length) return this.#piece();
      if (this.#failure) throw this.#failure.error;
      if (this.#isOver) return undefined;
      if (this.#queueChanged) {
        // Several changes in a row are announced once.
        await this.#pace.wait(this.#gaveAt);
        this.#queueChanged = false;
        this.#gaveAt = this.#pace.now;
        return QUEUE_FRAME;
      }
      const pause = this.#reading ? undefined : this.#pace.wait(this.#gaveAt);
      if (pause) await pause;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        if (!this.#reading) this.#readMore();
      });
    }
  }

  leave(): void {
    this.#stopWatching();
    this.#subscription.unsubscribe();
  }

  farewell(error: unknown): string {
    return endFrame(error, this.#after);
  }

  #piece(): Uint8Array {
    const { bytes, count } = this.#frames.piece(this.#read, this.#index, TEXT_AT_ONCE);
    this.#index += count;
    this.#after = this.#read[this.#index - 1]!.seq;
    this.#gaveAt = this.#pace.now;
    return bytes;
  }

  /** Continues while the queue is announced: only one read is pending at a time. */
  #readMore(): void {
    this.#reading = true;
    const settle = () => {
      this.#reading = false;
      this.#wake();
    };
    this.#subscription.read(CHUNKS_AT_ONCE).then(
      (chunks) => {
        this.#read = chunks;
        this.#index = 0;
        this.#isOver = chunks.length === 0;
        settle();
      },
      (error: unknown) => {
        this.#failure = { error };
        settle();
      },
    );
  }
}
