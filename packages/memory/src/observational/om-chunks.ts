import type { OmChunkRow, OmJobRow, OmRecordRow } from "@selvedge/core/storage";
import type { DataChunk } from "@selvedge/protocol";
import type { OmConfig } from "./om-config.ts";
import type { OmLimits } from "./om-limits.ts";

export type OmOperation = "observation" | "reflection";

/** A `data-om-*` chunk. If no run is active, `cycleId` is its run id. */
export function omChunk(name: string, cycleId: string, data: Record<string, unknown>): DataChunk {
  return { type: `data-om-${name}`, runId: cycleId, from: "AGENT", data } as DataChunk;
}

/** The chunk types for start, end and failure of a job: a separate pair if a run waits for it. */
export function pairOf(job: Pick<OmJobRow, "waited">): "observation" | "buffering" {
  return job.waited === 1 ? "observation" : "buffering";
}

export function operationOf({ kind }: Pick<OmJobRow, "kind">): OmOperation {
  return kind === "reflect" ? "reflection" : "observation";
}

export function shownConfig(config: OmConfig, limits: OmLimits): Record<string, unknown> {
  const { activateAfterIdle } = config.observation;
  return {
    messageTokens: limits.messageTokens,
    observationTokens: limits.observationTokens,
    scope: config.scope,
    ...(activateAfterIdle !== undefined && { activateAfterIdle }),
  };
}

export interface OmStatusInput {
  record: OmRecordRow;
  part: OmRecordRow;
  buffered: readonly OmChunkRow[];
  reflection: OmChunkRow | undefined;
  jobs: readonly OmJobRow[];
  limits: OmLimits;
  threadId: string;
  stepNumber: number;
  /** Message tokens that the next activation would remove. */
  projected: number;
}

/** The data of `data-om-status`. */
export function omStatus(input: OmStatusInput): Record<string, unknown> {
  const { record, part, buffered, reflection, jobs, limits, threadId, stepNumber } = input;
  const sum = (of: (chunk: OmChunkRow) => number): number =>
    buffered.reduce((total, chunk) => total + of(chunk), 0);
  const status = (kind: OmJobRow["kind"], isReady: boolean): string =>
    jobs.some((job) => job.kind === kind && job.state === "running")
      ? "running"
      : isReady
        ? "complete"
        : "idle";
  return {
    windows: {
      active: {
        messages: { tokens: part.pending_tokens, threshold: limits.messageTokens },
        observations: { tokens: record.log_tokens, threshold: limits.observationTokens },
      },
      buffered: {
        observations: {
          status: status("observe", buffered.length > 0),
          chunks: buffered.length,
          messageTokens: sum((chunk) => chunk.message_tokens),
          projectedMessageRemoval: input.projected,
          observationTokens: sum((chunk) => chunk.tokens),
        },
        reflection: {
          status: status("reflect", reflection !== undefined),
          inputObservationTokens: reflection?.input_tokens ?? 0,
          observationTokens: reflection?.tokens ?? 0,
        },
      },
    },
    recordId: record.id,
    threadId,
    stepNumber,
    generationCount: record.generation,
  };
}
