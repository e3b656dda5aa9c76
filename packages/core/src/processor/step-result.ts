import type {
  ChunkPayloads,
  FinishReason,
  MessagePart,
  ProviderMetadata,
  ToolCallPayload,
  ToolResultPayload,
  Usage,
} from "@selvedge/protocol";

/** A tool call for callers: its fields, repeated under `payload` as on the stream. */
export type ToolCallView = ToolCallPayload & { type: "tool-call"; payload: ToolCallPayload };
export type ToolResultView = ToolResultPayload & { type: "tool-result"; payload: ToolResultPayload };

/** A finished model call with the tool calls it requested. */
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
