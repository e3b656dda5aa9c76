import type { AgentThreadSubscription } from "@selvedge/core/agent";
import type { AgentChunk } from "@selvedge/protocol";
import type { EventSourceText } from "./event-body.ts";
import { endFrame, type FrameCache } from "./frames.ts";
import type { Pace } from "./pace.ts";

/** How much is put into one piece of the body. */
const CHUNKS_AT_ONCE = 256;
const TEXT_AT_ONCE = 32 << 10;

/** Everything that happens on a thread, run after run. */
export class ThreadEvents implements EventSourceText {
  readonly #subscription: AgentThreadSubscription;
  readonly #frames: FrameCache;
  readonly #pace: Pace;
  #read: readonly (AgentChunk & { seq: number })[] = [];
  #index = 0;
  #after: number;
  #gaveAt = Number.NEGATIVE_INFINITY;

  constructor(subscription: AgentThreadSubscription, frames: FrameCache, pace: Pace) {
    this.#subscription = subscription;
    this.#frames = frames;
    this.#pace = pace;
    this.#after = subscription.after;
  }

  async next(): Promise<Uint8Array | undefined> {
    if (this.#index === this.#read.length) {
      await this.#pace.wait(this.#gaveAt);
      this.#read = await this.#subscription.read(CHUNKS_AT_ONCE);
      this.#index = 0;
    }
    if (this.#read.length === 0) return undefined;
    const first = this.#index;
    const { bytes, count } = this.#frames.piece(this.#read, first, TEXT_AT_ONCE);
    this.#index += count;
    this.#after = this.#read[this.#index - 1]!.seq;
    this.#gaveAt = this.#pace.now;
    return bytes;
  }

  leave(): void {
    this.#subscription.unsubscribe();
  }

  farewell(error: unknown): string {
    return endFrame(error, this.#after);
  }
}
