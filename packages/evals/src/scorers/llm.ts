export {
  createAnswerRelevancyScorer,
  createBiasScorer,
  createPromptAlignmentScorerLLM,
  createToolCallAccuracyScorerLLM,
  createToxicityScorer,
} from "../judge/answer-scorers.ts";
export {
  createMultiTurnJudgeScorer,
  createNoiseSensitivityScorerLLM,
  createRubricScorer,
  createSummarizationScorer,
  createTrajectoryAccuracyScorerLLM,
} from "../judge/more-scorers.ts";
export {
  createAnswerSimilarityScorer,
  createContextPrecisionScorer,
  createContextRecallScorer,
  createContextRelevanceScorerLLM,
  createFaithfulnessScorer,
  createHallucinationScorer,
} from "../judge/context-scorers.ts";
