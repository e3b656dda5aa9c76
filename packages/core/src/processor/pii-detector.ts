import type { AgentChunk } from "@selvedge/protocol";
import type { ModelConfig } from "../model/model.ts";
import { findingsSchema, GuardModel, type GuardOptions, SCORE } from "./guard-model.ts";
import { mapTexts, messagesToCheck, messageText } from "./message-texts.ts";
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
import { redaction, type RedactionMethod } from "./redaction.ts";
import { gateText, type Passage, type WaitingText } from "./text-gate.ts";
import { decidedHits, findValues, mergeHits, replaceHits, type TextHit } from "./text-hits.ts";
import { TEXT_PATTERNS } from "./text-patterns.ts";
import { report, type ViolationCallback } from "./violation.ts";

export interface PIIDetectorOptions extends Omit<GuardOptions, "model"> {
  /** `false` for patterns only: names, addresses and birth dates are then not found. */
  model: ModelConfig | false;
  detectionTypes?: string[];
  /** The minimum confidence for the model's findings, between 0 and 1. Default: 0.6. */
  threshold?: number;
  /**
   * `redact` (the default) replaces, `filter` removes the message or chunk, `block` ends the run, `warn` only reports.
   */
  strategy?: "block" | "warn" | "filter" | "redact";
  redactionMethod?: RedactionMethod;
  /** When masking, keep punctuation and the last digits of some numbers. Default: true. */
  preserveFormat?: boolean;
  /** Add the findings to the tripwire and the warning. */
  includeDetections?: boolean;
  /** How much of the answer is sent to the model at once. Default: 200 characters. */
  bufferSize?: number;
  onDetection?: ViolationCallback;
}

const TYPES = [
  "email",
  "phone",
  "credit-card",
  "ssn",
  "api-key",
  "ip-address",
  "name",
  "address",
  "date-of-birth",
  "url",
  "uuid",
  "crypto-wallet",
  "iban",
];
const HOLD_BACK = 128;

interface Answer {
  detections?: { type: string; value: string; confidence: number }[] | null;
}

type Span = { start: number; end: number; type: string };

/** Finds personal data in input and output, by patterns and with a model, and removes it. */
export class PIIDetector implements Processor {
  readonly id = "pii-detector";
  readonly #guard: GuardModel | undefined;
  readonly #types: string[];
  readonly #threshold: number;
  readonly #strategy: "block" | "warn" | "filter" | "redact";
  readonly #method: RedactionMethod;
  readonly #preserveFormat: boolean;
  readonly #includeDetections: boolean;
  readonly #bufferSize: number;
  readonly #callbacks: (ViolationCallback | undefined)[];

  constructor(options: PIIDetectorOptions) {
    const check = new OptionChecks("PIIDetector");
    this.#types = check.names("detectionTypes", options?.detectionTypes ?? TYPES);
    this.#threshold = check.number("threshold", options?.threshold ?? 0.6, 0, 1);
    const strategies = ["block", "warn", "filter", "redact"] as const;
    this.#strategy = check.oneOf("strategy", options?.strategy ?? "redact", strategies);
    const methods = ["mask", "hash", "remove", "placeholder"] as const;
    this.#method = check.oneOf("redactionMethod", options?.redactionMethod ?? "mask", methods);
    this.#preserveFormat = check.boolean("preserveFormat", options?.preserveFormat ?? true);
    this.#includeDetections = check.boolean("includeDetections", options?.includeDetections ?? false);
    this.#bufferSize = check.integer("bufferSize", options?.bufferSize ?? 200, 1);
    this.#callbacks = [
      check.func("onDetection", options?.onDetection),
      check.func("onViolation", options?.onViolation),
    ];
    const { model } = options ?? {};
    if (model === false) return;
    const instructions = `You find personal data. List every occurrence of these kinds in the text: ${this.#types.join(", ")}. Give each value exactly as it stands in the text, and your confidence from 0 to 1.`;
    const type = { type: "string", enum: this.#types };
    this.#guard = new GuardModel(
      "PIIDetector",
      this.id,
      { ...options, model },
      instructions,
      findingsSchema("detections", { type, value: { type: "string" }, confidence: SCORE }),
    );
  }

  async processInput(args: ProcessInputArgs): Promise<void> {
    const gone: string[] = [];
    const messages = messagesToCheck(args, this.#guard?.lastMessageOnly);
    await Promise.all(
      messages.map(async (message) => {
        const all = messageText(message);
        if (all.trim() === "") return;
        const asked = await this.#ask(all, args);
        const found: TextHit[] = [];
        const values = asked.map(({ start, end, type }) => ({ type, value: all.slice(start, end) }));
        mapTexts(message, (text) => {
          const hits = mergeHits(text, [...this.#find(text, 0), ...findValues(text, values)]);
          for (const hit of hits) found.push(hit);
          return this.#replace(text, text.length, hits).text;
        });
        await this.#tell(found, "input", args);
        if (found.length > 0 && this.#strategy === "filter") gone.push(message.id);
      }),
    );
    if (gone.length > 0) args.messageList.removeByIds(gone);
  }

  async processInputStep(args: ProcessInputStepArgs): Promise<void> {
    await this.processInput(args);
  }

  async processOutputStream(args: ProcessOutputStreamArgs): Promise<AgentChunk | AgentChunk[] | null> {
    const passed = await gateText(args.part, args.state, (waiting) => this.#pass(waiting, args));
    return notePassed(passed, args.state);
  }

  async processOutputResult(args: ProcessOutputResultArgs): Promise<void> {
    for (const part of unseenTexts(args)) {
      const waiting = { text: part.text, before: "", ended: true };
      part.text = (await this.#pass(waiting, args)).text;
    }
  }

  async #pass(waiting: WaitingText, args: ProcessorContext): Promise<Passage> {
    const asksModel = this.#guard && this.#types.some((type) => !Object.hasOwn(TEXT_PATTERNS, type));
    const { used, hits } = await decidedHits(waiting, {
      holdBack: HOLD_BACK,
      find: (text, from) => this.#find(text, from),
      ask: asksModel ? { blockSize: this.#bufferSize, find: (text) => this.#ask(text, args) } : undefined,
    });
    await this.#tell(hits, "output", args);
    if (hits.length > 0 && this.#strategy === "filter") return { used, text: "" };
    return this.#replace(waiting.text, used, hits);
  }

  #find(text: string, from: number): Span[] {
    return this.#types.flatMap((type) =>
      Object.hasOwn(TEXT_PATTERNS, type)
        ? TEXT_PATTERNS[type as keyof typeof TEXT_PATTERNS]
            .find(text, from)
            .map((span) => ({ ...span, type }))
        : [],
    );
  }

  async #ask(text: string, args: ProcessorContext): Promise<Span[]> {
    const answer = await this.#guard?.ask<Answer>(text, args);
    const sure = (answer?.detections ?? []).filter(({ confidence }) => confidence >= this.#threshold);
    return findValues(text, sure);
  }

  #replace(text: string, used: number, hits: TextHit[]): Passage {
    if (this.#strategy !== "redact") return { used, text: text.slice(0, used) };
    return replaceHits(text, used, hits, (hit) => redaction(hit, this.#method, this.#preserveFormat));
  }

  async #tell(hits: TextHit[], phase: "input" | "output", args: ProcessorContext): Promise<void> {
    if (hits.length === 0) return;
    const types = [...new Set(hits.map(({ type }) => type))];
    const message = `The ${phase} contains personal data: ${types.join(", ")}.`;
    const detail = {
      phase,
      strategy: this.#strategy,
      types,
      ...(this.#includeDetections && { detections: hits.map(({ type, value }) => ({ type, value })) }),
    };
    for (const callback of this.#callbacks)
      await report(callback, { processorId: this.id, message, detail }, args);
    if (this.#strategy === "block") args.abort(message, { metadata: detail });
    if (this.#strategy === "warn") args.logger.warn(`Processor "${this.id}": ${message}`, detail);
  }
}
