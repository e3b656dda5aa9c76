export {
  createAnswerRelevancyScorer,
  createBiasScorer,
  createPromptAlignmentScorerLLM,
  createToolCallAccuracyScorerLLM,
  createToxicityScorer,
} from "../judge/answer-scorers.ts";
export {
  createAnswerSimilarityScorer,
  createContextPrecisionScorer,
  createContextRecallScorer,
  createContextRelevanceScorerLLM,
  createFaithfulnessScorer,
  createHallucinationScorer,
} from "../judge/context-scorers.ts";
