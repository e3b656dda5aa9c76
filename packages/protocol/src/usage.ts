/** Tokens of one model call, or the sum over several. */
export interface Usage {
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  totalTokens: number | undefined;
  reasoningTokens?: number | undefined;
  cachedInputTokens?: number | undefined;
  cacheCreationInputTokens?: number | undefined;
  /** The provider's own report, unchanged. */
  raw?: unknown;
}

export const FINISH_REASONS = [
  "stop",
  "length",
  "tool-calls",
  "content-filter",
  "error",
  "other",
  "unknown",
  "tripwire",
  "retry",
  "suspended",
  "aborted",
] as const;
export type FinishReason = (typeof FINISH_REASONS)[number];
