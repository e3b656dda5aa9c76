import type { AgentChunk, PayloadChunk } from "@selvedge/protocol";
import { AgentError, errorMessage } from "../errors.ts";
import type { ModelPart } from "../model/model.ts";
import { PartialObjectReader } from "../model/structured-output.ts";
import type { ReadyResponse } from "../processor/processor.ts";
import { InputWatcher } from "../tool/input-watcher.ts";
import type { ToolSet } from "../tool/tool-set.ts";
import { agentChunk, toChunk } from "./model-part-chunk.ts";
import type { Run } from "./run.ts";
import type { Emitted } from "./run-stream.ts";
import type { StepBuilder } from "./step-builder.ts";

/** Receives a reply: each part becomes a chunk on the stream, as the processors leave it, and is added to the step. */
export class ReplyTaker {
  /** The raw reply, if a processor wants to see it. */
  readonly chunks: AgentChunk[] = [];
  readonly #run: Run;
  readonly step: StepBuilder;
  /** The chunk that opens the step. */
  readonly start: PayloadChunk<"step-start">;
  readonly #watcher: InputWatcher | undefined;
  readonly #objects: PartialObjectReader | undefined;
  /** Texts in progress, with the chunks that end them. */
  readonly #open: Map<string, PayloadChunk<"text-end" | "reasoning-end">> | undefined;

  readonly #keeps: boolean;

  constructor(run: Run, step: StepBuilder, start: PayloadChunk<"step-start">, tools: ToolSet) {
    this.#run = run;
    this.#keeps = run.pipeline.seesReplies;
    this.#open = run.pipeline.seesStream ? new Map() : undefined;
    this.step = step;
    this.start = start;
    this.#watcher = InputWatcher.of(tools);
    this.#objects = run.format && !run.format.options.model ? new PartialObjectReader() : undefined;
  }

  readonly take = (given: ModelPart): void | Promise<void> => {
    const { runId, limits } = this.#run.spec;
    const part = given.type === "tool-call" ? this.step.limitCall(given, limits) : given;
    if (part.type === "error") {
      throw new AgentError("model-failed", `The model's reply was interrupted: ${errorMessage(part.error)}`, {
        cause: part.error,
      });
    }
    const chunk = toChunk(part, runId);
    return chunk ? this.#takeChunk(chunk) : this.step.takeMeta(part);
  };

  /** A reply without cost, marked as such. */
  async takeReady({ chunks, finishReason, providerMetadata }: ReadyResponse): Promise<void> {
    const { controller, spec } = this.#run;
    for (const chunk of chunks) {
      controller.signal.throwIfAborted();
      await this.#takeChunk({ ...chunk, runId: spec.runId });
    }
    this.step.usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
    this.step.finish(finishReason, { ...providerMetadata, selvedge: { fromCache: true } });
  }

  /** Ends the texts that the model did not end, so that no processor holds anything back. */
  async endTexts(): Promise<void> {
    if (!this.#open) return;
    const open = [...this.#open.values()];
    this.#open.clear();
    await this.#run.stream.settle();
    for (const end of open) await this.#run.stream.endText(end);
  }

  #takeChunk(chunk: AgentChunk): void | Promise<void> {
    if (this.#keeps) this.chunks.push(chunk);
    if (this.#open) track(this.#open, chunk);
    this.#watcher?.see(chunk);
    const emitted = this.#run.stream.emit(chunk, true);
    if (this.#objects) return this.#showObject(this.#objects, emitted);
    return emitted instanceof Promise ? emitted.then(() => {}) : undefined;
  }

  /** Emits the structured answer as it grows. */
  async #showObject(objects: PartialObjectReader, emitted: AgentChunk | Promise<Emitted>): Promise<void> {
    const run = this.#run;
    for (const chunk of [(await emitted) ?? []].flat()) {
      const partial = chunk.type === "text-delta" ? await objects.add(chunk.payload.text) : undefined;
      if (!partial) continue;
      const object = run.format!.unwrap(partial.value);
      await run.stream.emit({ type: "object", runId: run.spec.runId, from: "AGENT", object });
    }
  }
}

function track(open: Map<string, PayloadChunk<"text-end" | "reasoning-end">>, chunk: AgentChunk): void {
  if (chunk.type !== "text-delta" && chunk.type !== "reasoning-delta") {
    if (chunk.type === "text-end" || chunk.type === "reasoning-end")
      open.delete(chunk.type + chunk.payload.id);
    return;
  }
  const end = chunk.type === "text-delta" ? "text-end" : "reasoning-end";
  const { id } = chunk.payload;
  if (!open.has(end + id)) open.set(end + id, agentChunk(end, chunk.runId, { id }));
}
