import type { StoredMessage } from "@selvedge/protocol";
import { checkMessages } from "./check-messages.ts";
import { answerSchema, GuardModel, type GuardOptions, SCORE, TEXT_OR_NULL } from "./guard-model.ts";
import { setMessageText } from "./message-texts.ts";
import { OptionChecks } from "./option-checks.ts";
import type { ProcessInputArgs, ProcessInputStepArgs, Processor } from "./processor.ts";
import { report } from "./violation.ts";

export interface LanguageDetectorOptions extends GuardOptions {
  /** Names or ISO codes. Default: `English` and `en`. */
  targetLanguages?: string[];
  /** The minimum confidence, between 0 and 1. Default: 0.7. */
  threshold?: number;
  /**
   * `detect` (the default) only records the language, `translate` replaces the text, `block` ends the run, `warn` logs.
   */
  strategy?: "detect" | "translate" | "block" | "warn";
  /** Keep the original of a translation in the metadata. Default: true. */
  preserveOriginal?: boolean;
  /** Shorter texts are not checked. Default: 10. */
  minTextLength?: number;
  /** Add the model's full answer to the metadata. */
  includeDetectionDetails?: boolean;
  /** Has no effect. */
  translationQuality?: string;
}

interface Answer {
  iso_code?: string | null;
  confidence?: number | null;
  translated_text?: string | null;
}

/** Uses a model to detect the language of the input, and translates or refuses it. */
export class LanguageDetector implements Processor {
  readonly id = "language-detector";
  readonly #guard: GuardModel;
  readonly #targets: string[];
  readonly #threshold: number;
  readonly #strategy: "detect" | "translate" | "block" | "warn";
  readonly #preservesOriginal: boolean;
  readonly #minTextLength: number;
  readonly #includesDetails: boolean;

  constructor(options: LanguageDetectorOptions) {
    const check = new OptionChecks("LanguageDetector");
    this.#targets = check.names("targetLanguages", options?.targetLanguages ?? ["English", "en"]);
    this.#threshold = check.number("threshold", options?.threshold ?? 0.7, 0, 1);
    const strategies = ["detect", "translate", "block", "warn"] as const;
    this.#strategy = check.oneOf("strategy", options?.strategy ?? "detect", strategies);
    this.#preservesOriginal = check.boolean("preserveOriginal", options?.preserveOriginal ?? true);
    this.#minTextLength = check.integer("minTextLength", options?.minTextLength ?? 10, 0);
    this.#includesDetails = check.boolean(
      "includeDetectionDetails",
      options?.includeDetectionDetails ?? false,
    );
    const translates = this.#strategy === "translate";
    const instructions = `You detect languages. Give the ISO 639-1 code of the language of the text and your confidence from 0 to 1.${translates ? ` If the language is not one of ${this.#targets.join(", ")}, translate the text to ${this.#targets[0]} and give it in translated_text.` : ""}`;
    this.#guard = new GuardModel("LanguageDetector", this.id, options, instructions, {
      ...answerSchema({
        iso_code: TEXT_OR_NULL,
        confidence: { ...SCORE, type: ["number", "null"] },
        ...(translates && { translated_text: TEXT_OR_NULL }),
      }),
      required: ["iso_code", "confidence"],
    });
  }

  async processInput(args: ProcessInputArgs): Promise<void> {
    await checkMessages(args, this.#guard.lastMessageOnly, async (text, message) => {
      if (text.length >= this.#minTextLength) await this.#check(text, message, args);
      return true;
    });
  }

  async processInputStep(args: ProcessInputStepArgs): Promise<void> {
    await this.processInput(args);
  }

  async #check(text: string, message: StoredMessage, args: ProcessInputArgs): Promise<void> {
    const answer = await this.#guard.ask<Answer>(text, args);
    const { iso_code: code, confidence, translated_text: translation } = answer ?? {};
    if (!code || (confidence ?? 0) < this.#threshold) return;
    const language = languageName(code);
    const isTarget = this.#targets.some((target) =>
      [code, code.split("-")[0], language].some((name) => name?.toLowerCase() === target.toLowerCase()),
    );
    const found: Record<string, unknown> = {
      detected_language: language,
      iso_code: code,
      confidence,
      is_target_language: isTarget,
    };
    if (this.#includesDetails) Object.assign(found, { target_languages: this.#targets, result: answer });
    if (!isTarget) {
      const reason = `The input is in ${language}, not in ${this.#targets[0]}.`;
      const detail = { strategy: this.#strategy, language, iso_code: code };
      await report(this.#guard.onViolation, { processorId: this.id, message: reason, detail }, args);
      if (this.#strategy === "block") args.abort(reason, { metadata: detail });
      if (this.#strategy === "warn") args.logger.warn(`Processor "${this.id}": ${reason}`);
      if (this.#strategy === "translate" && translation) {
        setMessageText(message, translation);
        found["translated_to"] = this.#targets[0];
        if (this.#preservesOriginal) found["original_content"] = text;
      }
    }
    const { metadata } = message.content;
    message.content = { ...message.content, metadata: { ...metadata, language_detection: found } };
  }
}

function languageName(code: string): string {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code) ?? code;
  } catch {
    return code; // Not a code.
  }
}
