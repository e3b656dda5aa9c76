import { createScorer, type MastraScorer } from "@selvedge/core/evals";
import { runTexts } from "../run-texts.ts";
import { keywords } from "./words.ts";

/** The share of the input's keywords that the output contains. */
export function createKeywordCoverageScorer(): MastraScorer {
  return createScorer({
    id: "keyword-coverage-scorer",
    name: "Keyword Coverage Scorer",
    description: "The fraction of the input's keywords that the output contains.",
  })
    .preprocess(({ run }) => {
      const { input, output } = runTexts(run);
      return { referenceKeywords: [...keywords(input)], responseKeywords: [...keywords(output)] };
    })
    .analyze(({ results: { preprocessStepResult: found } }) => {
      const matched = found.referenceKeywords.filter((word) => found.responseKeywords.includes(word));
      return {
        totalKeywordsLength: found.referenceKeywords.length,
        matchedKeywordsLength: matched.length,
      };
    })
    .generateScore(({ results: { analyzeStepResult: counts } }) =>
      counts.totalKeywordsLength === 0 ? 1 : counts.matchedKeywordsLength / counts.totalKeywordsLength,
    ) as MastraScorer;
}
