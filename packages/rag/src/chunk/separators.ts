import { AgentError } from "@selvedge/core/errors";
import type { CheckedParams } from "../document/chunk-params.ts";
import { codeSeparators } from "./code-separators.ts";
import type { Separator } from "./split-text.ts";

/** Where any text may be split, best first: paragraphs, lines, sentences, words. */
export function textSeparators(text: string, strip: boolean): Separator[] {
  const cut = strip ? "drop" : "after";
  // CRLF counts as one character and is not split.
  const breaks = text.includes("\r\n") ? ["\r\n", "\n"] : ["\n"];
  return [
    ...breaks.map((line) => ({ text: line + line, cut }) as const),
    ...breaks.map((line) => ({ text: line, cut }) as const),
    { text: ". ", cut: "after" },
    { text: "? ", cut: "after" },
    { text: "! ", cut: "after" },
    { text: "。", cut: "after" },
    { text: " ", cut },
  ];
}

/** The caller's separators, followed by the general ones if the strategy falls back to those. */
export function askedSeparators(text: string, params: CheckedParams, strip: boolean): Separator[] {
  const { strategy, separator, separators, language } = params;
  const asked = [...(separators ?? []), ...(separator === undefined ? [] : [separator])];
  if (strategy === "character" && asked.length === 0) asked.push("\n\n");
  const own = asked.filter((one) => one !== "").map((one) => toSeparator(one, params, strip));
  if (language) own.push(...codeSeparators(language));
  // A given list is the whole list; a single separator is a preference.
  if (strategy === "character" || separators) return own;
  const known = new Set(own.map((separator) => separator.text));
  return [...own, ...textSeparators(text, strip).filter((separator) => !known.has(separator.text))];
}

function toSeparator(text: string, params: CheckedParams, strip: boolean): Separator {
  const { keepSeparator, isSeparatorRegex } = params;
  const isBlank = !isSeparatorRegex && text.trim() === "";
  const kept = keepSeparator ?? "end";
  const cut = kept === false || (strip && isBlank) ? "drop" : kept === "end" ? "after" : "before";
  return { text: isSeparatorRegex ? toPattern(text) : text, cut };
}

function toPattern(source: string): RegExp {
  try {
    return new RegExp(source, "gu");
  } catch (cause) {
    throw new AgentError(
      "invalid-argument",
      `Chunk params: ${JSON.stringify(source)} is not a regular expression`,
      {
        cause,
      },
    );
  }
}
