import type { AgentChunk } from "@selvedge/protocol";
import { checkMessages } from "./check-messages.ts";
import { findingsSchema, GuardModel, type GuardOptions, SCORE } from "./guard-model.ts";
import { OptionChecks } from "./option-checks.ts";
import { notePassed, unseenTexts } from "./passed-texts.ts";
import type {
  ProcessInputArgs,
  ProcessInputStepArgs,
  Processor,
  ProcessorContext,
  ProcessOutputResultArgs,
  ProcessOutputStreamArgs,
} from "./processor.ts";
import { isDelta } from "./text-gate.ts";
import { report } from "./violation.ts";

export interface ModerationOptions extends GuardOptions {
  categories?: string[];
  /** The minimum score that flags a category, between 0 and 1. Default: 0.5. */
  threshold?: number;
  /** `block` (the default) ends the run, `filter` removes the message or chunk, `warn` only reports. */
  strategy?: "block" | "warn" | "filter";
  /** Add the scores to the tripwire and the warning. */
  includeScores?: boolean;
  /** How many earlier chunks the model sees with each chunk. Default: 0. */
  chunkWindow?: number;
}

const CATEGORIES = [
  "hate",
  "hate/threatening",
  "harassment",
  "harassment/threatening",
  "self-harm",
  "self-harm/intent",
  "self-harm/instructions",
  "sexual",
  "sexual/minors",
  "violence",
  "violence/graphic",
];

interface Answer {
  category_scores?: { category: string; score: number }[] | null;
  reason?: string | null;
}

/** Uses a model to check input and output for harmful content. */
export class ModerationProcessor implements Processor {
  readonly id = "moderation";
  readonly #guard: GuardModel;
  readonly #categories: string[];
  readonly #threshold: number;
  readonly #strategy: "block" | "warn" | "filter";
  readonly #includeScores: boolean;
  readonly #chunkWindow: number;

  constructor(options: ModerationOptions) {
    const check = new OptionChecks("ModerationProcessor");
    this.#categories = check.names("categories", options?.categories ?? CATEGORIES);
    this.#threshold = check.number("threshold", options?.threshold ?? 0.5, 0, 1);
    this.#strategy = check.oneOf("strategy", options?.strategy ?? "block", ["block", "warn", "filter"]);
    this.#includeScores = check.boolean("includeScores", options?.includeScores ?? false);
    this.#chunkWindow = check.integer("chunkWindow", options?.chunkWindow ?? 0, 0);
    const instructions = `You moderate content. Score the text from 0 to 1 in each of these categories where it applies: ${this.#categories.join(", ")}. Leave out categories with a score of 0.`;
    const category = { type: "string", enum: this.#categories };
    this.#guard = new GuardModel(
      "ModerationProcessor",
      this.id,
      options,
      instructions,
      findingsSchema("category_scores", { category, score: SCORE }),
    );
  }

  async processInput(args: ProcessInputArgs): Promise<void> {
    await checkMessages(args, this.#guard.lastMessageOnly, (text) => this.#passes(text, "input", args));
  }

  async processInputStep(args: ProcessInputStepArgs): Promise<void> {
    await this.processInput(args);
  }

  async processOutputStream(args: ProcessOutputStreamArgs): Promise<AgentChunk | null> {
    const { part, state } = args;
    if (!isDelta(part) || part.payload.text.trim() === "") return notePassed(part, state);
    const { text } = part.payload;
    const earlier = (state["earlier"] ??= []) as string[];
    const passes = await this.#passes([...earlier, text].join(""), "output", args);
    earlier.push(text);
    if (earlier.length > this.#chunkWindow) earlier.shift();
    return passes ? notePassed(part, state) : null;
  }

  async processOutputResult(args: ProcessOutputResultArgs): Promise<void> {
    for (const part of unseenTexts(args))
      if (!(await this.#passes(part.text, "output", args))) part.text = "";
  }

  async #passes(text: string, phase: "input" | "output", context: ProcessorContext): Promise<boolean> {
    const answer = await this.#guard.ask<Answer>(text, context);
    const scores = (answer?.category_scores ?? []).filter(({ score }) => score >= this.#threshold);
    if (scores.length === 0) return true;
    const categories = scores.map(({ category }) => category);
    const message = `The ${phase} was flagged: ${categories.join(", ")}.`;
    const detail = {
      phase,
      strategy: this.#strategy,
      categories,
      ...(this.#includeScores && {
        scores: Object.fromEntries(scores.map((one) => [one.category, one.score])),
      }),
    };
    await report(this.#guard.onViolation, { processorId: this.id, message, detail }, context);
    if (this.#strategy === "block") context.abort(message, { metadata: detail });
    context.logger.warn(`Processor "${this.id}": ${message}`, detail);
    return this.#strategy === "warn";
  }
}
