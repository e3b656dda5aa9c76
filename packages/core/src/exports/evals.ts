export { createScorer, MastraScorer } from "../scorer/scorer.ts";
export { ScorerRunError, type ScorerStepName } from "../scorer/scorer-run-error.ts";
export { filterRun, type FilterRunOptions } from "../scorer/filter-run.ts";
export {
  type EvalItem,
  type EvalTarget,
  runEvals,
  type RunEvalsOptions,
  type RunEvalsResult,
} from "../scorer/run-evals.ts";
export {
  type ExpectedStep,
  extractTrajectory,
  extractTrajectoryFromTrace,
  extractWorkflowTrajectory,
  type Trajectory,
  type TrajectoryStep,
  type TrajectoryStepType,
} from "../scorer/trajectory.ts";
export type {
  ScorerConfig,
  ScorerRun,
  ScorerRunInputForAgent,
  ScorerRunOutputForAgent,
  ScorerRunResult,
  ScorerStepContext,
} from "../scorer/scorer.ts";
export type { JudgeExecution, ScorerJudge } from "../scorer/ask-judge.ts";
export type { ScorerEntry, Scorers } from "../scorer/score-live.ts";
export { ScoreDomain } from "../storage/score-domain.ts";
export type { ListScoresResult, NewScore, Score } from "../storage/score-domain.ts";
