// The client
export { MastraClient, type ClientDynamicWorkflow, type ClientTool } from "./mastra-client.ts";
export type { ClientOptions, Headers } from "./client-options.ts";
export type { CallArguments, CallInput, CallResult } from "./call.ts";
export type { Connection } from "./connection.ts";

// Agents and their streams
export type {
  AnswerOptions,
  ClientAgent,
  DeclineOptions,
  GenerateOptions,
  Messages,
  SendMessageOptions,
  SendSignalOptions,
  SendStateOptions,
  SubscribeOptions,
  ToolApprovalOptions,
} from "./client-agent.ts";
export type { ProcessOptions, ReconnectOptions, WireChunk } from "./chunk-stream.ts";
export type { RunStream, RunStreamOptions } from "./run-stream.ts";
export type { SubscriptionOptions, ThreadSubscription } from "./thread-subscription.ts";

// Controllers and their sessions
export type { ClientController } from "./client-controller.ts";
export type { ClientSession, QueuedFollowUp, SessionAck, SessionSend } from "./client-session.ts";
export type { SessionOptions } from "./session-line.ts";

// Workflows and their runs
export type { ClientWorkflow } from "./client-workflow.ts";
export type {
  ClientWorkflowRun,
  RestartWorkflowOptions,
  ResumeWorkflowOptions,
  StartWorkflowOptions,
  TimeTravelOptions,
} from "./client-workflow-run.ts";
export type { WorkflowStream, WorkflowStreamOptions } from "./workflow-stream.ts";

// Tools that run here
export {
  type ClientToolCall,
  createTool,
  type LocalTool,
  type LocalTools,
  type StandardSchema,
} from "./client-tools.ts";

// Memory and vectors
export type { ClientVector } from "./client-vector.ts";
export type { MemoryThread } from "./memory-thread.ts";

// Workspaces
export type { ClientSkill, ClientWorkspace } from "./client-workspace.ts";

// Ids, for messages that are shown before they are accepted
export { newId } from "./new-id.ts";

// Errors
export { AgentError, type ErrorCode } from "@selvedge/protocol";
export { errorFromWire } from "./wire-error.ts";
