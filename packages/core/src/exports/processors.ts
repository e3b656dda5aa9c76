export type {
  AbortOptions,
  ComputedState,
  ComputeStateSignalArgs,
  ProcessAPIErrorArgs,
  ProcessInputArgs,
  ProcessInputResult,
  ProcessInputStepArgs,
  ProcessLLMRequestArgs,
  ProcessLLMResponseArgs,
  ProcessOutputResultArgs,
  ProcessOutputStepArgs,
  ProcessOutputStreamArgs,
  Processor,
  ProcessorContext,
  ProcessToolResultArgs,
  ReadyResponse,
  StateSignal,
  StateTracking,
  StepOverrides,
  StepOverrides as ProcessInputStepResult,
} from "../processor/processor.ts";

// Workflows of processors
export {
  ProcessorStepSchema,
  ProcessorStepSchema as ProcessorStepInputSchema,
  ProcessorStepSchema as ProcessorStepOutputSchema,
  type ProcessorPhase,
  type ProcessorStepData,
} from "../processor/processor-step-schema.ts";

export type { ProcessorMessageResult } from "../switching/processor-message-result.ts";

// Ready to use
export {
  AgentsMdReminder,
  AgentsMdReminder as AgentsMDInjector,
  type AgentsMdReminderOptions,
  type InstructionReader,
} from "../processor/agents-md-reminder.ts";
export { BatchPartsProcessor, type BatchPartsOptions } from "../processor/batch-parts.ts";
export { LanguageDetector, type LanguageDetectorOptions } from "../processor/language-detector.ts";
export { ModerationProcessor, type ModerationOptions } from "../processor/moderation.ts";
export { PIIDetector, type PIIDetectorOptions } from "../processor/pii-detector.ts";
export {
  PromptInjectionDetector,
  type PromptInjectionOptions,
} from "../processor/prompt-injection-detector.ts";
export {
  StructuredOutputProcessor,
  type StructuredOutputProcessorOptions,
} from "../processor/structured-output-processor.ts";
export {
  SystemPromptScrubber,
  type SystemPromptScrubberOptions,
} from "../processor/system-prompt-scrubber.ts";
export type { GuardOptions } from "../processor/guard-model.ts";
export { PrefillErrorHandler } from "../processor/prefill-error-handler.ts";
export { PrepareStepProcessor, type PrepareStepOptions } from "../processor/prepare-step-processor.ts";
export {
  ProviderHistoryCompat,
  type ProviderHistoryCompatOptions,
  type ProviderHistoryRule,
} from "../processor/provider-history-compat.ts";
export {
  RegexFilterProcessor,
  type RegexFilterOptions,
  type RegexFilterPreset,
  type RegexFilterRule,
} from "../processor/regex-filter.ts";
export {
  buildResponseCacheKey,
  DEFAULT_RESPONSE_CACHE_TTL_SECONDS,
  ResponseCache,
  type ResponseCacheContextOptions,
  type ResponseCacheKeyInput,
  type ResponseCacheOptions,
  type ResponseCacheStore,
} from "../processor/response-cache.ts";
export {
  InMemoryResponseCache,
  type InMemoryResponseCacheOptions,
} from "../processor/in-memory-response-cache.ts";
export { StoredResponseCache } from "../processor/stored-response-cache.ts";
export {
  type StreamErrorMatcher,
  StreamErrorRetryProcessor,
  type StreamErrorRetryOptions,
} from "../processor/stream-error-retry.ts";
export type { ProcessorViolation } from "../processor/violation.ts";
export { SecretRedactor, type SecretRedactorOptions } from "../processor/secret-redactor.ts";
export {
  type CostQuery,
  type CostReport,
  TokenCostControl,
  TokenCostControl as CostGuardProcessor,
  type TokenCostControlOptions,
  type TokenPrice,
} from "../processor/token-cost-control.ts";
export {
  TokenLimiter,
  TokenLimiter as TokenLimiterProcessor,
  type TokenLimiterOptions,
} from "../processor/token-limiter.ts";
export { ToolCallFilter, type ToolCallFilterOptions } from "../processor/tool-call-filter.ts";
export {
  type ToolSearchFilterArgs,
  type ToolSearchOptions,
  ToolSearchProcessor,
} from "../processor/tool-search.ts";
export { TrailingAssistantGuard } from "../processor/trailing-assistant-guard.ts";
export { UnicodeNormalizer, type UnicodeNormalizerOptions } from "../processor/unicode-normalizer.ts";

// With a workspace
export { SkillsProcessor, type SkillsProcessorOptions } from "../workspace/skills/skills-processor.ts";
export {
  SkillSearchProcessor,
  type SkillSearchProcessorOptions,
} from "../workspace/skills/skill-search-processor.ts";
export {
  WorkspaceInstructionsProcessor,
  type WorkspaceInstructionsProcessorOptions,
} from "../workspace/workspace-instructions-processor.ts";
