import type { AgentThreadSubscription } from "@selvedge/core/agent";
import type { AgentChunk } from "@selvedge/protocol";
import type { EventSourceText } from "./event-body.ts";
import { endFrame, type FrameCache } from "./frames.ts";

/** How much is put into one piece of the body. */
const CHUNKS_AT_ONCE = 256;
const TEXT_AT_ONCE = 32 << 10;

/** Everything that happens on a thread, run after run. */
export class ThreadEvents implements EventSourceText {
  readonly #subscription: AgentThreadSubscription;
  readonly #frames: FrameCache;
  #read: readonly (AgentChunk & { seq: number })[] = [];
  #index = 0;
  #after: number;

  constructor(subscription: AgentThreadSubscription, frames: FrameCache) {
    this.#subscription = subscription;
    this.#frames = frames;
    this.#after = subscription.after;
  }

  async next(): Promise<string | undefined> {
    if (this.#index === this.#read.length) {
      this.#read = await this.#subscription.read(CHUNKS_AT_ONCE);
      this.#index = 0;
    }
    if (this.#read.length === 0) return undefined;
    let text = "";
    while (this.#index < this.#read.length && text.length < TEXT_AT_ONCE) {
      const chunk = this.#read[this.#index++]!;
      text += this.#frames.frame(chunk);
      this.#after = chunk.seq;
    }
    return text;
  }

  leave(): void {
    this.#subscription.unsubscribe();
  }

  farewell(error: unknown): string {
    return endFrame(error, this.#after);
  }
}
