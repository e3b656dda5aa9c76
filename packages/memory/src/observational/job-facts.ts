import type { OmAddress, OmJobRow } from "@selvedge/core/storage";
import type { OmUsage } from "./om-options.ts";

export function addUsage(
  usage: unknown,
  role: string,
  answer: { usage: OmUsage } | undefined,
): Record<string, number> {
  const before = ((usage ?? {}) as Record<string, Record<string, number>>)[role] ?? {};
  const { inputTokens = 0, outputTokens = 0, totalTokens = 0 } = answer?.usage ?? {};
  return {
    inputTokens: (before["inputTokens"] ?? 0) + inputTokens,
    outputTokens: (before["outputTokens"] ?? 0) + outputTokens,
    totalTokens: (before["totalTokens"] ?? 0) + totalTokens,
  };
}

export function addressOf(job: OmJobRow): OmAddress {
  const scope = job.thread_id === job.source ? "thread" : "resource";
  return { scope, threadId: job.source, resourceId: job.source_resource };
}
