import { toWords, type VectorResult } from "@selvedge/core/vector";
import type { HybridWeights } from "./hybrid-search.ts";

/** The best hits by words, from which it is told how rare a word is. */
const SAMPLE = 50;
const LEAST_SAMPLE = 10;
/** Vectors and words count alike where the nearest and the farthest hit are this share of the words' coverage apart. */
const BALANCE = 1 / 3;
/** How fast one side wins as it gets the clearer one. Like the balance, it was fitted to the sets of `npm run bench:rag`. */
const STEEPNESS = 4;

/**
 * How much words and vectors should count for one question: each as much as it tells the passages apart. Words do by how
 * much of the question one passage holds, rare words counting more: a name that stands in one passage decides, while a
 * question in other words than its answer meets it only in "how" and "the". Vectors do by how far apart they put the
 * passages they found: where all are about equally near, their order means little.
 *
 * @param spread cosine of the nearest hit by vectors, less that of the farthest
 */
export function weightsFor(
  queryText: string,
  worded: readonly VectorResult[],
  spread: number,
): HybridWeights {
  const byWords = (BALANCE * coverage(queryText, worded)) ** STEEPNESS;
  const byVectors = Math.max(0, spread) ** STEEPNESS;
  const text = byWords === 0 ? 0 : byWords / (byWords + byVectors);
  return { vector: 1 - text, text };
}

/** The largest share of the question, by rarity of its words, that one hit holds. */
function coverage(queryText: string, worded: readonly VectorResult[]): number {
  const texts = worded.slice(0, SAMPLE).map((result) => new Set(toWords(textOf(result)).map(stem)));
  const count = Math.max(texts.length, LEAST_SAMPLE);
  const held = texts.map(() => 0);
  let all = 0;
  for (const word of new Set(toWords(queryText).map(stem))) {
    const holding = [...texts.keys()].filter((index) => texts[index]!.has(word));
    const rarity = Math.log(1 + (count - holding.length + 0.5) / (holding.length + 0.5));
    all += rarity;
    for (const index of holding) held[index]! += rarity;
  }
  return all === 0 ? 0 : Math.max(0, ...held) / all;
}

function textOf({ document, metadata }: VectorResult): string {
  const text = document ?? metadata?.["text"];
  return typeof text === "string" ? text : "";
}

/** Stores may find a word by its stem; a rough one is enough to see that they did. */
function stem(word: string): string {
  return word.length > 3 ? word.replace(/(?:ing|ed|es|s|e)$/, "").replace(/y$/, "i") : word;
}
