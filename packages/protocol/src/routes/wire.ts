import type { AgentChunk } from "../chunk.ts";
import type { ErrorCode } from "../error-codes.ts";
import type * as agents from "./agent-routes.ts";
import type * as app from "./app-routes.ts";
import type * as compat from "./compat-routes.ts";
import type * as controllers from "./controller-routes.ts";
import type * as definitions from "./definition-routes.ts";
import type * as memory from "./memory-routes.ts";
import type { CallOf } from "./route.ts";
import type * as schedules from "./schedule-routes.ts";
import type * as scores from "./score-routes.ts";
import type * as shapes from "./shapes.ts";
import type { TypeOf } from "./shape.ts";
import type * as workflows from "./workflow-routes.ts";
import type * as workspaces from "./workspace-routes.ts";

type Tables = typeof agents.AGENT_ROUTES &
  typeof controllers.CONTROLLER_ROUTES &
  typeof memory.MEMORY_ROUTES &
  typeof workflows.WORKFLOW_ROUTES &
  typeof workspaces.WORKSPACE_ROUTES &
  typeof schedules.SCHEDULE_ROUTES &
  typeof scores.SCORE_ROUTES &
  typeof definitions.DEFINITION_ROUTES &
  typeof app.APP_ROUTES &
  typeof compat.COMPAT_ROUTES;

/** Every route by name, with the types of its parts. */
export type RouteTable = { readonly [Name in keyof Tables]: Tables[Name] };
export type RouteName = keyof RouteTable;

/** The inputs and outputs of every route, by name. */
export type RouteCalls = { [Name in RouteName]: CallOf<RouteTable[Name]> };

type Body<Name extends RouteName> = RouteCalls[Name] extends { body: infer Type } ? Type : never;
type Query<Name extends RouteName> = RouteCalls[Name] extends { query: infer Type } ? Type : never;
type Answer<Name extends RouteName> = RouteCalls[Name] extends { response: infer Type } ? Type : never;

/** A value as carried by JSON: times are ISO text. */
export type Wire<Value> = Value extends Date
  ? string
  : Value extends readonly (infer Item)[]
    ? Wire<Item>[]
    : Value extends object
      ? { [Key in keyof Value]: Wire<Value[Key]> }
      : Value;

/** A chunk on the stream of a thread, with its number. */
export type NumberedChunk = AgentChunk & { seq: number };

/** The last event of a stream that the server ends: the reason, and the number to resume after. */
export interface StreamEnd {
  name: string;
  code: ErrorCode;
  message: string;
  details?: { after?: number };
}

export interface ErrorBody extends TypeOf<typeof shapes.errorBody> {}
export interface OpenAIErrorBody extends TypeOf<typeof compat.openAIErrorBody> {}

// Agents
export interface AgentInfo extends TypeOf<typeof agents.agentInfo> {}
export interface ToolInfo extends TypeOf<typeof shapes.toolInfo> {}
export interface ExecuteToolBody extends TypeOf<typeof shapes.executeToolBody> {}
export interface ClientTool extends TypeOf<typeof shapes.clientTool> {}
export type ToolChoice = TypeOf<typeof shapes.toolChoice>;
export interface RunMemory extends TypeOf<typeof shapes.runMemory> {}
export interface RunOptions extends NonNullable<Body<"sendToolApproval">["streamOptions"]> {}
export interface GenerateBody extends Body<"generate"> {}
export interface GenerateResult extends Answer<"generate"> {}
export interface ObserveBody extends Body<"observe"> {}
export interface AnswerCallBody extends Body<"approveToolCall"> {}
export interface DeclineCallBody extends Body<"declineToolCall"> {}
export interface ToolApprovalBody extends Body<"sendToolApproval"> {}
export interface SuspendedRun extends TypeOf<typeof agents.suspendedRun> {}

// Messages and signals
export interface TextPart extends TypeOf<typeof shapes.textPart> {}
export interface FilePart extends TypeOf<typeof shapes.filePart> {}
export type SignalContents = TypeOf<typeof shapes.contents>;
export type Attributes = TypeOf<typeof shapes.attributes>;
export interface MessageBody extends TypeOf<typeof shapes.messageBody> {}
export type MessageInput = TypeOf<typeof shapes.message>;
export interface SendMessageBody extends Body<"sendMessage"> {}
export interface SendTarget extends Omit<SendMessageBody, "message"> {}
export interface SignalBody extends TypeOf<typeof agents.signalBody> {}
export interface SendSignalBody extends Body<"sendSignal"> {}
export interface SendStateBody extends Body<"sendStateSignal"> {}
export interface NotificationBody extends TypeOf<typeof agents.notificationBody> {}
export interface SendNotificationBody extends Body<"sendNotification"> {}
export interface WireSignal extends TypeOf<typeof shapes.signal> {}
export interface SendResult extends TypeOf<typeof shapes.sendResult> {}
export type SendStateResult = Answer<"sendStateSignal">;
export interface SendNotificationResult extends TypeOf<typeof agents.notificationResult> {}

// Threads
export interface WireThread extends TypeOf<typeof shapes.thread> {}
export interface WireMessage extends TypeOf<typeof shapes.storedMessage> {}
export type WireMemoryConfig = Answer<"memoryConfig">["config"];
export interface ThreadAddress extends Body<"abortThread"> {}
export interface SubscribeBody extends Body<"subscribe"> {}
export interface Page extends Omit<Answer<"listRuns">, "runs"> {}
export interface PageQuery extends Pick<Query<"listRuns">, "page" | "perPage"> {}
export interface ThreadQuery extends Query<"getThread"> {}
export interface ListThreadsQuery extends Query<"listThreads"> {}
export interface ListMessagesQuery extends Query<"listMessages"> {}
export interface CreateThreadBody extends Body<"createThread"> {}
export interface UpdateThreadBody extends Body<"updateThread"> {}
export interface CloneThreadBody extends Body<"cloneThread"> {}
export interface SearchQuery extends Query<"searchMemory"> {}
export interface SearchResult extends Answer<"searchMemory"> {}
export interface ThreadState extends Answer<"getThreadState"> {}
export interface QueuedMessage extends TypeOf<typeof memory.queuedMessage> {}
export interface EditQueuedBody extends Body<"editQueued"> {}
export interface Lane extends TypeOf<typeof memory.lane> {}
export interface RunInfo extends TypeOf<typeof memory.runInfo> {}
export interface ObservationalMemoryView extends TypeOf<typeof memory.omView> {}
export type ObservationChunk = ObservationalMemoryView["chunks"][number];
export type ObservationJob = ObservationalMemoryView["jobs"][number];
export interface RunTimeline extends Answer<"getRun"> {}
export type TimelineStep = RunTimeline["timeline"][number];
export type TimelineTool = TimelineStep["toolCalls"][number];
export interface WireNotification extends TypeOf<typeof shapes.notification> {}
export interface NotificationQuery extends Query<"listNotifications"> {}
export interface NotificationAction extends Body<"updateNotification"> {}

// Workflows
export interface WorkflowInfo extends TypeOf<typeof workflows.workflowInfo> {}
export type WorkflowStepInfo = WorkflowInfo["steps"][string];
export interface WireWorkflowRun extends TypeOf<typeof workflows.workflowRun> {}
export interface WireWorkflowState extends TypeOf<typeof workflows.workflowState> {}
export interface WireWorkflowResult extends TypeOf<typeof workflows.workflowResult> {}
export interface StartWorkflowBody extends Body<"startWorkflowRun"> {}
export interface ResumeWorkflowBody extends Body<"resumeWorkflowRun"> {}
export interface TimeTravelBody extends Body<"timeTravelWorkflowRun"> {}

// Workspaces
export interface WorkspaceItem extends TypeOf<typeof workspaces.workspaceItem> {}
export interface SkillInfo extends TypeOf<typeof workspaces.skillInfo> {}
export interface WireProcess extends TypeOf<typeof workspaces.workspaceProcess> {}
export interface WireChange extends TypeOf<typeof workspaces.workspaceChange> {}

// Schedules
export interface ScheduleInfo extends TypeOf<typeof schedules.scheduleInfo> {}
export interface ScheduleTriggerInfo extends TypeOf<typeof schedules.scheduleTrigger> {}

// Scores
export interface ScorerInfo extends TypeOf<typeof scores.scorerInfo> {}

// Workflows as data
export interface DynamicWorkflowInfo extends TypeOf<typeof definitions.workflowDefinition> {}

// MCP and vectors
export interface McpServerInfo extends TypeOf<typeof app.mcpServerInfo> {}
export interface McpResource extends TypeOf<typeof app.mcpResource> {}
export interface McpResourceContent extends TypeOf<typeof app.mcpResourceContent> {}
export interface EmbedderInfo extends TypeOf<typeof app.embedderInfo> {}
export interface VectorQueryBody extends Body<"queryVectors"> {}

// Other protocols
export interface ChatBody extends Body<"chat"> {}
export interface ChatCompletionsBody extends Body<"chatCompletions"> {}
export interface ResponsesBody extends Body<"responses"> {}
