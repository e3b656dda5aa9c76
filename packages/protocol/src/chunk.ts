import type { ProviderMetadata } from "./json.ts";
import type { StoredMessage } from "./message.ts";
import type { FinishReason, Usage } from "./usage.ts";

export type ChunkFrom = "AGENT" | "USER" | "SYSTEM" | "WORKFLOW" | "NETWORK";

export interface StepSummary {
  text: string;
  toolCalls: ToolCallPayload[];
  usage: Usage;
}

export interface ToolCallPayload {
  toolCallId: string;
  toolName: string;
  args: unknown;
  providerExecuted?: boolean;
  dynamic?: boolean;
  providerMetadata?: ProviderMetadata;
}

export interface ToolResultPayload {
  toolCallId: string;
  toolName: string;
  args?: unknown;
  result: unknown;
  isError?: boolean;
  providerExecuted?: boolean;
  providerMetadata?: ProviderMetadata;
}

/** The `payload` of each chunk type. The keys are the chunk types of a run. */
export interface ChunkPayloads {
  start: Record<string, never>;
  /** `messageId`: the message that the step is stored in. */
  "step-start": { messageId: string; model?: string; request?: unknown; warnings?: unknown[] };
  "response-metadata": { id?: string; modelId?: string; timestamp?: Date };
  "text-start": { id: string; providerMetadata?: ProviderMetadata };
  "text-delta": { id: string; text: string; providerMetadata?: ProviderMetadata };
  "text-end": { id: string; providerMetadata?: ProviderMetadata };
  "reasoning-start": { id: string; signature?: string; providerMetadata?: ProviderMetadata };
  "reasoning-delta": { id: string; text: string; providerMetadata?: ProviderMetadata };
  "reasoning-end": { id: string; signature?: string; providerMetadata?: ProviderMetadata };
  "reasoning-signature": { id: string; signature: string };
  "redacted-reasoning": { id: string; data: unknown };
  source: {
    id: string;
    sourceType: "url" | "document";
    title?: string;
    url?: string;
    mimeType?: string;
    filename?: string;
    providerMetadata?: ProviderMetadata;
  };
  file: {
    data: string;
    base64?: string;
    mimeType: string;
    filename?: string;
    /** Created while the model was reasoning. */
    reasoning?: boolean;
    providerMetadata?: ProviderMetadata;
  };
  "tool-call-input-streaming-start": {
    toolCallId: string;
    toolName: string;
    providerExecuted?: boolean;
    dynamic?: boolean;
  };
  "tool-call-delta": { toolCallId: string; argsTextDelta: string; toolName?: string };
  "tool-call-input-streaming-end": { toolCallId: string };
  "tool-call": ToolCallPayload;
  "tool-call-approval": {
    toolCallId: string;
    toolName: string;
    args: unknown;
    resumeSchema: string;
    reason?: string;
  };
  "tool-call-decided": { toolCallId: string; toolName: string; approved: boolean; reason?: string };
  "tool-call-suspended": {
    toolCallId: string;
    toolName: string;
    args: unknown;
    suspendPayload: unknown;
    resumeSchema: string;
  };
  "tool-output": { toolCallId: string; toolName?: string; output: unknown };
  "tool-result": ToolResultPayload;
  "tool-error": {
    toolCallId: string;
    toolName: string;
    args?: unknown;
    error: unknown;
    providerExecuted?: boolean;
  };
  "tool-output-denied": {
    toolCallId: string;
    toolName: string;
    args?: unknown;
    approval: { id: string; approved: false; reason?: string };
  };
  "step-finish": {
    stepResult: { reason: FinishReason; isContinued?: boolean; warnings?: unknown[] };
    output: StepSummary;
    metadata: Record<string, unknown>;
    messages?: { all: StoredMessage[]; user: StoredMessage[]; nonUser: StoredMessage[] };
  };
  finish: {
    stepResult: { reason: FinishReason };
    output: { usage: Usage };
    metadata: Record<string, unknown>;
    messages: { all: StoredMessage[]; user: StoredMessage[]; nonUser: StoredMessage[] };
  };
  error: { error: unknown };
  abort: Record<string, never>;
  raw: unknown;
  tripwire: { reason: string; retry?: boolean; metadata?: unknown; processorId?: string };
}

interface ChunkBase {
  runId: string;
  from: ChunkFrom;
  metadata?: Record<string, unknown>;
}

export type PayloadChunk<Type extends keyof ChunkPayloads = keyof ChunkPayloads> = {
  [T in Type]: ChunkBase & { type: T; payload: ChunkPayloads[T] };
}[Type];

/** An app-defined event. `transient` ones are shown and never stored. */
export interface DataChunk extends ChunkBase {
  type: `data-${string}`;
  id?: string;
  data: unknown;
  transient?: boolean;
}

/** A structured answer so far (`object`), or whole (`object-result`). */
export interface ObjectChunk extends ChunkBase {
  type: "object" | "object-result";
  object: unknown;
}

/** One event on a run's stream. */
export type AgentChunk = PayloadChunk | DataChunk | ObjectChunk;
export type ChunkType = AgentChunk["type"];
