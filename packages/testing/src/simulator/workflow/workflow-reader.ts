import { AgentError } from "@selvedge/core/errors";
import type { SimProcess } from "../sim-process.ts";
import { canonical } from "./flow.ts";
import type { SimRun } from "./workflow-ledger.ts";
import type { WorkflowApp } from "./workflow-app.ts";

/** Reads the stream of a run, writes down what it gets and checks the numbers. */
export class WorkflowReader {
  readonly run: SimRun;
  readonly process: SimProcess;
  readonly received: { seq: number; text: string; type: string }[] = [];
  state: "open" | "closed" | "failed" = "open";
  readonly #after: number;

  constructor(app: WorkflowApp, run: SimRun, after: number) {
    this.run = run;
    this.process = app.process;
    this.#after = after;
    void this.#read(app);
  }

  get last(): number {
    return this.received.at(-1)?.seq ?? this.#after;
  }

  async #read(app: WorkflowApp): Promise<void> {
    const { world } = this.process;
    const { id, flow } = this.run;
    try {
      const run = await app.workflows.get(flow.id)!.createRun({ runId: id });
      const stream = run.observeStream(this.#after === 0 ? {} : { offset: this.#after });
      for await (const chunk of stream) {
        // A time travel drops the events before it.
        if (chunk.seq !== this.last + 1 && !(chunk.seq > this.last && chunk.seq === this.run.firstSeq))
          world.violate(
            "I10",
            `a reader of ${id} in ${this.process.name} got ${chunk.seq} after ${this.last}`,
          );
        const { seq, ...rest } = chunk;
        this.received.push({ seq, text: canonical(rest), type: chunk.type });
        if (world.random.chance(0.1)) await this.process.work("reader reads", world.random.between(0, 200));
      }
      this.state = "closed";
    } catch (error) {
      this.state = "failed";
      // Its next events were deleted: they are old, or a time travel dropped them.
      const areGone = world.plan.retentionMs !== undefined || this.last < this.run.firstSeq - 1;
      const isLate = areGone && AgentError.is(error, "reader-too-slow");
      const isKnown = AgentError.is(error, "storage-failed") || AgentError.is(error, "not-found");
      if (!isLate && !isKnown) world.violate("I10", `a reader of ${id} failed: ${String(error)}`);
    }
  }
}
