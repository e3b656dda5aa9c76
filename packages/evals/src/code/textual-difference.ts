import { createScorer, type MastraScorer } from "@selvedge/core/evals";
import { runTexts } from "../run-texts.ts";

/** Longer texts are cut: the work grows with the product of the lengths. */
const MAX_LENGTH = 5000;

/** How much of the input's characters the output keeps, in order. */
export function createTextualDifferenceScorer(): MastraScorer {
  return createScorer({
    id: "textual-difference-scorer",
    name: "Textual Difference Scorer",
    description: "How much of the input is found in the output, in the same order.",
  })
    .preprocess(({ run }) => {
      const { input, output } = runTexts(run);
      const [a, b] = [input.slice(0, MAX_LENGTH), output.slice(0, MAX_LENGTH)];
      const longest = Math.max(a.length, b.length);
      const matches = commonLength(a, b);
      const ratio = longest === 0 ? 1 : (2 * matches) / (a.length + b.length);
      const lengthDiff = longest === 0 ? 0 : Math.abs(a.length - b.length) / longest;
      const changes = a.length + b.length - 2 * matches;
      return { ratio, confidence: 1 - lengthDiff, changes, lengthDiff };
    })
    .generateScore(({ results }) => results.preprocessStepResult.ratio) as MastraScorer;
}

/** The length of the longest common subsequence, in memory that grows with one text only. */
function commonLength(a: string, b: string): number {
  let previous = new Uint32Array(b.length + 1);
  for (let row = 1; row <= a.length; row++) {
    const current = new Uint32Array(b.length + 1);
    for (let column = 1; column <= b.length; column++)
      current[column] =
        a[row - 1] === b[column - 1]
          ? previous[column - 1]! + 1
          : Math.max(previous[column]!, current[column - 1]!);
    previous = current;
  }
  return previous[b.length]!;
}
