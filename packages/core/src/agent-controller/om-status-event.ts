import type { AgentControllerEvent } from "@selvedge/protocol/session";
import type { MastraMemory } from "../memory/memory.ts";
import type { ObservationalMemoryRecord } from "../storage/om-record.ts";
import type { SessionOM } from "./session-om.ts";

const MESSAGE_TOKENS = 30_000;
const OBSERVATION_TOKENS = 40_000;

interface OwnThresholds {
  observation?: { messageTokens?: number };
  reflection?: { observationTokens?: number };
}

/** `om_status` from a record alone, as a run would tell it. */
export function omStatusEvent(
  record: ObservationalMemoryRecord | null,
  threadId: string | undefined,
  om: SessionOM,
  ofMemory: MastraMemory["omThresholds"],
): AgentControllerEvent {
  const own = (record?.config ?? {}) as OwnThresholds;
  const chunks = record?.bufferedObservationChunks ?? [];
  const sum = (of: (chunk: (typeof chunks)[number]) => number): number =>
    chunks.reduce((total, chunk) => total + of(chunk), 0);
  const status = (isRunning: boolean | undefined, isReady: boolean): string =>
    isRunning ? "running" : isReady ? "complete" : "idle";
  const messageTokens = sum((chunk) => chunk.messageTokens);
  return {
    type: "om_status",
    windows: {
      active: {
        messages: {
          tokens: record?.pendingMessageTokens ?? 0,
          threshold:
            own.observation?.messageTokens ??
            om.observer.threshold(ofMemory?.messageTokens) ??
            MESSAGE_TOKENS,
        },
        observations: {
          tokens: record?.observationTokenCount ?? 0,
          threshold:
            own.reflection?.observationTokens ??
            om.reflector.threshold(ofMemory?.observationTokens) ??
            OBSERVATION_TOKENS,
        },
      },
      buffered: {
        observations: {
          status: status(record?.isBufferingObservation, chunks.length > 0),
          chunks: chunks.length,
          messageTokens,
          projectedMessageRemoval: messageTokens,
          observationTokens: sum((chunk) => chunk.tokenCount),
        },
        reflection: {
          status: status(record?.isBufferingReflection, record?.bufferedReflection !== undefined),
          inputObservationTokens: record?.bufferedReflectionInputTokens ?? 0,
          observationTokens: record?.bufferedReflectionTokens ?? 0,
        },
      },
    },
    ...(record && { recordId: record.id }),
    ...(threadId !== undefined && { threadId }),
    stepNumber: 0,
    generationCount: record?.generationCount ?? 0,
  } as AgentControllerEvent;
}
