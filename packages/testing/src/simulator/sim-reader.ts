import { AgentError } from "@selvedge/core/errors";
import type { AgentThreadSubscription } from "@selvedge/core/agent";
import type { SimThread } from "./ledger.ts";
import type { SimApp } from "./sim-app.ts";
import type { SimProcess } from "./sim-process.ts";

/** A subscriber of a thread, who writes down what it gets and checks the numbers. */
export class SimReader {
  readonly thread: SimThread;
  readonly process: SimProcess;
  readonly received: { seq: number; text: string }[] = [];
  state: "opening" | "open" | "closed" | "failed" = "opening";
  subscription: AgentThreadSubscription | undefined;
  /** The number before the first one it may get, once that is known. */
  #after: number | undefined;
  readonly #isSlow: boolean;

  constructor(app: SimApp, thread: SimThread, after: number | undefined) {
    this.thread = thread;
    this.process = app.process;
    this.#after = after;
    this.#isSlow = app.process.world.random.chance(0.3);
    void this.#read(app);
  }

  get isOpen(): boolean {
    return this.process.alive && (this.state === "open" || this.state === "opening");
  }

  get last(): number | undefined {
    return this.received.at(-1)?.seq ?? this.#after;
  }

  close(): void {
    if (this.state !== "open") return;
    this.state = "closed";
    this.subscription?.unsubscribe();
  }

  async #read(app: SimApp): Promise<void> {
    const { threadId, resourceId } = this.thread;
    const { world } = this.process;
    try {
      const after = this.#after;
      this.subscription = await app.agents.agent.subscribeToThread({
        threadId,
        resourceId,
        ...(after !== undefined && { after }),
      });
      this.state = "open";
      for await (const chunk of this.subscription.stream) {
        // What arrives after the reader left is nobody's.
        if (this.state !== "open") return;
        const expected = this.last === undefined ? undefined : this.last + 1;
        if (typeof chunk.seq !== "number" || (expected !== undefined && chunk.seq !== expected)) {
          world.violate(
            "I10",
            `a reader of ${threadId} in ${this.process.name} got ${chunk.seq} after ${this.last}`,
          );
        }
        this.received.push({ seq: chunk.seq, text: chunkText(chunk) });
        if (this.#isSlow && world.random.chance(0.3))
          await this.process.work("reader reads", world.random.between(0, 200));
      }
      if (this.state === "open")
        world.violate("I10", `the stream of ${threadId} in ${this.process.name} ended by itself`);
    } catch (error) {
      this.state = "failed";
      // Where events are kept for a moment only, a slow reader learns so.
      const isLate = world.plan.retentionMs !== undefined && AgentError.is(error, "reader-too-slow");
      if (isLate) world.reached.add("a reader was too slow for the retention");
      if (!isLate && !AgentError.is(error, "storage-failed"))
        world.violate("I10", `a reader of ${threadId} failed: ${String(error)}`);
    }
  }
}

/** What a chunk says, to compare it with what is stored. */
export function chunkText(chunk: object): string {
  const { type, runId, payload, data, object } = chunk as Record<string, unknown>;
  return JSON.stringify({ type, runId, payload, data, object });
}
