export { Agent } from "../agent/agent.ts";
export type {
  AgentConfig,
  AgentGenerateOptions,
  AgentStreamOptions,
  EditorConfig,
} from "../agent/agent-config.ts";
export { DEFAULT_RUN_LIMITS } from "../agent/prepare-run.ts";
export type { DynamicArgument, DynamicContext } from "../agent/dynamic.ts";
export type { SubagentInput, SubagentOutput } from "../agent/subagent-tool.ts";

// Threads
export type { AnswerCallOptions } from "../agent/agent.ts";
export type { ToolApprovalOptions } from "../agent/thread-approvals.ts";
export type { SendOptions, SendResult, SendStateResult, SendToThreadOptions } from "../agent/send-options.ts";
export type { ThreadsConfig } from "../agent/agent-runs.ts";
export {
  CreatedAgentSignal,
  type MessageInput,
  type SignalAttributes,
  type SignalContents,
  type SignalInput,
} from "../signal/signal.ts";
export type { SignalType } from "../message/signal-record.ts";
export type { StateSignalInput } from "../signal/lane.ts";
export type { NumberedChunk } from "../thread/log/event-log.ts";
export type { ListSuspendedRunsOptions, SuspendedRun } from "../thread/inspect/list-suspended-runs.ts";
export type { Admitted } from "../thread/admit/admission.ts";
export type { AgentThreadSubscription } from "../thread/log/subscription.ts";
export { DEFAULT_THREAD_LIMITS, type ThreadLimits } from "../thread/hold/local-threads.ts";

// Runs
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
export { MessageList } from "../message/message-list.ts";
export type { FilePart, MessageLike, MessagesInput, TextPart } from "../message/message-input.ts";
export type { Instructions, SystemMessage } from "../message/system-message.ts";
export type {
  AgentChunk,
  AgentChunk as AgentChunkType,
  StoredMessage,
  StoredMessage as MastraDBMessage,
} from "@selvedge/protocol";
