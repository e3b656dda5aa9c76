import { toWords, type VectorResult } from "@selvedge/core/vector";
import type { HybridWeights } from "./hybrid-search.ts";

/** The best hits by words, from which it is told how rare a word is. */
const SAMPLE = 50;
const LEAST_SAMPLE = 10;
/** Below the first, words say nothing; above the second, they say everything. */
const NOTHING = 0.4;
const EVERYTHING = 0.8;

/**
 * How much words and vectors should count for one question. It depends on how much of the question the best hit by words
 * holds, rare words counting more: a name that stands in one passage decides, while a question asked in other words than its
 * answer meets it only in "how" and "the".
 */
export function weightsFor(queryText: string, worded: readonly VectorResult[]): HybridWeights {
  const covered = coverage(queryText, worded);
  const text = Math.max(0, Math.min(1, (covered - NOTHING) / (EVERYTHING - NOTHING)));
  return { vector: 1 - text, text };
}

/** The share of the question, by rarity of its words, that the best hit holds. */
function coverage(queryText: string, worded: readonly VectorResult[]): number {
  const texts = worded.slice(0, SAMPLE).map((result) => new Set(toWords(textOf(result)).map(stem)));
  const [best] = texts;
  if (!best) return 0;
  const count = Math.max(texts.length, LEAST_SAMPLE);
  let all = 0;
  let held = 0;
  for (const word of new Set(toWords(queryText).map(stem))) {
    const holding = texts.filter((text) => text.has(word)).length;
    const rarity = Math.log(1 + (count - holding + 0.5) / (holding + 0.5));
    all += rarity;
    if (best.has(word)) held += rarity;
  }
  return all === 0 ? 0 : held / all;
}

function textOf({ document, metadata }: VectorResult): string {
  const text = document ?? metadata?.["text"];
  return typeof text === "string" ? text : "";
}

/** Stores may find a word by its stem; a rough one is enough to see that they did. */
function stem(word: string): string {
  return word.length > 3 ? word.replace(/(?:ing|ed|es|s|e)$/, "").replace(/y$/, "i") : word;
}
