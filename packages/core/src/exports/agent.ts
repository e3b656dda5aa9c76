export { Agent } from "../agent/agent.ts";
export type {
  AgentConfig,
  AgentGenerateOptions,
  AgentStreamOptions,
  EditorConfig,
  ThreadsConfig,
} from "../agent/agent-config.ts";
export { DEFAULT_RUN_LIMITS } from "../agent/resolve-run.ts";
export type { DynamicArgument, DynamicContext } from "../agent/dynamic.ts";
export type { SubagentInput, SubagentOutput } from "../agent/subagent-tool.ts";

// Threads
export type { AnswerCallOptions } from "../agent/agent-runs.ts";
export type { ToolApprovalOptions } from "../agent/send-tool-approval.ts";
export type { SendOptions, SendResult, SendStateResult, SendToThreadOptions } from "../agent/send-options.ts";
export {
  CreatedAgentSignal,
  type MessageInput,
  type SignalAttributes,
  type SignalContents,
  type SignalInput,
} from "../signal/signal.ts";
export type { SignalType } from "@selvedge/protocol";
export type { StateSignalInput } from "../signal/lane.ts";
export type { ListSuspendedRunsOptions, SuspendedRun } from "../thread/inspect/list-suspended-runs.ts";
export {
  type Admitted,
  type AgentThreadSubscription,
  DEFAULT_THREAD_LIMITS,
  type NumberedChunk,
  type ThreadLimits,
} from "../thread/threads.ts";

// Runs
export { Tripwire as TripWire } from "../processor/tripwire.ts";
export type {
  AgentExecutionOptions,
  FinishEvent,
  PreparedStep,
  PrepareStepArgs,
  RunLimits,
  RunMemory,
} from "../run/run-options.ts";
export type { ToolChoice } from "../tool/tool-limits.ts";
export type { StepResult, ToolCallView, ToolResultView } from "../processor/step-result.ts";
export { hasToolCall, stepCountIs, type StopCondition } from "../run/stop-when.ts";
export type { StructuredOutputOptions } from "../model/structured-output.ts";
export type { FullOutput, OutputObject, RunOutput, TripwireInfo } from "../stream/run-output.ts";
export type { TelemetrySettings } from "../telemetry/telemetry.ts";

// Messages and chunks
export { createSignal } from "../switching/create-signal.ts";
export { convertMessages } from "../switching/convert-messages.ts";
export { MessageList } from "../message/message-list.ts";
export type { FilePart, MessageLike, MessagesInput, TextPart } from "../message/message-input.ts";
export type { Instructions, SystemMessage } from "../message/system-message.ts";
export type {
  AgentChunk,
  AgentChunk as AgentChunkType,
  StoredMessage,
  StoredMessage as MastraDBMessage,
} from "@selvedge/protocol";
