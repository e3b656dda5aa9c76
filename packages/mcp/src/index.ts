// Client
export { MCPClient, type MCPClientOptions } from "./client/mcp-client.ts";
export type {
  LogHandler,
  LogMessage,
  MastraMCPServerDefinition,
  WaitingOAuthProvider,
} from "./client/server-definition.ts";
export type { SamplingHandler, SamplingOptions, SamplingRequest } from "./client/sampling.ts";
export type {
  ElicitationAnswer,
  ElicitationHandler,
  ElicitationRequest,
  ProgressHandler,
} from "./client/handle-server-requests.ts";

export type { ReadResourceResult, ResourceContent } from "./client/resource-content.ts";

// Signing in
export {
  MCPOAuthClientProvider,
  type MCPOAuthClientProviderOptions,
} from "./oauth/mcp-oauth-client-provider.ts";
export { FileOAuthStorage } from "./oauth/file-oauth-storage.ts";
export { InMemoryOAuthStorage, type OAuthStorage } from "./oauth/oauth-storage.ts";

// Server
export { MCPServer } from "./server/mcp-server.ts";
export type { MCPServerAuth } from "./server/authorizer.ts";
export type {
  CallerContext,
  CompleteArgument,
  MCPServerConfig,
  MCPServerPrompts,
  MCPServerResourceContent,
  MCPServerResources,
  PackageInfo,
  Prompt,
  RemoteInfo,
  Repository,
  WorkflowLike,
} from "./server/server-config.ts";
export type { CallExtra } from "./server/call-extra.ts";
export type { ServerDetail, ServerInfo, ToolInfo, ToolListInfo } from "./server/server-info.ts";
export type { StreamableHTTPServerTransportOptions } from "./server/http-endpoint.ts";

// Protocol types
export type {
  ElicitResult,
  EventStore,
  PromptMessage,
  Resource,
  ResourceTemplateType as ResourceTemplate,
} from "@modelcontextprotocol/server";

// Transports, for inspection
export type { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
export type { WebStandardStreamableHTTPServerTransport as StreamableHTTPServerTransport } from "@modelcontextprotocol/server";
export type {
  SSEServerTransport,
  SSEServerTransport as SSETransport,
} from "@modelcontextprotocol/sdk/server/sse.js";
