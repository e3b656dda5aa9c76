import type { ErrorCode } from "./error-codes.ts";
import type { JSONValue, ProviderMetadata } from "./json.ts";

export const MESSAGE_ROLES = ["user", "assistant", "system", "signal"] as const;
export type MessageRole = (typeof MESSAGE_ROLES)[number];

/** The stored form of any contribution to a thread ("format 2"). Parts are in stream order. */
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
  /** The flat text, if a writer of older messages supplied one. */
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
  /** What the model passed. Its shape is the tool's. */
  args: any;
  result?: any;
  isError?: boolean;
  /** For a failed call: the error's code, or `tool-failed` for the tool's own error. */
  errorCode?: ErrorCode;
  /** What the model sees instead of `result`, if the tool has a `toModelOutput`. */
  modelOutput?: unknown;
  approval?: { id: string; approved?: boolean; reason?: string };
  /** What a person sees instead of the raw payloads, if a transform applied. */
  transcript?: { args?: unknown; result?: unknown; suspendPayload?: unknown };
  providerExecuted?: boolean;
  /** Provider metadata about the result of a call the provider executed. */
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
  /**
   * References to the file at providers it was uploaded to. They take precedence over `data` if the model supports
   * them.
   */
  providerReference?: Record<string, string>;
  /** Created while the model was reasoning. */
  reasoning?: boolean;
}

/** Content that only its provider understands, in `providerMetadata`. */
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

/** Marks the start of a step; calls before it were answered before what follows was written. */
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
