import type { AgentChunk } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { findSecrets } from "./find-secrets.ts";
import type { Processor, ProcessOutputStreamArgs } from "./processor.ts";
import type { TextSpan } from "./safe-pattern.ts";
import { gateText } from "./text-gate.ts";

export interface SecretRedactorOptions {
  /** Your own secrets. Keep them linear: no repetition inside a repetition. */
  patterns?: RegExp[];
  /** How many characters are held back in case a match of `patterns` spans two chunks: at least the longest match. */
  holdBack?: number;
  replacement?: string;
}

/** An unfinished token is held back up to this length, a private key longer. */
const MAX_OPEN_TOKEN = 512;
const MAX_HELD = 20_000;
const TOKEN_CHAR = /[A-Za-z0-9_.\-~+/=]/;
const BEARER_LENGTH = "Bearer ".length;

/**
 * Removes keys, tokens and private keys from the answer, on the stream and in the store. The end of the text is held
 * back until it cannot be the start of a secret; the amount held back is bounded.
 */
export class SecretRedactor implements Processor {
  readonly id = "secret-redactor";
  readonly #patterns: RegExp[];
  readonly #holdBack: number;
  readonly #replacement: string;

  constructor(options: SecretRedactorOptions = {}) {
    const { patterns = [], holdBack = 64, replacement = "[redacted]" } = options;
    for (const pattern of patterns) {
      if (!(pattern instanceof RegExp)) {
        throw new AgentError(
          "invalid-argument",
          `The patterns of SecretRedactor must be regular expressions, got ${showValue(pattern)}.`,
        );
      }
    }
    this.#patterns = patterns.map(
      (pattern) => new RegExp(pattern.source, `${pattern.flags.replace(/[gy]/g, "")}g`),
    );
    this.#holdBack = patterns.length > 0 ? holdBack : 0;
    this.#replacement = replacement;
  }

  processOutputStream({ part, state }: ProcessOutputStreamArgs): Promise<AgentChunk | AgentChunk[] | null> {
    return gateText(part, state, ({ text, ended }) => {
      const spans = this.#spans(text);
      const used = ended ? text.length : this.#safeLength(text, spans);
      return { used, text: this.#replace(text.slice(0, used), spans) };
    });
  }

  redact(text: string): string {
    return this.#replace(text, this.#spans(text));
  }

  #spans(text: string): TextSpan[] {
    const spans = findSecrets(text);
    for (const pattern of this.#patterns) {
      for (const match of text.matchAll(pattern)) {
        if (match[0] !== "") spans.push({ start: match.index, end: match.index + match[0].length });
      }
    }
    return spans.sort((a, b) => a.start - b.start);
  }

  #replace(text: string, spans: readonly TextSpan[]): string {
    let result = "";
    let at = 0;
    for (const { start, end } of spans) {
      if (start >= text.length) break;
      if (start >= at) result += text.slice(at, start) + this.#replacement;
      at = Math.max(at, end);
    }
    return result + text.slice(at);
  }

  /** How much of the text can be sent: everything that later text cannot turn into part of a secret. */
  #safeLength(text: string, spans: readonly TextSpan[]): number {
    let cut = Math.min(text.length - this.#holdBack, openTokenStart(text), openKeyStart(text));
    for (const { start, end } of spans.toReversed())
      if (start < cut && (cut < end || end === text.length)) cut = start;
    if (text.length - cut > MAX_HELD) return text.length;
    return Math.max(0, cut);
  }
}

/** Where the run of token characters at the end of the text starts, including a preceding `Bearer`. */
function openTokenStart(text: string): number {
  let start = text.length;
  const least = Math.max(0, text.length - MAX_OPEN_TOKEN);
  while (start > least && TOKEN_CHAR.test(text[start - 1]!)) start--;
  const before = text.slice(Math.max(0, start - BEARER_LENGTH), start);
  return /^bearer $/i.test(before) ? start - BEARER_LENGTH : start;
}

/** Where an incomplete start of a private key begins. One that has started is among the spans. */
function openKeyStart(text: string): number {
  const start = text.lastIndexOf("-----BEGIN ");
  return start >= 0 && text.length - start < MAX_OPEN_KEY_LINE && !text.slice(start + 5).includes("-----")
    ? start
    : text.length;
}

const MAX_OPEN_KEY_LINE = 100;
