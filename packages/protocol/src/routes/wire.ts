import type { AgentChunk } from "../chunk.ts";
import type { ErrorCode } from "../error-codes.ts";
import type * as agents from "./agent-routes.ts";
import type * as app from "./app-routes.ts";
import type * as compat from "./compat-routes.ts";
import type * as memory from "./memory-routes.ts";
import type { CallOf } from "./route.ts";
import type * as shapes from "./shapes.ts";
import type { TypeOf } from "./shape.ts";

type Tables = typeof agents.AGENT_ROUTES &
  typeof memory.MEMORY_ROUTES &
  typeof app.APP_ROUTES &
  typeof compat.COMPAT_ROUTES;

/** Every route by its name, with the types of its parts. */
export type RouteTable = { readonly [Name in keyof Tables]: Tables[Name] };
export type RouteName = keyof RouteTable;

/** What goes in and comes out of every route, by its name. */
export type RouteCalls = { [Name in RouteName]: CallOf<RouteTable[Name]> };

type Body<Name extends RouteName> = RouteCalls[Name] extends { body: infer Type } ? Type : never;
type Query<Name extends RouteName> = RouteCalls[Name] extends { query: infer Type } ? Type : never;
type Answer<Name extends RouteName> = RouteCalls[Name] extends { response: infer Type } ? Type : never;

/** A value as JSON carries it: times are ISO text. */
export type Wire<Value> = Value extends Date
  ? string
  : Value extends readonly (infer Item)[]
    ? Wire<Item>[]
    : Value extends object
      ? { [Key in keyof Value]: Wire<Value[Key]> }
      : Value;

/** A chunk on the stream of a thread, with its number. */
export type NumberedChunk = AgentChunk & { seq: number };

/** The last event of a stream that the server ends: why, and the number to continue after. */
export interface StreamEnd {
  name: string;
  code: ErrorCode;
  message: string;
  details?: { after?: number };
}

export type ErrorBody = TypeOf<typeof shapes.errorBody>;
export type OpenAIErrorBody = TypeOf<typeof compat.openAIErrorBody>;

// Agents
export type AgentInfo = TypeOf<typeof agents.agentInfo>;
export type ToolInfo = TypeOf<typeof shapes.toolInfo>;
export type ExecuteToolBody = TypeOf<typeof shapes.executeToolBody>;
export type ClientTool = TypeOf<typeof shapes.clientTool>;
export type ToolChoice = TypeOf<typeof shapes.toolChoice>;
export type RunMemory = TypeOf<typeof shapes.runMemory>;
export type RunOptions = NonNullable<Body<"sendToolApproval">["streamOptions"]>;
export type GenerateBody = Body<"generate">;
export type GenerateResult = Answer<"generate">;
export type ObserveBody = Body<"observe">;
export type AnswerCallBody = Body<"approveToolCall">;
export type DeclineCallBody = Body<"declineToolCall">;
export type ToolApprovalBody = Body<"sendToolApproval">;
export type SuspendedRun = TypeOf<typeof agents.suspendedRun>;

// Messages and signals
export type TextPart = TypeOf<typeof shapes.textPart>;
export type FilePart = TypeOf<typeof shapes.filePart>;
export type SignalContents = TypeOf<typeof shapes.contents>;
export type Attributes = TypeOf<typeof shapes.attributes>;
export type MessageBody = TypeOf<typeof shapes.messageBody>;
export type MessageInput = TypeOf<typeof shapes.message>;
export type SendMessageBody = Body<"sendMessage">;
export type SendTarget = Omit<SendMessageBody, "message">;
export type SignalBody = TypeOf<typeof agents.signalBody>;
export type SendSignalBody = Body<"sendSignal">;
export type SendStateBody = Body<"sendStateSignal">;
export type NotificationBody = TypeOf<typeof agents.notificationBody>;
export type SendNotificationBody = Body<"sendNotification">;
export type WireSignal = TypeOf<typeof shapes.signal>;
export type SendResult = TypeOf<typeof shapes.sendResult>;
export type SendStateResult = Answer<"sendStateSignal">;
export type SendNotificationResult = TypeOf<typeof agents.notificationResult>;

// Threads
export type WireThread = TypeOf<typeof shapes.thread>;
export type WireMessage = TypeOf<typeof shapes.storedMessage>;
export type WireMemoryConfig = Answer<"memoryConfig">["config"];
export type ThreadAddress = Body<"abortThread">;
export type SubscribeBody = Body<"subscribe">;
export type Page = Omit<Answer<"listRuns">, "runs">;
export type PageQuery = Pick<Query<"listRuns">, "page" | "perPage">;
export type ThreadQuery = Query<"getThread">;
export type ListThreadsQuery = Query<"listThreads">;
export type ListMessagesQuery = Query<"listMessages">;
export type CreateThreadBody = Body<"createThread">;
export type UpdateThreadBody = Body<"updateThread">;
export type CloneThreadBody = Body<"cloneThread">;
export type SearchQuery = Query<"searchMemory">;
export type SearchResult = Answer<"searchMemory">;
export type ThreadState = Answer<"getThreadState">;
export type QueuedMessage = TypeOf<typeof memory.queuedMessage>;
export type EditQueuedBody = Body<"editQueued">;
export type Lane = TypeOf<typeof memory.lane>;
export type RunInfo = TypeOf<typeof memory.runInfo>;
export type RunTimeline = Answer<"getRun">;
export type TimelineStep = RunTimeline["timeline"][number];
export type TimelineTool = TimelineStep["toolCalls"][number];
export type WireNotification = TypeOf<typeof shapes.notification>;
export type NotificationQuery = Query<"listNotifications">;
export type NotificationAction = Body<"updateNotification">;

// MCP and vectors
export type McpServerInfo = TypeOf<typeof app.mcpServerInfo>;
export type McpResource = TypeOf<typeof app.mcpResource>;
export type McpResourceContent = TypeOf<typeof app.mcpResourceContent>;
export type EmbedderInfo = TypeOf<typeof app.embedderInfo>;
export type VectorQueryBody = Body<"queryVectors">;

// Other protocols
export type ChatBody = Body<"chat">;
export type ChatCompletionsBody = Body<"chatCompletions">;
export type ResponsesBody = Body<"responses">;
