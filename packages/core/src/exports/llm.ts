// The names of @mastra/core/llm.
export { ModelRouterEmbeddingModel, ModelRouterLanguageModel } from "../switching/model-router.ts";
export type {
  LanguageModel as MastraLanguageModel,
  ModelConfig as MastraModelConfig,
} from "../model/model.ts";
