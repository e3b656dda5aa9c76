import type { AgentThreadSubscription } from "@selvedge/core/agent";
import type { EventSourceText } from "./event-body.ts";
import { endFrame, type FrameCache } from "./frames.ts";

/** Chunks put into one piece of the body at most. */
const AT_ONCE = 256;

/** Everything that happens on a thread, run after run. */
export class ThreadEvents implements EventSourceText {
  readonly #subscription: AgentThreadSubscription;
  readonly #frames: FrameCache;

  constructor(subscription: AgentThreadSubscription, frames: FrameCache) {
    this.#subscription = subscription;
    this.#frames = frames;
  }

  async next(): Promise<string | undefined> {
    const chunks = await this.#subscription.read(AT_ONCE);
    return chunks.length === 0 ? undefined : this.#frames.frames(chunks);
  }

  leave(): void {
    this.#subscription.unsubscribe();
  }

  farewell(error: unknown): string {
    return endFrame(error, this.#subscription.after);
  }
}
