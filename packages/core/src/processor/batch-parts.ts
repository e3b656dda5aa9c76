import type { AgentChunk } from "@selvedge/protocol";
import { OptionChecks } from "./option-checks.ts";
import type { Processor, ProcessOutputStreamArgs } from "./processor.ts";
import { isDelta, withText } from "./text-gate.ts";

export interface BatchPartsOptions {
  /** How many text chunks are joined. Default: 5. */
  batchSize?: number;
  /** The longest time text waits, in milliseconds. */
  maxWaitTime?: number;
  /** Send waiting text before a chunk of another kind. Default: true; if false, other chunks overtake it. */
  emitOnNonText?: boolean;
}

type Delta = Extract<AgentChunk, { type: "text-delta" | "reasoning-delta" }>;

interface Batch {
  /** Chunks of one text, in order. */
  deltas: Delta[];
  cancelTimer: (() => void) | undefined;
}

/** Joins text chunks into larger ones. Nothing is lost, and text never overtakes another chunk. */
export class BatchPartsProcessor implements Processor {
  readonly id = "batch-parts";
  readonly #batchSize: number;
  readonly #maxWaitTime: number | undefined;
  readonly #emitOnNonText: boolean;

  constructor(options: BatchPartsOptions = {}) {
    const check = new OptionChecks("BatchPartsProcessor");
    const { batchSize = 5, maxWaitTime, emitOnNonText = true } = options;
    this.#batchSize = check.integer("batchSize", batchSize, 1);
    this.#maxWaitTime = maxWaitTime === undefined ? undefined : check.number("maxWaitTime", maxWaitTime, 0);
    this.#emitOnNonText = check.boolean("emitOnNonText", emitOnNonText);
  }

  processOutputStream({
    part,
    state,
    system,
    release,
  }: ProcessOutputStreamArgs): AgentChunk | AgentChunk[] | null {
    const batch = ((state["batch"] as Batch | undefined) ??= { deltas: [], cancelTimer: undefined });
    // An abandoned step leaves text behind.
    if (part.type === "step-start") take(batch);
    if (!isDelta(part)) {
      const ends = part.type === "text-end" || part.type === "reasoning-end" || part.type === "step-finish";
      return batch.deltas.length > 0 && (this.#emitOnNonText || ends) ? [...take(batch), part] : part;
    }
    const last = batch.deltas.at(-1);
    const isOther = last && (last.type !== part.type || last.payload.id !== part.payload.id);
    const earlier = isOther ? take(batch) : [];
    batch.deltas.push(part);
    if (batch.deltas.length >= this.#batchSize) return [...earlier, ...take(batch)];
    if (this.#maxWaitTime !== undefined)
      batch.cancelTimer ??= system.setTimer(this.#maxWaitTime, () => release(() => take(batch)), {
        background: true,
      });
    return earlier.length > 0 ? earlier : null;
  }
}

/** The waiting text, as one chunk. */
function take(batch: Batch): Delta[] {
  batch.cancelTimer?.();
  batch.cancelTimer = undefined;
  const deltas = batch.deltas.splice(0);
  if (deltas.length < 2) return deltas;
  // Provider metadata of a text is in some of its chunks; the newest counts.
  const model = deltas.findLast(({ payload }) => payload.providerMetadata) ?? deltas.at(-1)!;
  return [withText(model, deltas.map(({ payload }) => payload.text).join(""))];
}
