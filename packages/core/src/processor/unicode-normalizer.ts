import type { MessagePart } from "@selvedge/protocol";
import type { ProcessInputArgs, Processor } from "./processor.ts";

export interface UnicodeNormalizerOptions {
  /** `NFC` when absent, which changes nothing that can be seen. `NFKC` also folds look-alikes. */
  form?: "NFC" | "NFKC";
  /** Takes out control characters and those that turn the direction of text round. True when absent. */
  stripControlChars?: boolean;
  /** One space for many, at most one empty line, none at the ends. */
  collapseWhitespace?: boolean;
}

const CONTROLS =
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u200B\u202A-\u202E\u2066-\u2069\uFEFF]/g;

/** Brings the text of the input into one form, before it is stored and before the model reads it. */
export class UnicodeNormalizer implements Processor {
  readonly id = "unicode-normalizer";
  readonly #form: "NFC" | "NFKC";
  readonly #strips: boolean;
  readonly #collapses: boolean;

  constructor(options: UnicodeNormalizerOptions = {}) {
    this.#form = options.form ?? "NFC";
    this.#strips = options.stripControlChars ?? true;
    this.#collapses = options.collapseWhitespace ?? false;
  }

  processInput({ messageList }: ProcessInputArgs): void {
    for (const message of messageList.get.input.db()) {
      const parts = message.content.parts.map((part): MessagePart =>
        part.type === "text" ? { ...part, text: this.normalize(part.text) } : part,
      );
      message.content = { ...message.content, parts };
    }
  }

  normalize(text: string): string {
    let normal = text.toWellFormed().normalize(this.#form).replaceAll("\r\n", "\n");
    if (this.#strips) normal = normal.replace(CONTROLS, "");
    if (this.#collapses)
      normal = normal
        .replace(/[^\S\n]+/g, " ")
        .replace(/\n{3,}/g, "\n\n")
        .trim();
    return normal;
  }
}
