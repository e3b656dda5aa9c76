import { createScorer, type MastraScorer } from "@selvedge/core/evals";
import { runTexts } from "../run-texts.ts";

/** How alike two texts are, from 0 to 1: the Dice coefficient of their character pairs. */
export function dice(a: string, b: string): number {
  const [left, right] = [a.replaceAll(/\s+/g, ""), b.replaceAll(/\s+/g, "")];
  if (left === right) return 1;
  if (left.length < 2 || right.length < 2) return 0;
  const pairs = new Map<string, number>();
  for (let at = 0; at < left.length - 1; at++) {
    const pair = left.slice(at, at + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  let shared = 0;
  for (let at = 0; at < right.length - 1; at++) {
    const pair = right.slice(at, at + 2);
    const count = pairs.get(pair) ?? 0;
    if (count > 0) {
      pairs.set(pair, count - 1);
      shared++;
    }
  }
  return (2 * shared) / (left.length + right.length - 2);
}

/** How alike question and answer are. */
export function createContentSimilarityScorer({
  ignoreCase = true,
  ignoreWhitespace = true,
}: { ignoreCase?: boolean; ignoreWhitespace?: boolean } = {}): MastraScorer {
  const normal = (text: string): string => {
    const folded = ignoreCase ? text.toLowerCase() : text;
    return ignoreWhitespace ? folded.replaceAll(/\s+/g, " ").trim() : folded;
  };
  return createScorer({
    id: "content-similarity-scorer",
    name: "Content Similarity Scorer",
    description: "How similar the input and the output are.",
  })
    .preprocess(({ run }) => {
      const { input, output } = runTexts(run);
      return { processedInput: normal(input), processedOutput: normal(output) };
    })
    .generateScore(({ results: { preprocessStepResult: texts } }) =>
      dice(texts.processedInput, texts.processedOutput),
    ) as MastraScorer;
}
