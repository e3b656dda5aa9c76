// Agents and workflows in the AI SDK's UI message stream.
export { chatRoute, type ChatRouteOptions } from "./ui/chat-route.ts";
export { type ChatStreamOptions, type ChatStreamParams, handleChatStream } from "./ui/handle-chat-stream.ts";
export { toUiStream, type UiStreamOptions } from "./ui/to-ui-stream.ts";
export {
  handleWorkflowStream,
  type WorkflowStreamOptions,
  type WorkflowStreamParams,
} from "./ui/handle-workflow-stream.ts";
export { workflowRoute, type WorkflowRouteOptions } from "./ui/workflow-route.ts";
export { toWorkflowUiStream } from "./ui/to-workflow-ui-stream.ts";
export type { UiChunk } from "./ui/ui-chunks.ts";
export type { WorkflowPart, WorkflowStepPart } from "./ui/workflow-ui.ts";
