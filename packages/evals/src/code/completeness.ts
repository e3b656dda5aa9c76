import { createScorer, type MastraScorer } from "@selvedge/core/evals";
import { runTexts } from "../run-texts.ts";
import { words } from "./words.ts";

const SHORT = 3;
const OVERLAP = 0.6;

/** How much of what the input mentions the output mentions, too. */
export function createCompletenessScorer(): MastraScorer {
  return createScorer({
    id: "completeness-scorer",
    name: "Completeness Scorer",
    description: "The fraction of words from the input that the output covers.",
  })
    .preprocess(({ run }) => {
      const { input, output } = runTexts(run);
      const inputElements = [...new Set(words(input))];
      const outputElements = [...new Set(words(output))];
      const missingElements = inputElements.filter((word) => !covers(outputElements, word));
      const elementCounts = { input: inputElements.length, output: outputElements.length };
      return { inputElements, outputElements, missingElements, elementCounts };
    })
    .generateScore(({ results: { preprocessStepResult: found } }) => {
      const { input, output } = found.elementCounts;
      if (input === 0) return output === 0 ? 1 : 0;
      return (input - found.missingElements.length) / input;
    }) as MastraScorer;
}

/** Longer words count when one contains the other for the most part: "weather" covers "weathers". */
function covers(elements: readonly string[], word: string): boolean {
  return elements.some((element) => {
    if (element === word) return true;
    if (word.length <= SHORT || element.length <= SHORT) return false;
    const [short, long] = word.length < element.length ? [word, element] : [element, word];
    return long.includes(short) && short.length / long.length > OVERLAP;
  });
}
