// Calling models
export { askModel, type AskModelOptions, askModelWithUsage, type ModelAnswer } from "../model/ask-model.ts";
export { candidateOptions } from "../model/candidate-options.ts";
export { modelName } from "../model/model-name.ts";
export { openModelReply, type ModelRetry, type OpenModelReplySettings } from "../model/open-model-reply.ts";
export { isRetryable } from "../model/retry-policy.ts";
export { resolveModel } from "../model/resolve-model.ts";

// Provider data
export { PROVIDERS, type ProviderEntry } from "../model/provider-registry.ts";

// The contract
export {
  DEFAULT_MODEL_LIMITS,
  type LanguageModel,
  type ModelCallOptions,
  type ModelCandidate,
  type ModelConfig,
  type ModelEndpoint,
  type ModelFallback,
  type ModelLimits,
  type ModelPart,
  type ModelReply,
  type ModelSettings,
  type ModelSpec,
} from "../model/model.ts";
