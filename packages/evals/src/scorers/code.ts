export { createCompletenessScorer } from "../code/completeness.ts";
export { createContentSimilarityScorer } from "../code/similarity.ts";
export { createKeywordCoverageScorer } from "../code/keyword-coverage.ts";
export { createTextualDifferenceScorer } from "../code/textual-difference.ts";
export { createToolCallAccuracyScorerCode } from "../code/tool-call-accuracy.ts";
export {
  createTrajectoryAccuracyScorerCode,
  createTrajectoryScorerCode,
  type TrajectoryComparison,
  type TrajectoryComparisonOptions,
  type TrajectoryExpectation,
} from "../code/trajectory.ts";
export type { ToolCallAccuracyOptions } from "../code/tool-call-accuracy.ts";
