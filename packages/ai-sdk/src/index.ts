import type { AgentExecutionOptions } from "@selvedge/core/agent";
import type { Mastra } from "@selvedge/core/mastra";
import type { ApiRoute } from "@selvedge/core/server";
import * as served from "@selvedge/server/ai-sdk";
import type { SendOptions } from "./to-ai-sdk-stream.ts";

/*
 * The names and types that programs for this API use. A stream of parts is `ReadableStream<any>`, because it must fit
 * `createUIMessageStreamResponse` and `writer.merge` of every generation of the AI SDK.
 */

export type ChatStreamHandlerParams = AgentExecutionOptions & {
  messages: any[];
  resumeData?: Record<string, any>;
  trigger?: "submit-message" | "regenerate-message";
};

export interface ChatStreamHandlerOptions extends SendOptions {
  mastra: Mastra<any, any, any, any>;
  agentId: string;
  params: ChatStreamHandlerParams;
  defaultOptions?: AgentExecutionOptions;
}

/** Answers a chat with a UI message stream, for `createUIMessageStreamResponse`. */
export async function handleChatStream(options: ChatStreamHandlerOptions): Promise<ReadableStream<any>> {
  const { version: _, ...rest } = options;
  return served.handleChatStream(rest as never);
}

export type chatRouteOptions = SendOptions & {
  defaultOptions?: AgentExecutionOptions;
  path: string;
  /** The agent of this route. Without it, the path must have `:agentId`. */
  agent?: string;
};

/** A route for `useChat`, for `server.apiRoutes` of `new Mastra()`. */
export function chatRoute(options: chatRouteOptions): ApiRoute {
  const { version: _, ...rest } = options;
  return served.chatRoute(rest);
}

/** Starts or resumes a workflow and returns its UI message stream, for `createUIMessageStreamResponse`. */
export async function handleWorkflowStream(options: {
  mastra: Mastra<any, any, any, any>;
  workflowId: string;
  params: served.WorkflowStreamParams;
}): Promise<ReadableStream<any>> {
  return served.handleWorkflowStream(options as never);
}

export { workflowRoute, type WorkflowRouteOptions } from "@selvedge/server/ai-sdk";
export {
  toAISdkStream,
  toAISdkStream as toAISdkFormat,
  toAISdkStream as toAISdkV5Stream,
} from "./to-ai-sdk-stream.ts";
