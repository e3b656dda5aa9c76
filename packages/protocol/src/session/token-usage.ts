import type { Usage } from "../usage.ts";

/** Tokens of a thread, or of one step. */
export interface TokenUsage {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  reasoningTokens?: number;
  cachedInputTokens?: number;
  cacheCreationInputTokens?: number;
  /** The provider's own last report. */
  raw?: unknown;
}

const OPTIONAL = ["reasoningTokens", "cachedInputTokens", "cacheCreationInputTokens"] as const;

export function createEmptyTokenUsage(): TokenUsage {
  return { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
}

type Report = { [Key in keyof (Usage & TokenUsage)]?: (Usage & TokenUsage)[Key] | undefined };

/** A report in either spelling. */
export function toTokenUsage(report: Report | undefined): TokenUsage {
  const promptTokens = report?.inputTokens ?? report?.promptTokens ?? 0;
  const completionTokens = report?.outputTokens ?? report?.completionTokens ?? 0;
  const usage: TokenUsage = {
    promptTokens,
    completionTokens,
    totalTokens: report?.totalTokens ?? promptTokens + completionTokens,
  };
  for (const key of OPTIONAL) if (typeof report?.[key] === "number") usage[key] = report[key];
  if (report?.raw !== undefined) usage.raw = report.raw;
  return usage;
}

export function addTokenUsage(total: TokenUsage, step: TokenUsage): TokenUsage {
  const sum: TokenUsage = {
    promptTokens: total.promptTokens + step.promptTokens,
    completionTokens: total.completionTokens + step.completionTokens,
    totalTokens: total.totalTokens + step.totalTokens,
  };
  for (const key of OPTIONAL)
    if (total[key] !== undefined || step[key] !== undefined) sum[key] = (total[key] ?? 0) + (step[key] ?? 0);
  const raw = step.raw ?? total.raw;
  if (raw !== undefined) sum.raw = raw;
  return sum;
}
