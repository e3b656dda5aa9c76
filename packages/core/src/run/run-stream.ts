import { type AgentChunk, type DataChunk, isDataChunk, type PayloadChunk } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import { roughSize } from "../json.ts";
import { EventStream } from "./event-stream.ts";
import { limitResult } from "../tool/limit-result.ts";
import { chunkSize } from "./chunk-size.ts";
import { outsideRuns } from "./current-run.ts";
import type { Run, RunSpec } from "./run.ts";

/** A chunk as the processors left it: `null` if they dropped it, a list if they replaced it with several. */
export type Emitted = AgentChunk | AgentChunk[] | null;

/**
 * The path of a run's chunks, in order:
 *
 * counted → processors → the step, for app-defined chunks → transform → the thread's stream and the caller → onChunk
 */
export class RunStream {
  /** What the caller has been shown. */
  readonly events: EventStream<AgentChunk> = new EventStream();
  readonly #run: Run;
  readonly #spec: RunSpec;
  #tail: Promise<unknown> = Promise.resolve();
  /** What the stream contains of this run. */
  #bytes = 0;
  readonly #maxBytes: number;
  #full: AgentError | undefined;
  /** Chunks that processors hold at this moment. */
  #held = 0;
  readonly #asked: Promise<void>[] = [];
  /** An error a processor threw at a chunk released by another one. The next chunk reports it. */
  #objection: { thrown: unknown } | undefined;
  readonly #slow: boolean;

  constructor(run: Run) {
    const { spec, pipeline } = run;
    this.#run = run;
    this.#spec = spec;
    this.#maxBytes = spec.limits.runBytes || Infinity;
    if (pipeline.seesStream)
      pipeline.onRelease = (take, pass) => {
        const { step } = run;
        const released = this.#tail.then(async () => {
          if (!step || run.step !== step || step.finished) return;
          for (const chunk of take())
            await this.#showAll(await this.#hold(() => pass(chunk, this.events.events)), true);
        });
        this.#tail = released.catch((thrown: unknown) => void (this.#objection ??= { thrown }));
      };
    this.#slow = pipeline.seesStream || spec.transform !== undefined || spec.options.onChunk !== undefined;
  }

  /**
   * Puts a chunk on the stream and returns it as the processors left it. Synchronous without processors, transforms and
   * callbacks. Parts of the reply are also added to the step.
   */
  emit(chunk: AgentChunk, ofReply = false): AgentChunk | Promise<Emitted> {
    this.weigh(chunk);
    if (!this.#slow) {
      const placed = this.#placed(chunk, ofReply);
      this.events.push(placed);
      this.#spec.journal?.publish(placed);
      return placed;
    }
    const emitted = this.#tail.then(() => this.#emitThrough(chunk, ofReply));
    this.#tail = emitted.catch(() => {});
    return emitted;
  }

  /** Puts an app-defined chunk on the stream and, unless it is transient, into the current step. */
  custom(chunk: Pick<DataChunk, "type" | "data" | "transient" | "id">): Promise<void> {
    const full: DataChunk = {
      ...chunk,
      data: this.limitWritten(chunk.data, chunk.type),
      runId: this.#spec.runId,
      from: "AGENT",
    };
    const put = async (): Promise<void> => {
      // A processor writes while it holds another chunk: waiting for that one would be a deadlock.
      if (this.#held > 0) {
        this.weigh(full);
        await this.#emitThrough(full, false);
      } else await this.emit(full);
    };
    const done = put();
    done.catch(() => {});
    return done;
  }

  /**
   * The step receives the reply and app-defined chunks in the order in which readers get them. Without a current step,
   * an app-defined chunk is shown but not stored, and marked as such.
   */
  #placed(chunk: AgentChunk, ofReply: boolean): AgentChunk {
    const { step } = this.#run;
    // The most common chunk: saving a check here pays off.
    const isText = chunk.type === "text-delta";
    if (isText || !isDataChunk(chunk)) {
      if (ofReply) step?.take(chunk);
      return chunk;
    }
    if (chunk.transient) return chunk;
    if (!step || step.stored) return { ...chunk, transient: true };
    const placed = { ...chunk, data: this.limitWritten(chunk.data, chunk.type) };
    step.take(placed);
    return placed;
  }

  /** A value that an app writes to the stream, truncated if it is too large. */
  limitWritten(value: unknown, name: string): unknown {
    const { toolResultBytes } = this.#spec.limits;
    return roughSize(value, toolResultBytes) > toolResultBytes
      ? limitResult(value, toolResultBytes, name)
      : value;
  }

  /** Counts a chunk before it is put on the stream. */
  weigh(chunk: AgentChunk): void {
    this.count(chunkSize(chunk, this.#maxBytes));
  }

  /** Counts what will be on the stream or is kept for it. Throws when there is no room left. */
  count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= this.#maxBytes) return;
    const { runBytes } = this.#spec.limits;
    // One error for all: a caller that ignores it may ask many times.
    throw (this.#full ??= new AgentError(
      "limit-exceeded",
      `Run ${this.#spec.runId} wrote more than ${runBytes} bytes to its stream. Raise \`limits.runBytes\` if that is normal for it; 0 disables the limit.`,
      { details: { limit: "runBytes", bytes: runBytes } },
    ));
  }

  /** Puts a chunk on the stream that bypasses the processors. */
  async announce(chunk: AgentChunk): Promise<void> {
    await this.#tail;
    await this.#show(chunk, false);
  }

  /**
   * A chunk as it will be shown, for a commit that puts it on the thread's stream. Show it with `reveal` afterwards.
   */
  async prepare(chunk: AgentChunk): Promise<AgentChunk[]> {
    if (!this.#slow) return [this.#placed(chunk, false)];
    await this.#tail;
    const passed = this.#run.pipeline.seesStream ? await this.#process(chunk) : chunk;
    return Promise.all([passed ?? []].flat().map((one) => this.#displayed(this.#placed(one, false))));
  }

  /** Shows the caller chunks that are already on the thread's stream. */
  async reveal(chunks: readonly AgentChunk[]): Promise<void> {
    for (const chunk of chunks) {
      if (!this.#slow) {
        this.events.push(chunk);
        continue;
      }
      await this.#tail;
      await this.#shown(chunk);
    }
  }

  /** Resolves when everything before is on the stream. */
  async settle(): Promise<void> {
    await this.#tail;
    this.#throwObjection();
  }

  #throwObjection(): void {
    const objection = this.#objection;
    this.#objection = undefined;
    if (objection) throw objection.thrown;
  }

  /**
   * Passes processors the end of a text that the model did not end, so that they release what they hold. Readers do not
   * see the end itself.
   */
  async endText(end: PayloadChunk<"text-end" | "reasoning-end">): Promise<void> {
    await this.settle();
    const passed = [(await this.#process(end)) ?? []].flat();
    await this.#showAll(
      passed.filter((chunk) => chunk.type !== end.type),
      true,
    );
  }

  async #emitThrough(chunk: AgentChunk, ofReply: boolean): Promise<Emitted> {
    this.#throwObjection();
    const passed = this.#run.pipeline.seesStream ? await this.#process(chunk) : chunk;
    await this.#showAll(passed, ofReply);
    return passed;
  }

  async #showAll(passed: Emitted, ofReply: boolean): Promise<void> {
    if (!Array.isArray(passed)) {
      if (passed) await this.#show(passed, ofReply);
      return;
    }
    for (const [index, one] of passed.entries()) {
      // The first replaces the chunk, which was counted.
      if (index > 0) this.weigh(one);
      await this.#show(one, ofReply);
    }
  }

  #process(chunk: AgentChunk): Promise<Emitted> {
    return this.#hold(() => this.#run.pipeline.outputStream(chunk, this.events.events));
  }

  async #hold(process: () => Promise<Emitted>): Promise<Emitted> {
    this.#held++;
    try {
      return await process();
    } finally {
      this.#held--;
    }
  }

  async #show(chunk: AgentChunk, ofReply: boolean): Promise<void> {
    const shown = await this.#displayed(this.#placed(chunk, ofReply));
    this.#spec.journal?.publish(shown);
    await this.#shown(shown);
  }

  async #displayed(chunk: AgentChunk): Promise<AgentChunk> {
    return this.#spec.transform ? this.#spec.transform.display(chunk) : chunk;
  }

  async #shown(chunk: AgentChunk): Promise<void> {
    this.events.push(chunk);
    if (!this.#spec.options.onChunk) return;
    // A listener may answer and wait for the consequences, so the run must not wait for it before it releases the
    // thread.
    if (isQuestion(chunk)) this.#asked.push(outsideRuns(() => this.#run.call("onChunk", chunk)));
    else await this.#run.call("onChunk", chunk);
  }

  /** Resolves when the listeners are done. */
  async heard(): Promise<void> {
    await Promise.all(this.#asked);
  }

  /** Chunks as readers get them, once everything before them is on the stream. */
  async display(chunks: readonly AgentChunk[]): Promise<AgentChunk[]> {
    await this.#tail;
    return Promise.all(chunks.map((chunk) => this.#displayed(chunk)));
  }

  /** No more chunks will follow. */
  end(): void {
    this.events.end();
  }
}

function isQuestion({ type }: AgentChunk): boolean {
  return type === "tool-call-approval" || type === "tool-call-suspended";
}
