import type { AgentChunk } from "../chunk.ts";
import type { ErrorCode } from "../error-codes.ts";
import type { JSONValue, ProviderMetadata } from "../json.ts";
import type { StoredMessage, StoredThread } from "../message.ts";
import type { NotificationPriority, NotificationRecord } from "../notification.ts";
import type { FinishReason, Usage } from "../usage.ts";

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

export type WireMessage = Wire<StoredMessage>;
export type WireThread = Wire<StoredThread>;
export type WireNotification = Wire<NotificationRecord>;

/** What every failed call answers, under the status of its code. */
export interface ErrorBody {
  error: string;
  name: string;
  code: ErrorCode;
  message: string;
  details?: Record<string, unknown>;
}

/** The last event of a stream that the server ends: why, and the number to go on after. */
export interface StreamEnd {
  name: string;
  code: ErrorCode;
  message: string;
  details?: { after?: number };
}

// Agents

export interface ToolInfo {
  id: string;
  description: string;
  inputSchema?: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  requireApproval?: boolean;
  /** The server has nothing to execute: the caller runs it. */
  clientSide?: boolean;
}

export interface AgentInfo {
  id: string;
  name: string;
  description?: string;
  /** With the grant `inspect`. */
  instructions?: string;
  metadata?: Record<string, unknown>;
  provider?: string;
  modelId?: string;
  tools: Record<string, ToolInfo>;
  agents: Record<string, { id: string; name: string; description?: string }>;
  workflows: Record<string, { name: string }>;
  /** Whether it has memory, and so threads. */
  hasMemory: boolean;
}

export interface TextPart {
  type: "text";
  text: string;
  providerOptions?: ProviderMetadata;
}

export interface FilePart {
  type: "file";
  /** Base64, a data URL or a URL. */
  data: string;
  mediaType: string;
  filename?: string;
  providerOptions?: ProviderMetadata;
}

export type SignalContents = string | (TextPart | FilePart)[];
export type Attributes = Record<string, JSONValue>;

export interface MessageBody {
  contents: SignalContents;
  attributes?: Attributes;
  metadata?: Record<string, unknown>;
  providerOptions?: ProviderMetadata;
  /** The id the message is to have; a client that shows it before it is accepted knows it by this. */
  id?: string;
}

export type MessageInput = string | (TextPart | FilePart)[] | MessageBody;

export interface ClientTool {
  description?: string;
  inputSchema?: Record<string, unknown>;
  /** An older name of `inputSchema`. */
  parameters?: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  id?: string;
}

export type ToolChoice = "auto" | "none" | "required" | { type: "tool"; toolName: string };

/** The options of a run that travel. Those marked (g) need the grant `run-options`. */
export interface RunOptions {
  maxSteps?: number;
  toolChoice?: ToolChoice;
  activeTools?: string[];
  clientTools?: Record<string, ClientTool>;
  /** A JSON Schema of the answer. */
  output?: Record<string, unknown>;
  structuredOutput?: { schema: Record<string, unknown>; errorStrategy?: "strict" | "warn" | "fallback" };
  /** `false` is (g). */
  requireToolApproval?: boolean;
  /** (g) */
  instructions?: string;
  /** (g) */
  system?: string;
  /** (g) */
  context?: unknown[];
  /** (g) */
  model?: string;
  /** (g) */
  temperature?: number;
  /** (g) */
  maxRetries?: number;
  /** (g) */
  modelSettings?: Record<string, unknown>;
  /** (g) */
  providerOptions?: ProviderMetadata;
  /** (g) Values for dynamic arguments and tools. */
  requestContext?: Record<string, unknown>;
}

export interface RunMemory {
  thread: string | { id: string; title?: string; metadata?: Record<string, unknown> };
  /** The server's `authorize` function decides it, if there is one. */
  resource?: string;
  /** (g) */
  options?: Record<string, unknown>;
  readOnly?: boolean;
}

export interface GenerateBody extends RunOptions {
  /** A text, texts, or messages `{ role, content }` in any of the documented forms. */
  messages: string | (string | Record<string, unknown>)[];
  memory?: RunMemory;
  /** The older place of `memory.thread`. */
  threadId?: string;
  /** The older place of `memory.resource`. */
  resourceId?: string;
  runId?: string;
}

/** What `generate` answers: everything a run gave. */
export interface GenerateResult {
  text: string;
  object?: unknown;
  finishReason: FinishReason;
  usage: Usage;
  totalUsage: Usage;
  toolCalls: unknown[];
  toolResults: unknown[];
  steps: unknown[];
  reasoningText?: string;
  sources: unknown[];
  files: unknown[];
  warnings: unknown[];
  response: Record<string, unknown>;
  messages: WireMessage[];
  runId: string;
  traceId?: string;
  tripwire?: Record<string, unknown>;
  suspendPayload?: unknown;
  resumeSchema?: string;
}

export interface SendTarget {
  /** An active run of this process, in place of `threadId`. */
  runId?: string;
  /** The server's `authorize` function decides it, if there is one. */
  resourceId?: string;
  threadId?: string;
  ifActive?: { behavior?: "deliver" | "persist" | "discard"; attributes?: Attributes };
  ifIdle?: {
    behavior?: "wake" | "persist" | "discard";
    attributes?: Attributes;
    streamOptions?: RunOptions;
  };
  /** The same key on a thread is the same message. The header `Idempotency-Key` says the same. */
  idempotencyKey?: string;
}

export interface SendMessageBody extends SendTarget {
  message: MessageInput;
}

/** What a memory is set to, in plain values. */
export interface WireMemoryConfig {
  lastMessages: number | false;
  semanticRecall:
    | false
    | {
        topK: number;
        messageRange: { before: number; after: number };
        scope: "thread" | "resource";
        threshold?: number;
        indexName?: string;
      };
  workingMemory: { enabled: boolean; scope?: "thread" | "resource"; template?: string };
  threads: { generateTitle: boolean };
  readOnly: boolean;
}

export interface SignalBody {
  type: "user" | "state" | "reactive" | "notification" | "user-message" | "system-reminder";
  tagName?: string;
  contents: SignalContents;
  attributes?: Attributes;
  metadata?: Record<string, unknown>;
  providerOptions?: ProviderMetadata;
  id?: string;
  createdAt?: string;
}

export interface SendSignalBody extends SendTarget {
  signal: SignalBody;
}

export interface SendStateBody extends SendTarget {
  state: {
    id: string;
    cacheKey: string;
    contents: SignalContents;
    mode?: "snapshot" | "delta";
    value?: unknown;
    delta?: unknown;
    attributes?: Attributes;
    metadata?: Record<string, unknown>;
    tagName?: string;
  };
}

export interface NotificationBody {
  source: string;
  kind: string;
  summary: string;
  priority?: NotificationPriority;
  payload?: unknown;
  sourceId?: string;
  dedupeKey?: string;
  coalesceKey?: string;
  attributes?: Attributes;
  metadata?: Record<string, unknown>;
}

export interface SendNotificationBody {
  notification: NotificationBody | NotificationBody[];
  resourceId?: string;
  threadId: string;
}

/** A signal as it is stored and echoed. */
export interface WireSignal {
  id: string;
  type: "user" | "state" | "reactive" | "notification";
  tagName: string;
  contents: SignalContents;
  createdAt: string;
  acceptedAt?: string;
  attributes?: Attributes;
  metadata?: Record<string, unknown>;
  providerOptions?: ProviderMetadata;
}

/** It is durable when this arrives. */
export interface SendResult {
  accepted: true;
  runId: string;
  signal: WireSignal;
  /** What became of it. */
  action: "deliver" | "wake" | "queue" | "persist" | "discard";
  /** The same idempotency key was sent before; nothing happened now. */
  duplicate?: boolean;
}

export type SendStateResult =
  | (SendResult & { skipped?: false })
  | { accepted: true; skipped: true; reason: "unchanged" };

export interface SendNotificationResult {
  accepted: true;
  record: WireNotification;
  decision: { action: string; reason?: string; deliverAt?: string; summaryAt?: string };
  runId?: string;
  signal?: WireSignal;
}

export interface ThreadAddress {
  resourceId?: string;
  threadId: string;
}

export interface SubscribeBody extends ThreadAddress {
  /** Chunks after this number. 0 is everything that is kept; absent: the active run, and what comes. */
  after?: number;
}

export interface ToolApprovalBody extends ThreadAddress {
  toolCallId?: string;
  approved: boolean;
  resumeData?: unknown;
  declineContext?: { reason?: string; message?: string };
  /** Results of tools that the client ran itself; a run of its own goes on with them. */
  messages?: (string | Record<string, unknown>)[];
  /** For the run that goes on with `messages`. */
  streamOptions?: RunOptions;
  /** (g) */
  requestContext?: Record<string, unknown>;
}

export interface AnswerCallBody extends RunOptions {
  runId: string;
  toolCallId?: string;
  resumeData?: unknown;
}

export interface DeclineCallBody extends RunOptions {
  runId: string;
  toolCallId?: string;
  reason?: string;
}

export interface ObserveBody {
  runId: string;
  threadId: string;
  resourceId?: string;
  /** Chunks of the run after this number. */
  after?: number;
}

export interface SuspendedRun {
  runId: string;
  status: "suspended";
  threadId: string;
  resourceId: string;
  suspendedAt: string;
  toolCalls: {
    toolCallId: string;
    toolName: string;
    args?: unknown;
    requiresApproval: boolean;
    suspendPayload?: unknown;
    /** What people are to see instead, where a transform says so; for callers with the grant `inspect`. */
    transcript?: { args?: unknown; suspendPayload?: unknown };
  }[];
}

// Memory

export interface Page {
  total: number;
  page: number;
  perPage: number | false;
  hasMore: boolean;
}

/** Numbers and JSON travel as text in a query; a client encodes, the server decodes. */
export interface PageQuery {
  page?: number;
  perPage?: number;
}

export interface ListThreadsQuery extends PageQuery {
  agentId?: string;
  resourceId?: string;
  /** Part of the title or of the id, in any case. */
  search?: string;
  orderBy?: "createdAt" | "updatedAt";
  direction?: "ASC" | "DESC";
}

export interface ThreadQuery {
  agentId?: string;
  resourceId?: string;
}

export interface CreateThreadBody {
  threadId?: string;
  resourceId?: string;
  title?: string;
  metadata?: Record<string, unknown>;
}

export interface UpdateThreadBody {
  resourceId?: string;
  title?: string;
  /** Changed by key; `null` deletes one. */
  metadata?: Record<string, unknown>;
}

export interface ListMessagesQuery extends ThreadQuery, PageQuery {
  direction?: "ASC" | "DESC";
  /** Comma-separated roles. */
  roles?: string;
}

export interface CloneThreadBody {
  newThreadId?: string;
  resourceId?: string;
  title?: string;
  metadata?: Record<string, unknown>;
  options?: {
    messageLimit?: number;
    messageFilter?: { startDate?: string; endDate?: string; messageIds?: string[] };
  };
}

export interface SearchQuery extends ThreadQuery {
  searchQuery: string;
  threadId?: string;
  limit?: number;
}

export interface SearchResult {
  results: { threadId: string; threadTitle?: string; message: WireMessage }[];
  count: number;
}

// What goes on on a thread

/** A message that was accepted and waits for its turn. */
export interface QueuedMessage {
  id: string;
  agentId: string;
  /** `now` joins the run under way at its next step; `next` opens a run of its own. */
  due: "now" | "next";
  /** The run it opens, or was to join. */
  runId: string;
  signal: WireSignal;
}

export interface EditQueuedBody {
  resourceId?: string;
  contents: SignalContents;
}

export interface Lane {
  id: string;
  version: number;
  cacheKey: string;
  mode: "snapshot" | "delta";
  updatedAt: string;
  /** The signal the lane's state came with, where the history still has it. */
  contents?: string;
  value?: unknown;
}

export interface RunInfo {
  runId: string;
  agentId: string;
  threadId: string;
  state: "running" | "suspended" | "done" | "failed" | "aborted";
  startedAt: string;
  endedAt?: string;
  suspendedAt?: string;
  steps: number;
  usage?: Usage;
  error?: Record<string, unknown>;
}

export interface TimelineTool {
  toolCallId: string;
  toolName: string;
  state: "running" | "waiting" | "done" | "failed" | "denied";
  /** Milliseconds from the call to its outcome, as far as both are kept. */
  durationMs?: number;
}

export interface TimelineStep {
  step: number;
  startedAt: string;
  durationMs?: number;
  finishReason?: FinishReason;
  usage?: Usage;
  text?: string;
  toolCalls: TimelineTool[];
}

/** A run as its events tell it; `steps` is empty when they are no longer kept. */
export interface RunTimeline extends RunInfo {
  timeline: TimelineStep[];
}

/** Everything a page that shows a thread needs before it subscribes. */
export interface ThreadState {
  threadId: string;
  activeRunId: string | null;
  runState: "idle" | "running" | "suspended";
  agentId?: string;
  /** The number of the newest chunk: subscribe with `after` this to get what comes. */
  lastSeq: number;
  /** Subscribe with `after` this to get the active run from its start. */
  activeRunAfter: number;
  queue: QueuedMessage[];
  lanes: Lane[];
  approvals: SuspendedRun["toolCalls"];
}

export interface NotificationQuery extends ThreadQuery {
  /** Comma-separated statuses. */
  status?: string;
  priority?: NotificationPriority;
  source?: string;
  search?: string;
  limit?: number;
}

export interface NotificationAction {
  resourceId?: string;
  action: "markSeen" | "dismiss" | "archive";
}

// Tools, MCP, vectors

export interface ExecuteToolBody {
  data?: unknown;
  /** For a tool that asks before it runs: that somebody said yes. Needs the grant `approve-tools`. */
  approved?: boolean;
  requestContext?: Record<string, unknown>;
}

export interface McpServerInfo {
  id: string;
  name: string;
  description?: string;
  version_detail?: { version: string; release_date: string; is_latest: boolean };
}

export interface McpResource {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
}

export interface McpResourceContent {
  uri: string;
  mimeType?: string;
  text?: string;
  /** In base64. */
  blob?: string;
}

export interface EmbedderInfo {
  /** `provider/name`, of embedders that say so. */
  id: string;
  provider: string;
  name: string;
  description: string;
  /** The length of its vectors, where it is known before the first. */
  dimensions?: number;
}

export interface VectorQueryBody {
  indexName: string;
  queryVector: number[];
  topK?: number;
  filter?: Record<string, unknown>;
  includeVector?: boolean;
}
