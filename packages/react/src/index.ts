export type { Approval } from "./approval.ts";
// Hooks
export { useAgentController } from "./use-agent-controller.ts";
export type { UseAgentControllerOptions, UseAgentControllerResult } from "./use-agent-controller.ts";
export { useChat } from "./use-chat.ts";
export type { ChatMessageInput, ToolCallStatus, UseChatOptions, UseChatResult } from "./use-chat.ts";
export { useThread } from "./use-thread.ts";
export type { UseThreadOptions, UseThreadResult } from "./use-thread.ts";
export { useWorkflowRun } from "./use-workflow-run.ts";
export type { UseWorkflowRunOptions, UseWorkflowRunResult } from "./use-workflow-run.ts";
export {
  MastraReactProvider,
  type MastraReactProviderProps,
  useMastraClient,
} from "./mastra-react-provider.ts";

// A session, without React
export {
  type SentMessage,
  SessionStore,
  type SessionSnapshot,
  type SessionStoreOptions,
} from "./session-store.ts";

// A workflow run, without React
export {
  type SuspendedStep,
  WorkflowRunStore,
  type WorkflowRunStoreOptions,
  type WorkflowRunView,
} from "./workflow-run-store.ts";

// A live thread, without React
export { ThreadStore } from "./thread-store.ts";
export type { ThreadStoreOptions } from "./thread-door.ts";
export type { ThreadSnapshot } from "./thread-model.ts";
export type { SendOptions } from "./thread-sender.ts";
export { fromStored, type MessageState, type ThreadMessage } from "./thread-message.ts";
