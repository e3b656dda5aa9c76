import { mapTexts, newMessages } from "./message-texts.ts";
import { OptionChecks } from "./option-checks.ts";
import type { ProcessInputArgs, Processor } from "./processor.ts";

export interface UnicodeNormalizerOptions {
  /** Default: `NFC`, which changes nothing visible. `NFKC` also folds look-alikes. */
  form?: "NFC" | "NFKC";
  /** Removes control characters and those that change text direction. Default: true. */
  stripControlChars?: boolean;
  /** Collapses spaces, and allows at most one empty line. Default: false, because it would destroy code. */
  collapseWhitespace?: boolean;
  /** Trims white space at both ends. Default: true. */
  trim?: boolean;
  /** If false, emoji are removed. */
  preserveEmojis?: boolean;
}

const CONTROLS =
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u200B\u202A-\u202E\u2066-\u2069\uFEFF]/g;

const EMOJI =
  /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{Regional_Indicator}|\u{FE0F}|\u{200D}|\u{20E3}/gu;

/** Normalises the input text before it is stored and before the model reads it. */
export class UnicodeNormalizer implements Processor {
  readonly id = "unicode-normalizer";
  readonly #form: "NFC" | "NFKC";
  readonly #strips: boolean;
  readonly #collapses: boolean;
  readonly #trims: boolean;
  readonly #keepsEmojis: boolean;

  constructor(options: UnicodeNormalizerOptions = {}) {
    const check = new OptionChecks("UnicodeNormalizer");
    this.#form = check.oneOf("form", options.form ?? "NFC", ["NFC", "NFKC"]);
    this.#strips = check.boolean("stripControlChars", options.stripControlChars ?? true);
    this.#collapses = check.boolean("collapseWhitespace", options.collapseWhitespace ?? false);
    this.#trims = check.boolean("trim", options.trim ?? true);
    this.#keepsEmojis = check.boolean("preserveEmojis", options.preserveEmojis ?? true);
  }

  processInput({ messageList }: ProcessInputArgs): void {
    for (const message of newMessages(messageList)) mapTexts(message, (text) => this.normalize(text));
  }

  normalize(text: string): string {
    let normal = text.toWellFormed().normalize(this.#form).replaceAll("\r\n", "\n");
    if (this.#strips) normal = normal.replace(CONTROLS, "");
    if (!this.#keepsEmojis) normal = normal.replace(EMOJI, "");
    if (this.#collapses) normal = normal.replace(/[^\S\n]+/g, " ").replace(/\n{3,}/g, "\n\n");
    return this.#trims ? normal.trim() : normal;
  }
}
