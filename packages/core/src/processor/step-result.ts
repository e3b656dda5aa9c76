import type {
  ChunkPayloads,
  FinishReason,
  MessagePart,
  ProviderMetadata,
  ToolCallPayload,
  ToolResultPayload,
  Usage,
} from "@selvedge/protocol";

/** A tool call as callers see it: its fields, and the same fields once more under `payload`, as on the stream. */
export type ToolCallView = ToolCallPayload & { payload: ToolCallPayload };
export type ToolResultView = ToolResultPayload & { payload: ToolResultPayload };

/** One model call and the tool calls it asked for, when it is over. */
export interface StepResult {
  stepNumber: number;
  text: string;
  reasoning: { text: string; providerMetadata?: ProviderMetadata }[];
  reasoningText: string | undefined;
  files: ChunkPayloads["file"][];
  sources: ChunkPayloads["source"][];
  toolCalls: ToolCallView[];
  toolResults: ToolResultView[];
  finishReason: FinishReason;
  usage: Usage;
  warnings: unknown[];
  request: { body?: unknown };
  response: { id?: string; modelId?: string; timestamp?: Date; headers?: Record<string, string> };
  providerMetadata: ProviderMetadata | undefined;
  /** What the step wrote, in stored form. */
  content: MessagePart[];
}
