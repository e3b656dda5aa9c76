export { AgentController } from "../agent-controller/agent-controller.ts";
export type { ObservationalMemoryRecord } from "../storage/om-record.ts";
export { Session } from "../agent-controller/session.ts";
export type { SessionMessage } from "../agent-controller/session.ts";
export type { Answered, ApprovalResponse, SuspensionResponse } from "../agent-controller/session-answers.ts";
export type { SessionContents, SignalDelivery } from "../agent-controller/session-sends.ts";
export type {
  AgentControllerBrowser,
  AgentControllerConfig,
  AgentControllerMode,
  AgentControllerOMConfig,
  AgentControllerSubagent,
  AgentControllerWorkspace,
  BuiltinToolId,
  CreateSessionOptions,
  CustomModelCatalogProvider,
  ModelAuthChecker,
  ModelUseCountProvider,
  ModelUseCountTracker,
  ThreadLock,
} from "../agent-controller/config.ts";
export { createEmptyTokenUsage, defaultDisplayState, defaultOMProgress } from "@selvedge/protocol/session";
export type {
  AgentControllerDisplayState,
  AgentControllerEvent,
  AgentControllerEventListener,
  AgentControllerEventType,
  AgentControllerMessage,
  AgentControllerMessageContent,
  AgentControllerThread,
  OMProgressState,
  TaskItemSnapshot,
  TokenUsage,
} from "@selvedge/protocol/session";
export { toContents } from "../agent-controller/file-content.ts";
export type { AgentControllerFile } from "../agent-controller/file-content.ts";
export type { QueuedFollowUp } from "../agent-controller/follow-ups.ts";
export type { HeartbeatHandler } from "../agent-controller/heartbeats.ts";
export type { AvailableModel, ModelAuthStatus, ModelGateway } from "../agent-controller/models.ts";
export type {
  PermissionGrants,
  PermissionPolicy,
  PermissionRules,
  ToolCategory,
} from "../agent-controller/permission.ts";
export type { AgentControllerRequestContext } from "../agent-controller/request-context.ts";
export { assignTaskIds, summarizeTaskCheck } from "../agent-controller/task-list.ts";
export type { TaskCheckResult, TaskItem, TaskItemInput } from "../agent-controller/task-list.ts";
export { askUserTool } from "../agent-controller/tools/ask-user.ts";
export { createSubagentTool } from "../agent-controller/tools/subagent-tool.ts";
export type { SubagentHost } from "../agent-controller/tools/subagent-tool.ts";
export { submitPlanTool } from "../agent-controller/tools/submit-plan.ts";
export {
  taskCheckTool,
  taskCompleteTool,
  taskUpdateTool,
  taskWriteTool,
} from "../agent-controller/tools/task-tools.ts";

// For serving controllers
export { isControllerKey } from "../agent-controller/thread-settings.ts";
// For forwarding the stream of a session
export { waitingChunks } from "../agent-controller/thread-follower.ts";

// Session rows, for inspecting a store.
export { SESSION_DOMAIN, SessionDomain } from "../agent-controller/session-domain.ts";
export type { SessionAddress, SessionPatch, StoredSession } from "../agent-controller/session-domain.ts";
