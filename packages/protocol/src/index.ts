// Chunks
export type {
  AgentChunk,
  ChunkFrom,
  ChunkPayloads,
  ChunkType,
  DataChunk,
  ObjectChunk,
  PayloadChunk,
  StepSummary,
  ToolCallPayload,
  ToolResultPayload,
} from "./chunk.ts";

// Messages and threads
export type {
  CustomMessagePart,
  DataMessagePart,
  FileMessagePart,
  MessageContent,
  MessagePart,
  MessageRole,
  ReasoningMessagePart,
  SourceMessagePart,
  StepStartPart,
  StoredMessage,
  StoredThread,
  TextMessagePart,
  ToolInvocation,
  ToolInvocationPart,
  ToolInvocationState,
} from "./message.ts";

// Notifications
export type { NotificationPriority, NotificationRecord, NotificationStatus } from "./notification.ts";

// Tools
export { TOOL_CALL_NAMES, toolArgument, type ToolArgument } from "./tool-argument.ts";

// Values
export { isObject } from "./is-object.ts";
export type { JSONValue, ProviderMetadata } from "./json.ts";
export type { FinishReason, Usage } from "./usage.ts";

// Errors
export { AgentError } from "./agent-error.ts";
export { ERROR_CODES, type ErrorCode, UNEXPECTED_CODES } from "./error-codes.ts";
export { isHiddenFailure, toolFailed } from "./hidden-failure.ts";
