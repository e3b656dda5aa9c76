import type { StoredThread } from "../message.ts";
import type { AgentControllerMessage, SignalContent } from "./controller-message.ts";
import type { AgentControllerDisplayState } from "./display-state.ts";
import type { ModifiedFiles } from "./modified-files.ts";
import type { TaskItemSnapshot } from "./task-item.ts";
import type { TokenUsage } from "./token-usage.ts";

export type AgentControllerThread = StoredThread;

interface OfCall {
  toolCallId: string;
}
interface OfSubagent extends OfCall {
  agentType: string;
}
interface OfCycle {
  cycleId?: string;
  [field: string]: unknown;
}
type OMPhase = "observation" | "reflection" | "buffering";

/** What the events carry, by type. */
interface Payloads {
  mode_changed: { modeId: string; previousModeId: string };
  model_changed: { modelId: string; scope?: "thread" | "global"; modeId?: string };
  thread_changed: { threadId: string; previousThreadId: string | null };
  thread_created: { thread: AgentControllerThread };
  thread_deleted: { threadId: string };
  state_changed: { state: Record<string, unknown>; changedKeys: string[] };
  agent_start: { runId: string };
  agent_end: { runId: string; reason: "complete" | "aborted" | "error" | "suspended" };
  message_start: { message: AgentControllerMessage };
  message_update: { message: AgentControllerMessage };
  message_end: { message: AgentControllerMessage };
  tool_start: OfCall & { toolName: string; args: unknown };
  /** `reason` says which rule asks; `parentToolCallId` is there when a subagent asks. */
  tool_approval_required: OfCall & {
    toolName: string;
    args: unknown;
    reason?: string;
    parentToolCallId?: string;
  };
  tool_suspended: OfCall & {
    toolName: string;
    args: unknown;
    suspendPayload: unknown;
    resumeSchema?: string;
    parentToolCallId?: string;
  };
  /** A call that waited was answered, here or elsewhere. */
  tool_decided: OfCall & { toolName: string; approved: boolean; reason?: string };
  tool_update: OfCall & { partialResult: unknown };
  tool_end: OfCall & { result: unknown; isError: boolean };
  tool_input_start: OfCall & { toolName: string };
  tool_input_delta: OfCall & { argsTextDelta: string; toolName?: string };
  tool_input_end: OfCall;
  usage_update: { usage: TokenUsage };
  error: { error: Error; errorType?: string; retryable?: boolean };
  info: { message: string };
  system_reminder: Omit<Extract<SignalContent, { type: "system_reminder" }>, "type">;
  state_signal: Omit<Extract<SignalContent, { type: "state_signal" }>, "type">;
  reactive_signal: Omit<Extract<SignalContent, { type: "reactive_signal" }>, "type">;
  notification: Omit<Extract<SignalContent, { type: "notification" }>, "type">;
  notification_summary: Omit<Extract<SignalContent, { type: "notification_summary" }>, "type">;
  follow_up_queued: { count: number; runId?: string };
  workspace_status_changed: { status: string; error?: Error };
  workspace_ready: { workspaceId: string; workspaceName: string };
  workspace_error: { error: Error };
  om_status: OfCycle;
  om_activation: OfCycle;
  om_model_changed: { role: "observer" | "reflector"; modelId: string };
  om_thread_title_updated: OfCycle & { threadId?: string; oldTitle?: string; newTitle?: string };
  subagent_start: OfSubagent & { task: string; modelId: string; forked?: boolean };
  subagent_text_delta: OfSubagent & { textDelta: string };
  subagent_tool_start: OfSubagent & { subToolName: string; subToolArgs: unknown };
  subagent_tool_end: OfSubagent & { subToolName: string; subToolResult: unknown; isError: boolean };
  subagent_end: OfSubagent & { result: string; isError: boolean; durationMs: number };
  subagent_model_changed: { modelId: string; scope: "thread" | "global"; agentType?: string };
  task_updated: { tasks: TaskItemSnapshot[] };
  /** Tools changed files: these are as they are now, with what was done to them before. */
  files_modified: { files: ModifiedFiles };
  goal_evaluation: { payload: unknown };
  shell_output: OfCall & { output: string; stream: "stdout" | "stderr" };
  display_state_changed: { readonly displayState: AgentControllerDisplayState };
  // The raw pieces of messages: each carries what is new.
  text: { messageId: string; text: string };
  thinking: { messageId: string; thinking: string };
  tool_call: { messageId: string; id: string; name: string; args: unknown };
  tool_result: { messageId: string; id: string; name: string; result: unknown; isError: boolean };
  image: { messageId: string; data: string; mimeType: string };
  file: { messageId: string; data: string; mediaType: string; filename?: string };
}

type OMEvents = { [Name in `om_${OMPhase}_${"start" | "end" | "failed"}`]: OfCycle };
type AllPayloads = Payloads & OMEvents;

export type AgentControllerEventType = keyof AllPayloads;

/** Something that happened in a session. */
export type AgentControllerEvent = {
  [Type in AgentControllerEventType]: { type: Type } & AllPayloads[Type];
}[AgentControllerEventType];

export type EventOf<Type extends AgentControllerEventType> = { type: Type } & AllPayloads[Type];

export type AgentControllerEventListener = (event: AgentControllerEvent) => void | Promise<void>;

/** Events that come in large numbers: the display follows them a little later, and once for several. */
export const FREQUENT: ReadonlySet<AgentControllerEventType> = new Set<AgentControllerEventType>([
  "message_update",
  "tool_update",
  "tool_input_delta",
  "subagent_text_delta",
  "shell_output",
  "text",
  "thinking",
  "tool_call",
  "tool_result",
  "image",
  "file",
]);
