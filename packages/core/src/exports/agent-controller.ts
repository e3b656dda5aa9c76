export { AgentController } from "../agent-controller/agent-controller.ts";
export type {
  CreateSessionOptions,
  ObservationalMemoryRecord,
} from "../agent-controller/agent-controller.ts";
export { Session } from "../agent-controller/session.ts";
export type {
  ApprovalResponse,
  SessionMessage,
  SignalDelivery,
  SuspensionResponse,
} from "../agent-controller/session.ts";
export type {
  AgentControllerBrowser,
  AgentControllerConfig,
  AgentControllerMode,
  AgentControllerOMConfig,
  AgentControllerSubagent,
  AgentControllerWorkspace,
  BuiltinToolId,
  CustomModelCatalogProvider,
  ModelAuthChecker,
  ModelUseCountProvider,
  ModelUseCountTracker,
  ThreadLock,
} from "../agent-controller/config.ts";
export type {
  AgentControllerEvent,
  AgentControllerEventListener,
  AgentControllerEventType,
  AgentControllerThread,
} from "../agent-controller/events.ts";
export type {
  AgentControllerMessage,
  AgentControllerMessageContent,
} from "../agent-controller/controller-message.ts";
export { defaultDisplayState, defaultOMProgress } from "../agent-controller/display-state.ts";
export type { AgentControllerDisplayState, OMProgressState } from "../agent-controller/display-state.ts";
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
export { createEmptyTokenUsage } from "../agent-controller/token-usage.ts";
export type { TokenUsage } from "../agent-controller/token-usage.ts";
export { assignTaskIds, summarizeTaskCheck } from "../agent-controller/task-list.ts";
export type {
  TaskCheckResult,
  TaskItem,
  TaskItemInput,
  TaskItemSnapshot,
} from "../agent-controller/task-list.ts";
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

// The rows of sessions, for those who look into a store.
export { SESSION_DOMAIN, SessionDomain } from "../agent-controller/session-domain.ts";
export type { SessionAddress, SessionPatch, StoredSession } from "../agent-controller/session-domain.ts";
