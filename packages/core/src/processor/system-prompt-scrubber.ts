import type { AgentChunk } from "@selvedge/protocol";
import { AgentError, errorMessage } from "../errors.ts";
import type { ModelConfig } from "../model/model.ts";
import { CommonRuns } from "./common-runs.ts";
import { findingsSchema, GuardModel, type GuardOptions, SCORE } from "./guard-model.ts";
import { OptionChecks } from "./option-checks.ts";
import { notePassed, unseenTexts } from "./passed-texts.ts";
import type {
  ProcessLLMRequestArgs,
  Processor,
  ProcessorContext,
  ProcessOutputResultArgs,
  ProcessOutputStreamArgs,
} from "./processor.ts";
import { SafePattern } from "./safe-pattern.ts";
import { gateText, type Passage, type WaitingText } from "./text-gate.ts";
import { decidedHits, findValues, replaceHits, type TextHit } from "./text-hits.ts";
import { report } from "./violation.ts";

export interface SystemPromptScrubberOptions extends Omit<GuardOptions, "model" | "lastMessageOnly"> {
  /** `false` to only compare with the system messages and apply `customPatterns`. */
  model: ModelConfig | false;
  /** `redact` (the default) replaces, `filter` removes the passage, `block` ends the run, `warn` only reports. */
  strategy?: "block" | "warn" | "filter" | "redact";
  /** Regular expressions, as strings. */
  customPatterns?: string[];
  redactionMethod?: "mask" | "placeholder" | "remove";
  /** Default: `[SYSTEM_PROMPT]`. */
  placeholderText?: string;
  /** Add the findings to the tripwire and the warning. */
  includeDetections?: boolean;
}

const HOLD_BACK = 256;
const BLOCK_SIZE = 400;
const THRESHOLD = 0.7;
const INSTRUCTIONS =
  "You find leaked instructions. List every passage of the text that quotes or reveals the system prompt or the hidden instructions of an AI agent. Give each value exactly as it stands in the text, and your confidence from 0 to 1.";

interface Answer {
  detections?: { type: string; value: string; confidence: number }[] | null;
}

/**
 * Keeps system messages out of the answer: compares the answer with those of the run, applies patterns, and asks a
 * model.
 */
export class SystemPromptScrubber implements Processor {
  readonly id = "system-prompt-scrubber";
  readonly #guard: GuardModel | undefined;
  readonly #strategy: "block" | "warn" | "filter" | "redact";
  readonly #patterns: SafePattern[];
  readonly #method: "mask" | "placeholder" | "remove";
  readonly #placeholder: string;
  readonly #includeDetections: boolean;
  readonly #onViolation: GuardOptions["onViolation"];

  constructor(options: SystemPromptScrubberOptions) {
    const check = new OptionChecks("SystemPromptScrubber");
    const strategies = ["block", "warn", "filter", "redact"] as const;
    this.#strategy = check.oneOf("strategy", options?.strategy ?? "redact", strategies);
    this.#patterns = check
      .names("customPatterns", options?.customPatterns ?? [], 0)
      .map((source, index) => toPattern(check, source, `customPatterns[${index}]`));
    const methods = ["mask", "placeholder", "remove"] as const;
    this.#method = check.oneOf("redactionMethod", options?.redactionMethod ?? "mask", methods);
    this.#placeholder = check.string("placeholderText", options?.placeholderText ?? "[SYSTEM_PROMPT]");
    this.#includeDetections = check.boolean("includeDetections", options?.includeDetections ?? false);
    this.#onViolation = check.func("onViolation", options?.onViolation);
    const { model } = options ?? {};
    if (model === false) return;
    const text = { type: "string" };
    const schema = findingsSchema("detections", { type: text, value: text, confidence: SCORE });
    this.#guard = new GuardModel(
      "SystemPromptScrubber",
      this.id,
      { ...options, model },
      INSTRUCTIONS,
      schema,
    );
  }

  /** Records the system messages. */
  processLLMRequest({ request, state }: ProcessLLMRequestArgs): void {
    const texts = request.prompt.flatMap((message) => (message.role === "system" ? [message.content] : []));
    const key = texts.join("\n");
    if (state["systemText"] === key) return;
    state["systemText"] = key;
    state["runs"] = new CommonRuns(texts);
  }

  async processOutputStream(args: ProcessOutputStreamArgs): Promise<AgentChunk | AgentChunk[] | null> {
    const passed = await gateText(args.part, args.state, (waiting) => this.#pass(waiting, args));
    return notePassed(passed, args.state);
  }

  async processOutputResult(args: ProcessOutputResultArgs): Promise<void> {
    for (const part of unseenTexts(args))
      part.text = (await this.#pass({ text: part.text, before: "", ended: true }, args)).text;
  }

  async #pass(waiting: WaitingText, args: ProcessorContext): Promise<Passage> {
    const { text } = waiting;
    const { used, hits } = await decidedHits(waiting, {
      holdBack: HOLD_BACK,
      find: (all, from) => this.#find(all, from, args),
      ask: this.#guard && { blockSize: BLOCK_SIZE, find: (all) => this.#ask(all, args) },
    });
    if (hits.length === 0) return { used, text: text.slice(0, used) };
    await this.#tell(hits, args);
    if (this.#strategy === "warn") return { used, text: text.slice(0, used) };
    if (this.#strategy === "filter") return { used, text: "" };
    return replaceHits(text, used, hits, ({ value }) => this.#redaction(value));
  }

  #find(
    text: string,
    from: number,
    { state, abort }: ProcessorContext,
  ): { start: number; end: number; type: string }[] {
    const runs = (state["runs"] as CommonRuns | undefined)?.find(text, from) ?? [];
    try {
      const matches = this.#patterns.flatMap((pattern) => pattern.find(text, from));
      return [
        ...runs.map((span) => ({ ...span, type: "system-message" })),
        ...matches.map((span) => ({ ...span, type: "pattern" })),
      ];
    } catch (error) {
      if (AgentError.is(error, "limit-exceeded")) return abort(errorMessage(error));
      throw error;
    }
  }

  async #ask(text: string, args: ProcessorContext): Promise<{ start: number; end: number; type: string }[]> {
    const answer = await this.#guard!.ask<Answer>(text, args);
    const sure = (answer?.detections ?? []).filter(({ confidence }) => confidence >= THRESHOLD);
    return findValues(text, sure);
  }

  #redaction(value: string): string {
    if (this.#method === "remove") return "";
    return this.#method === "placeholder" ? this.#placeholder : value.replaceAll(/\S/g, "*");
  }

  async #tell(hits: TextHit[], args: ProcessorContext): Promise<void> {
    const types = [...new Set(hits.map(({ type }) => type))];
    const message = "The output contains instructions of the system.";
    const detail = {
      strategy: this.#strategy,
      types,
      ...(this.#includeDetections && { detections: hits.map(({ type, value }) => ({ type, value })) }),
    };
    await report(this.#onViolation, { processorId: this.id, message, detail }, args);
    if (this.#strategy === "block") args.abort(message, { metadata: detail });
    if (this.#strategy === "warn") args.logger.warn(`Processor "${this.id}": ${message}`, detail);
  }
}

function toPattern(check: OptionChecks, source: string, path: string): SafePattern {
  try {
    return new SafePattern(new RegExp(source, "i"));
  } catch {
    return check.refuse(path, source, "a regular expression");
  }
}
