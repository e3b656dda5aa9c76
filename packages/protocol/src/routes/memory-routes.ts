import { type Route, route } from "./route.ts";
import {
  anyObject,
  anything,
  flag,
  id,
  integer,
  list,
  named,
  number,
  object,
  oneOf,
  only,
  openObject,
  optional,
  type Properties,
  type Shape,
  text,
  time,
} from "./shape.ts";
import * as shapes from "./shapes.ts";
import type * as Wire from "./wire.ts";

type ThreadParams = { threadId: string };

export interface MemoryCalls {
  memoryStatus: { query: { agentId?: string }; response: { result: boolean } };
  memoryConfig: { query: { agentId?: string }; response: { config: Wire.WireMemoryConfig } };
  listThreads: { query: Wire.ListThreadsQuery; response: Wire.Page & { threads: Wire.WireThread[] } };
  createThread: { query: { agentId?: string }; body: Wire.CreateThreadBody; response: Wire.WireThread };
  getThread: { params: ThreadParams; query: Wire.ThreadQuery; response: Wire.WireThread };
  updateThread: {
    params: ThreadParams;
    query: Wire.ThreadQuery;
    body: Wire.UpdateThreadBody;
    response: Wire.WireThread;
  };
  deleteThread: { params: ThreadParams; query: Wire.ThreadQuery; response: { result: string } };
  listMessages: {
    params: ThreadParams;
    query: Wire.ListMessagesQuery;
    response: Wire.Page & { messages: Wire.WireMessage[] };
  };
  saveMessages: {
    query: { agentId?: string };
    body: { messages: Record<string, unknown>[]; resourceId?: string };
    response: { messages: Wire.WireMessage[] };
  };
  deleteMessages: {
    query: { agentId?: string };
    body: { messageIds: string[]; resourceId?: string };
    response: { success: true; message: string };
  };
  cloneThread: {
    params: ThreadParams;
    query: { agentId?: string };
    body: Wire.CloneThreadBody;
    response: { thread: Wire.WireThread; clonedMessages: Wire.WireMessage[] };
  };
  getWorkingMemory: {
    params: ThreadParams;
    query: Wire.ThreadQuery;
    response: { workingMemory: string | null };
  };
  updateWorkingMemory: {
    params: ThreadParams;
    query: { agentId?: string };
    body: { workingMemory: string; resourceId?: string };
    response: { success: true };
  };
  searchMemory: { query: Wire.SearchQuery; response: Wire.SearchResult };
  getThreadState: { params: ThreadParams; query: Wire.ThreadQuery; response: Wire.ThreadState };
  listQueue: { params: ThreadParams; query: Wire.ThreadQuery; response: { messages: Wire.QueuedMessage[] } };
  editQueued: {
    params: ThreadParams & { messageId: string };
    query: Wire.ThreadQuery;
    body: Wire.EditQueuedBody;
    response: Wire.QueuedMessage;
  };
  removeQueued: {
    params: ThreadParams & { messageId: string };
    query: Wire.ThreadQuery;
    response: { removed: true };
  };
  listLanes: { params: ThreadParams; query: Wire.ThreadQuery; response: { lanes: Wire.Lane[] } };
  listRuns: {
    params: ThreadParams;
    query: Wire.ThreadQuery & Wire.PageQuery;
    response: Wire.Page & { runs: Wire.RunInfo[] };
  };
  getRun: {
    params: ThreadParams & { runId: string };
    query: Wire.ThreadQuery;
    response: Wire.RunTimeline;
  };
  listNotifications: {
    params: ThreadParams;
    query: Wire.NotificationQuery;
    response: { notifications: Wire.WireNotification[] };
  };
  updateNotification: {
    params: ThreadParams & { notificationId: string };
    query: Wire.ThreadQuery;
    body: Wire.NotificationAction;
    response: { notification: Wire.WireNotification };
  };
}

const tag = "memory";
const MAX_TITLE = 8192;
const params = object<ThreadParams>({ threadId: id() });
const query: Shape<Wire.ThreadQuery> = object<Wire.ThreadQuery>({ ...shapes.threadQuery });
const agentQuery = object<{ agentId?: string }>({ agentId: optional(id()) });
const title = optional(text({ maxLength: MAX_TITLE }));

const queuedMessage = named(
  "QueuedMessage",
  openObject<Wire.QueuedMessage>({
    id: id(),
    agentId: id(),
    due: oneOf("now", "next"),
    runId: id(),
    signal: shapes.signal,
  }),
);

const lane = named(
  "Lane",
  openObject<Wire.Lane>({
    id: id(),
    version: integer(),
    cacheKey: text(),
    mode: oneOf("snapshot", "delta"),
    updatedAt: time(),
    contents: optional(text()),
    value: optional(anything()),
  }),
);

const runInfo: Properties<Wire.RunInfo> = {
  runId: id(),
  agentId: id(),
  threadId: id(),
  state: oneOf("running", "suspended", "done", "failed", "aborted"),
  startedAt: time(),
  endedAt: optional(time()),
  suspendedAt: optional(time()),
  steps: integer(),
  usage: optional(anyObject<NonNullable<Wire.RunInfo["usage"]>>()),
  error: optional(anyObject()),
};

const timelineStep = openObject<Wire.TimelineStep>({
  step: integer(),
  startedAt: time(),
  durationMs: optional(number()),
  finishReason: optional(anything<NonNullable<Wire.TimelineStep["finishReason"]>>()),
  usage: optional(anyObject<NonNullable<Wire.TimelineStep["usage"]>>()),
  text: optional(text()),
  toolCalls: list(
    openObject<Wire.TimelineTool>({
      toolCallId: id(),
      toolName: text(),
      state: oneOf("running", "waiting", "done", "failed", "denied"),
      durationMs: optional(number()),
    }),
  ),
});

export const MEMORY_ROUTES: { readonly [Name in keyof MemoryCalls]: Route<MemoryCalls[Name]> } = {
  memoryStatus: route({
    method: "GET",
    path: "/api/memory/status",
    tag,
    summary: "Whether there is memory",
    owner: "app",
    query: agentQuery,
    response: openObject<{ result: boolean }>({ result: flag() }),
  }),
  memoryConfig: route({
    method: "GET",
    path: "/api/memory/config",
    tag,
    summary: "The configuration of a memory",
    owner: "app",
    query: agentQuery,
    response: openObject<{ config: Wire.WireMemoryConfig }>({ config: anything() }),
  }),
  listThreads: route({
    method: "GET",
    path: "/api/memory/threads",
    tag,
    summary: "Threads, those changed last first",
    owner: "resource",
    query: object<Wire.ListThreadsQuery>({
      ...shapes.threadQuery,
      search: optional(text({ maxLength: 256 })),
      orderBy: optional(oneOf("createdAt", "updatedAt")),
      direction: optional(oneOf("ASC", "DESC")),
      ...shapes.page,
    }),
    response: openObject<MemoryCalls["listThreads"]["response"]>({
      threads: list(shapes.thread),
      ...shapes.pageResult,
    }),
  }),
  createThread: route({
    method: "POST",
    path: "/api/memory/threads",
    tag,
    summary: "Creates a thread",
    owner: "new-thread",
    query: agentQuery,
    body: object<Wire.CreateThreadBody>({
      threadId: optional(id()),
      resourceId: optional(shapes.resourceId),
      title,
      metadata: optional(shapes.metadata),
    }),
    response: shapes.thread,
  }),
  getThread: route({
    method: "GET",
    path: "/api/memory/threads/:threadId",
    tag,
    summary: "A thread",
    owner: "thread",
    params,
    query,
    response: shapes.thread,
  }),
  updateThread: route({
    method: "PATCH",
    path: "/api/memory/threads/:threadId",
    tag,
    summary: "Changes the title, and the metadata by key",
    owner: "thread",
    params,
    query,
    body: object<Wire.UpdateThreadBody>({
      resourceId: optional(shapes.resourceId),
      title,
      metadata: optional(shapes.metadata),
    }),
    response: shapes.thread,
  }),
  deleteThread: route({
    method: "DELETE",
    path: "/api/memory/threads/:threadId",
    tag,
    summary: "Deletes a thread with everything on it",
    owner: "thread",
    params,
    query,
    response: openObject<{ result: string }>({ result: text() }),
  }),
  listMessages: route({
    method: "GET",
    path: "/api/memory/threads/:threadId/messages",
    tag,
    summary: "A page of messages. Without direction: the newest, in the order they were written",
    owner: "thread",
    params,
    query: object<Wire.ListMessagesQuery>({
      ...shapes.threadQuery,
      ...shapes.page,
      direction: optional(oneOf("ASC", "DESC")),
      roles: optional(text({ maxLength: 256 })),
    }),
    response: openObject<MemoryCalls["listMessages"]["response"]>({
      messages: list(shapes.storedMessage),
      ...shapes.pageResult,
    }),
  }),
  saveMessages: route({
    method: "POST",
    path: "/api/memory/save-messages",
    tag,
    summary: "Adds or replaces messages of threads that exist",
    owner: "resource",
    grant: "run-options",
    query: agentQuery,
    body: object<MemoryCalls["saveMessages"]["body"]>({
      messages: list(anyObject(), { maxItems: 1000 }),
      resourceId: optional(shapes.resourceId),
    }),
    response: openObject<{ messages: Wire.WireMessage[] }>({ messages: list(shapes.storedMessage) }),
  }),
  deleteMessages: route({
    method: "POST",
    path: "/api/memory/messages/delete",
    tag,
    summary: "Deletes messages; ids of others are ignored",
    owner: "resource",
    query: agentQuery,
    body: object<MemoryCalls["deleteMessages"]["body"]>({
      messageIds: list(id(), { maxItems: 1000 }),
      resourceId: optional(shapes.resourceId),
    }),
    response: openObject<{ success: true; message: string }>({ success: only(true), message: text() }),
  }),
  cloneThread: route({
    method: "POST",
    path: "/api/memory/threads/:threadId/clone",
    tag,
    summary: "Copies a thread with its messages",
    owner: "thread",
    params,
    query: agentQuery,
    body: object<Wire.CloneThreadBody>({
      newThreadId: optional(id()),
      resourceId: optional(shapes.resourceId),
      title,
      metadata: optional(shapes.metadata),
      options: optional(
        object<NonNullable<Wire.CloneThreadBody["options"]>>({
          messageLimit: optional(integer({ minimum: 0 })),
          messageFilter: optional(
            object<{ startDate?: string; endDate?: string; messageIds?: string[] }>({
              startDate: optional(time()),
              endDate: optional(time()),
              messageIds: optional(list(id(), { maxItems: 10_000 })),
            }),
          ),
        }),
      ),
    }),
    response: openObject<MemoryCalls["cloneThread"]["response"]>({
      thread: shapes.thread,
      clonedMessages: list(shapes.storedMessage),
    }),
  }),
  getWorkingMemory: route({
    method: "GET",
    path: "/api/memory/threads/:threadId/working-memory",
    tag,
    summary: "The working memory a run on this thread would see",
    owner: "thread",
    params,
    query,
    response: openObject<{ workingMemory: string | null }>({ workingMemory: anything<string | null>() }),
  }),
  updateWorkingMemory: route({
    method: "POST",
    path: "/api/memory/threads/:threadId/working-memory",
    tag,
    summary: "Replaces the working memory, which the model reads as part of a system message",
    owner: "thread",
    grant: "run-options",
    params,
    query: agentQuery,
    body: object<MemoryCalls["updateWorkingMemory"]["body"]>({
      workingMemory: text({ maxLength: 262_144 }),
      resourceId: optional(shapes.resourceId),
    }),
    response: openObject<{ success: true }>({ success: only(true) }),
  }),
  searchMemory: route({
    method: "GET",
    path: "/api/memory/search",
    tag,
    summary: "Messages by words, and by meaning where semantic recall is on",
    owner: "resource",
    query: object<Wire.SearchQuery>({
      ...shapes.threadQuery,
      searchQuery: text({ minLength: 1, maxLength: 1024 }),
      threadId: optional(id()),
      limit: optional(integer({ minimum: 1, maximum: 100 })),
    }),
    response: openObject<Wire.SearchResult>({
      results: list(anyObject<Wire.SearchResult["results"][number]>()),
      count: integer(),
    }),
  }),
  getThreadState: route({
    method: "GET",
    path: "/api/memory/threads/:threadId/state",
    tag,
    summary:
      "The state of a thread: its run, queue, lanes and pending approvals, and where to subscribe from",
    owner: "thread",
    params,
    query,
    response: openObject<Wire.ThreadState>({
      threadId: id(),
      activeRunId: anything<string | null>(),
      runState: oneOf("idle", "running", "suspended"),
      agentId: optional(id()),
      lastSeq: integer(),
      activeRunAfter: integer(),
      queue: list(queuedMessage),
      lanes: list(lane),
      approvals: list(anyObject<Wire.ThreadState["approvals"][number]>()),
    }),
  }),
  listQueue: route({
    method: "GET",
    path: "/api/memory/threads/:threadId/queue",
    tag,
    summary: "Messages that were accepted and wait for their turn",
    owner: "thread",
    params,
    query,
    response: openObject<{ messages: Wire.QueuedMessage[] }>({ messages: list(queuedMessage) }),
  }),
  editQueued: route({
    method: "PATCH",
    path: "/api/memory/threads/:threadId/queue/:messageId",
    tag,
    summary: "Changes the contents of a person's message that waits; 404 once a run has taken it",
    owner: "thread",
    params: object<ThreadParams & { messageId: string }>({ threadId: id(), messageId: id() }),
    query,
    body: object<Wire.EditQueuedBody>({
      resourceId: optional(shapes.resourceId),
      contents: shapes.contents,
    }),
    response: queuedMessage,
  }),
  removeQueued: route({
    method: "DELETE",
    path: "/api/memory/threads/:threadId/queue/:messageId",
    tag,
    summary: "Removes a person's waiting message; 404 once a run has taken it",
    owner: "thread",
    params: object<ThreadParams & { messageId: string }>({ threadId: id(), messageId: id() }),
    query,
    response: openObject<{ removed: true }>({ removed: only(true) }),
  }),
  listLanes: route({
    method: "GET",
    path: "/api/memory/threads/:threadId/lanes",
    tag,
    summary: "The current state of each lane",
    owner: "thread",
    params,
    query,
    response: openObject<{ lanes: Wire.Lane[] }>({ lanes: list(lane) }),
  }),
  listRuns: route({
    method: "GET",
    path: "/api/memory/threads/:threadId/runs",
    tag,
    summary: "Runs on a thread, newest first",
    owner: "thread",
    params,
    query: object<Wire.ThreadQuery & Wire.PageQuery>({ ...shapes.threadQuery, ...shapes.page }),
    response: openObject<Wire.Page & { runs: Wire.RunInfo[] }>({
      runs: list(named("Run", openObject<Wire.RunInfo>(runInfo))),
      ...shapes.pageResult,
    }),
  }),
  getRun: route({
    method: "GET",
    path: "/api/memory/threads/:threadId/runs/:runId",
    tag,
    summary: "A run with its steps, tokens and durations",
    owner: "thread",
    params: object<ThreadParams & { runId: string }>({ threadId: id(), runId: id() }),
    query,
    response: openObject<Wire.RunTimeline>({ ...runInfo, timeline: list(timelineStep) }),
  }),
  listNotifications: route({
    method: "GET",
    path: "/api/memory/threads/:threadId/notifications",
    tag,
    summary: "The inbox of a thread, newest change first",
    owner: "thread",
    params,
    query: object<Wire.NotificationQuery>({
      ...shapes.threadQuery,
      status: optional(text({ maxLength: 256 })),
      priority: optional(shapes.priority),
      source: optional(text({ maxLength: 256 })),
      search: optional(text({ maxLength: 256 })),
      limit: optional(integer({ minimum: 1, maximum: 1000 })),
    }),
    response: openObject<{ notifications: Wire.WireNotification[] }>({
      notifications: list(shapes.notification),
    }),
  }),
  updateNotification: route({
    method: "POST",
    path: "/api/memory/threads/:threadId/notifications/:notificationId",
    tag,
    summary: "Marks a notification seen, dismissed or archived",
    owner: "thread",
    params: object<ThreadParams & { notificationId: string }>({ threadId: id(), notificationId: id() }),
    query,
    body: object<Wire.NotificationAction>({
      resourceId: optional(shapes.resourceId),
      action: oneOf("markSeen", "dismiss", "archive"),
    }),
    response: openObject<{ notification: Wire.WireNotification }>({ notification: shapes.notification }),
  }),
};
