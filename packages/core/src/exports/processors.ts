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
  StateSignal,
  StateTracking,
  StepOverrides,
} from "../processor/processor.ts";

// Ready to use
export { AgentsMdReminder, type AgentsMdReminderOptions } from "../processor/agents-md-reminder.ts";
export { SecretRedactor, type SecretRedactorOptions } from "../processor/secret-redactor.ts";
export {
  TokenLimiter,
  TokenLimiter as TokenLimiterProcessor,
  type TokenLimiterOptions,
} from "../processor/token-limiter.ts";
export { UnicodeNormalizer, type UnicodeNormalizerOptions } from "../processor/unicode-normalizer.ts";
