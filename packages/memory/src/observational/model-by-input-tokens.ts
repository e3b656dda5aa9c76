import { AgentError } from "@selvedge/core/errors";
import type { ModelConfig } from "@selvedge/core/model";

/** Chooses a model by the size of its input. Each bound is inclusive. */
export class ModelByInputTokens {
  readonly #bounds: readonly { upTo: number; model: ModelConfig }[];

  constructor({ upTo }: { upTo: Readonly<Record<number, ModelConfig>> }) {
    const bounds = Object.entries(upTo ?? {}).map(([tokens, model]) => ({ upTo: Number(tokens), model }));
    const wrong = bounds.find(
      (bound) => !Number.isSafeInteger(bound.upTo) || bound.upTo <= 0 || !bound.model,
    );
    if (wrong || bounds.length === 0) {
      const shown = wrong ? `${wrong.upTo}: ${wrong.model ? "…" : String(wrong.model)}` : "no entry";
      throw new AgentError(
        "invalid-argument",
        `\`upTo\` of ModelByInputTokens must map whole numbers of tokens to models, such as { 10000: "openai/gpt-5-mini" }, got ${shown}.`,
      );
    }
    this.#bounds = bounds.toSorted((a, b) => a.upTo - b.upTo);
  }

  /** The model for an input of this size. Throws above the largest bound. */
  resolve(inputTokens: number): ModelConfig {
    const bound = this.#bounds.find(({ upTo }) => inputTokens <= upTo);
    if (bound) return bound.model;
    throw new AgentError(
      "invalid-argument",
      `ModelByInputTokens has no model for ${inputTokens} tokens: its largest bound is ${this.#bounds.at(-1)!.upTo}.`,
    );
  }

  /** The bounds, smallest first. */
  getThresholds(): number[] {
    return this.#bounds.map(({ upTo }) => upTo);
  }
}
