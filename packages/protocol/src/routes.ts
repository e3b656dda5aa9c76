import { AGENT_ROUTES, type AgentCalls } from "./routes/agent-routes.ts";
import { APP_ROUTES, type AppCalls } from "./routes/app-routes.ts";
import { COMPAT_ROUTES, type CompatCalls } from "./routes/compat-routes.ts";
import { MEMORY_ROUTES, type MemoryCalls } from "./routes/memory-routes.ts";
import type { AnyRoute, Route } from "./routes/route.ts";

/** What goes in and comes out of every route, by its name. */
export interface RouteCalls extends AgentCalls, MemoryCalls, AppCalls, CompatCalls {}

export type RouteName = keyof RouteCalls;

export type RouteTable = { readonly [Name in RouteName]: Route<RouteCalls[Name]> };

/** Every route. Server, client and OpenAPI are made from this table. */
export const ROUTES: RouteTable = {
  ...AGENT_ROUTES,
  ...MEMORY_ROUTES,
  ...APP_ROUTES,
  ...COMPAT_ROUTES,
};

/** The same, for code that goes over all of them. */
export const ROUTE_LIST: readonly (AnyRoute & { readonly name: RouteName })[] = Object.entries(ROUTES).map(
  ([name, entry]) => ({ ...(entry as unknown as AnyRoute), name: name as RouteName }),
);

/** The path of a route with its parameters and query filled in. Values that are `undefined` are left out. */
export function routePath(
  path: string,
  params: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, unknown>> = {},
): string {
  const filled = path.replace(/:([a-zA-Z]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    search.set(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  const text = search.toString();
  return text === "" ? filled : `${filled}?${text}`;
}

/** The longest wait between two things on a live stream: a client may take a longer silence for a broken line. */
export const HEARTBEAT_MS: number = 20_000;

/** The name of the last event of a stream that the server ends on its own account; see `StreamEnd`. */
export const END_EVENT: string = "end";

/**
 * The comment on the stream of a thread that says: what waits here may have changed. A comment and not an event, so that
 * every event stays a chunk with a number, and readers that do not know of it pass over it.
 */
export const QUEUE_COMMENT: string = "queue";

export { errorBody as ERROR_BODY_SHAPE } from "./routes/shapes.ts";
export { openAIErrorBody as OPENAI_ERROR_BODY_SHAPE } from "./routes/compat-routes.ts";
export type { AnyRoute, Grant, Method, Ownership, Route, RouteCall } from "./routes/route.ts";
export type { Shape } from "./routes/shape.ts";
export type {
  ChatBody,
  ChatCompletionsBody,
  OpenAIErrorBody,
  ResponsesBody,
} from "./routes/compat-routes.ts";
export type {
  AgentInfo,
  AnswerCallBody,
  Attributes,
  ClientTool,
  CloneThreadBody,
  CreateThreadBody,
  DeclineCallBody,
  EditQueuedBody,
  EmbedderInfo,
  ErrorBody,
  ExecuteToolBody,
  FilePart,
  GenerateBody,
  GenerateResult,
  Lane,
  ListMessagesQuery,
  ListThreadsQuery,
  McpResource,
  McpResourceContent,
  McpServerInfo,
  MessageBody,
  MessageInput,
  NotificationAction,
  NotificationBody,
  NotificationQuery,
  NumberedChunk,
  ObserveBody,
  Page,
  PageQuery,
  QueuedMessage,
  RunInfo,
  RunMemory,
  RunOptions,
  RunTimeline,
  SearchQuery,
  SearchResult,
  SendMessageBody,
  SendNotificationBody,
  SendNotificationResult,
  SendResult,
  SendSignalBody,
  SendStateBody,
  SendStateResult,
  SendTarget,
  SignalBody,
  SignalContents,
  StreamEnd,
  SubscribeBody,
  SuspendedRun,
  TextPart,
  ThreadAddress,
  ThreadQuery,
  ThreadState,
  TimelineStep,
  TimelineTool,
  ToolApprovalBody,
  ToolChoice,
  ToolInfo,
  UpdateThreadBody,
  VectorQueryBody,
  Wire,
  WireMemoryConfig,
  WireMessage,
  WireNotification,
  WireSignal,
  WireThread,
} from "./routes/wire.ts";
