import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import type { Usage } from "@selvedge/protocol";
import { toJson } from "../json.ts";

export const NO_USAGE: Usage = { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined };

/** Converts a provider's report to our flat form. */
export function toUsage(usage: LanguageModelV4Usage | undefined): Usage {
  const input = usage?.inputTokens;
  const output = usage?.outputTokens;
  const flat: Usage = {
    inputTokens: input?.total,
    outputTokens: output?.total,
    totalTokens: sum(input?.total, output?.total),
  };
  if (output?.reasoning !== undefined) flat.reasoningTokens = output.reasoning;
  if (input?.cacheRead !== undefined) flat.cachedInputTokens = input.cacheRead;
  if (input?.cacheWrite !== undefined) flat.cacheCreationInputTokens = input.cacheWrite;
  if (usage?.raw !== undefined) flat.raw = toJson(usage.raw) as NonNullable<Usage["raw"]>;
  return flat;
}

/** Adds two reports. A number that neither reported stays undefined. */
export function addUsage(a: Usage, b: Usage): Usage {
  const total: Usage = {
    inputTokens: sum(a.inputTokens, b.inputTokens),
    outputTokens: sum(a.outputTokens, b.outputTokens),
    totalTokens: sum(a.totalTokens, b.totalTokens),
  };
  for (const key of ["reasoningTokens", "cachedInputTokens", "cacheCreationInputTokens"] as const) {
    const value = sum(a[key], b[key]);
    if (value !== undefined) total[key] = value;
  }
  return total;
}

function sum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
}
