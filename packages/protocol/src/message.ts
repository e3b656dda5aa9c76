import type { ErrorCode } from "./error-codes.ts";
import type { JSONValue, ProviderMetadata } from "./json.ts";

export const MESSAGE_ROLES = ["user", "assistant", "system", "signal"] as const;
export type MessageRole = (typeof MESSAGE_ROLES)[number];

/** The stored form of any contribution to a thread ("format 2"). Parts stand in the order they were streamed. */
export interface StoredMessage {
  id: string;
  role: MessageRole;
  createdAt: Date;
  threadId?: string;
  resourceId?: string;
  /** For signals, the tag the model sees. */
  type?: string;
  content: MessageContent;
}

export interface MessageContent {
  format: 2;
  parts: MessagePart[];
  metadata?: Record<string, unknown>;
  providerMetadata?: ProviderMetadata;
  /** The flat text, where a writer of older messages supplied one. */
  content?: string;
}

interface PartBase {
  providerMetadata?: ProviderMetadata;
  createdAt?: number;
}

export interface TextMessagePart extends PartBase {
  type: "text";
  text: string;
}

export interface ReasoningMessagePart extends PartBase {
  type: "reasoning";
  reasoning: string;
  details: ({ type: "text"; text: string; signature?: string } | { type: "redacted"; data: string })[];
}

export const TOOL_INVOCATION_STATES = [
  "partial-call",
  "call",
  "result",
  "approval-requested",
  "approval-responded",
  "output-error",
  "output-denied",
] as const;
export type ToolInvocationState = (typeof TOOL_INVOCATION_STATES)[number];

export interface ToolInvocation {
  state: ToolInvocationState;
  toolCallId: string;
  toolName: string;
  args: unknown;
  result?: unknown;
  isError?: boolean;
  /** Of a call that failed with an error: its code, or `tool-failed` for an error of the tool's own. */
  errorCode?: ErrorCode;
  /** What the model is shown in place of `result`, when the tool has a `toModelOutput`. */
  modelOutput?: unknown;
  approval?: { id: string; approved?: boolean; reason?: string };
  /** What a person is shown in place of the raw payloads, when a transform applied. */
  transcript?: { args?: unknown; result?: unknown; suspendPayload?: unknown };
  providerExecuted?: boolean;
  /** What the provider said about the result of a call that it executed. */
  resultProviderMetadata?: ProviderMetadata;
}

export interface ToolInvocationPart extends PartBase {
  type: "tool-invocation";
  toolInvocation: ToolInvocation;
}

export interface FileMessagePart extends PartBase {
  type: "file";
  /** Base64 data, a data URL or a URL. */
  data: string;
  mimeType: string;
  filename?: string;
  /** Names of the file at providers it was uploaded to. They win over `data` where a model knows them. */
  providerReference?: Record<string, string>;
  /** Made while the model was reasoning. */
  reasoning?: boolean;
}

/** Content that only its provider understands; `providerMetadata` has it. */
export interface CustomMessagePart extends PartBase {
  type: "custom";
  kind: `${string}.${string}`;
}

export interface SourceMessagePart extends PartBase {
  type: "source";
  source: {
    id: string;
    sourceType: "url" | "document";
    title?: string;
    url?: string;
    mimeType?: string;
    filename?: string;
  };
}

/** Marks where a step of the run begins; calls before it were answered before what follows was written. */
export interface StepStartPart extends PartBase {
  type: "step-start";
  model?: string;
}

export interface DataMessagePart extends PartBase {
  type: `data-${string}`;
  data: JSONValue | unknown;
}

export type MessagePart =
  | TextMessagePart
  | ReasoningMessagePart
  | ToolInvocationPart
  | FileMessagePart
  | SourceMessagePart
  | CustomMessagePart
  | StepStartPart
  | DataMessagePart;

/** A conversation. */
export interface StoredThread {
  id: string;
  resourceId: string;
  title?: string;
  metadata?: Record<string, unknown>;
  createdAt: Date;
  updatedAt: Date;
}
