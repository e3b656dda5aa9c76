import type { OmJobRow } from "@selvedge/core/storage";
import type { DataChunk } from "@selvedge/protocol";
import { omChunk, operationOf, pairOf, shownConfig } from "./om-chunks.ts";
import type { OmConfig } from "./om-config.ts";
import type { OmLimits } from "./om-limits.ts";

/** The chunk for the start of an attempt. */
export function startChunk(job: OmJobRow, config: OmConfig, limits: OmLimits): DataChunk {
  const pair = pairOf(job);
  return omChunk(`${pair}-start`, job.cycle_id!, {
    ...common(job),
    startedAt: iso(job.started_at!),
    [pair === "observation" ? "tokensToObserve" : "tokensToBuffer"]: job.tokens,
    threadIds: [job.source],
    config: shownConfig(config, limits),
  });
}

export interface JobOutcome {
  tokens: number;
  observationTokens: number;
  observations: string;
  currentTask?: string | undefined;
  suggestedResponse?: string | undefined;
  extractedValues?: Record<string, unknown> | undefined;
  extractionFailures?: { slug: string; error: string }[] | undefined;
}

/** The chunk for success. */
export function endChunk(job: OmJobRow, now: number, outcome: JobOutcome): DataChunk {
  const pair = pairOf(job);
  const { tokens, observationTokens, ...rest } = outcome;
  const sizes =
    pair === "observation"
      ? { tokensObserved: tokens, observationTokens }
      : { tokensBuffered: tokens, bufferedTokens: observationTokens };
  return omChunk(`${pair}-end`, job.cycle_id!, {
    ...common(job),
    completedAt: iso(now),
    durationMs: Math.max(0, now - job.started_at!),
    ...sizes,
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
  });
}

/** The chunk for failure. */
export function failedChunk(job: OmJobRow, now: number, error: string): DataChunk {
  return omChunk(`${pairOf(job)}-failed`, job.cycle_id!, {
    ...common(job),
    failedAt: iso(now),
    durationMs: Math.max(0, now - job.started_at!),
    tokensAttempted: job.tokens,
    error,
  });
}

export function titleChunk(job: OmJobRow, now: number, oldTitle: string | null, newTitle: string): DataChunk {
  return omChunk("thread-update", job.cycle_id!, {
    cycleId: job.cycle_id,
    threadId: job.source,
    ...(oldTitle !== null && { oldTitle }),
    newTitle,
    timestamp: iso(now),
  });
}

function common(job: OmJobRow): Record<string, unknown> {
  return {
    cycleId: job.cycle_id,
    operationType: operationOf(job),
    recordId: job.thread_id,
    threadId: job.source,
  };
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
