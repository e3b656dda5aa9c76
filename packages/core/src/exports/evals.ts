export { createScorer, MastraScorer } from "../scorer/scorer.ts";
export type {
  ScorerConfig,
  ScorerRun,
  ScorerRunInputForAgent,
  ScorerRunOutputForAgent,
  ScorerRunResult,
  ScorerStepContext,
} from "../scorer/scorer.ts";
export type { ScorerJudge } from "../scorer/ask-judge.ts";
export type { ScorerEntry, Scorers } from "../scorer/score-live.ts";
export { ScoreDomain } from "../storage/score-domain.ts";
export type { ListScoresResult, NewScore, Score } from "../storage/score-domain.ts";
