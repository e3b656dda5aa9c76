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

export { type ChunkKind, type ChunkOf, ignoreChunk, isDataChunk, isMemoryChunk } from "./chunk-kind.ts";

// Answers, from chunks
export {
  type Answer,
  answerFrom,
  callOf,
  type Changed,
  dropPartialCalls,
  dropStep,
  foldChunk,
  openCalls,
  type Question,
} from "./fold-chunk.ts";
export { LiveAnswer } from "./live-answer.ts";

// Workflows
export { foldWorkflow, type StepProgress, type WorkflowProgress } from "./fold-workflow.ts";
export { WORKFLOW_RUN_STATUSES } from "./workflow.ts";
export type {
  NumberedWorkflowChunk,
  SerializedStep,
  SerializedStepEntry,
  SerializedStepGraph,
  WorkflowChunk,
  WorkflowChunkPayloads,
  WorkflowResumeLabel,
  WorkflowRunRecord,
  WorkflowRunSnapshot,
  WorkflowRunStatus,
  WorkflowState,
  WorkflowStepResult,
  WorkflowStepStatus,
  WorkflowTripwire,
  WorkflowUsage,
} from "./workflow.ts";

// Messages and threads
export { MESSAGE_ROLES } from "./message.ts";
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

// Signals
export { SIGNAL_TYPES, type SignalType } from "./signal-type.ts";

// Notifications
export {
  NOTIFICATION_STATUSES,
  type NotificationPriority,
  type NotificationRecord,
  type NotificationStatus,
} from "./notification.ts";

// Tools
export { toUiSource } from "./ui-source.ts";
export { TOOL_CALL_NAMES, toolArgument, type ToolArgument } from "./tool-argument.ts";

// Values
export { backoff } from "./backoff.ts";
export { type DiffLine, diffLines } from "./diff-lines.ts";
export { isObject } from "./is-object.ts";
export type { JSONValue, ProviderMetadata } from "./json.ts";
export type { FinishReason, Usage } from "./usage.ts";

// Errors
export { AgentError } from "./agent-error.ts";
export { ERROR_CODES, type ErrorCode, UNEXPECTED_CODES } from "./error-codes.ts";
export { errorMessage, showValue, toolErrorCode } from "./error-message.ts";
export { isHiddenFailure, toolFailed } from "./hidden-failure.ts";
export {
  type AgentSchedule,
  type AgentScheduleTarget,
  type Schedule,
  SCHEDULE_OUTCOMES,
  SCHEDULE_STATUSES,
  type ScheduleOutcome,
  type ScheduleStatus,
  type ScheduleTrigger,
  type ScheduleTriggerKind,
  type WorkflowSchedule,
  type WorkflowScheduleTarget,
} from "./schedule.ts";
