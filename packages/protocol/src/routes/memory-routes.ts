import { routesOf } from "./route.ts";
import {
  anyObject,
  anything,
  either,
  flag,
  id,
  integer,
  list,
  named,
  nothing,
  number,
  object,
  oneOf,
  only,
  openObject,
  optional,
  text,
  time,
} from "./shape.ts";
import * as shapes from "./shapes.ts";

const route = routesOf("memory");
const MAX_TITLE = 8192;
const query = object({ ...shapes.threadQuery });
const agentQuery = object({ agentId: optional(id()), requestContext: optional(text()) });
const title = optional(text({ maxLength: MAX_TITLE }));
/** Fields that other clients of this API repeat in the body. They have no effect there. */
const repeated = { agentId: optional(id()), requestContext: optional(anything()) };

/** An accepted message that waits for its turn. */
export const queuedMessage = named(
  "QueuedMessage",
  openObject({
    id: id(),
    agentId: id(),
    /** `now` joins the active run at its next step; `next` opens a separate run. */
    due: oneOf("now", "next"),
    /** The run it opens, or was to join. */
    runId: id(),
    signal: shapes.signal,
  }),
);

export const lane = named(
  "Lane",
  openObject({
    id: id(),
    version: integer(),
    cacheKey: text(),
    mode: oneOf("snapshot", "delta"),
    updatedAt: time(),
    /** The signal that carried the lane's state, if the history still has it. */
    contents: optional(text()),
    value: optional(anything()),
  }),
);

const runFields = {
  runId: id(),
  agentId: id(),
  threadId: id(),
  state: oneOf("running", "suspended", "done", "failed", "aborted"),
  startedAt: time(),
  endedAt: optional(time()),
  suspendedAt: optional(time()),
  steps: integer(),
  usage: optional(shapes.usage),
  error: optional(anyObject()),
};

export const runInfo = named("Run", openObject(runFields));

const timelineTool = openObject({
  toolCallId: id(),
  toolName: text(),
  state: oneOf("running", "waiting", "done", "failed", "denied"),
  /** Milliseconds from the call to its outcome, if both are stored. */
  durationMs: optional(number()),
});

const timelineStep = openObject({
  step: integer(),
  startedAt: time(),
  durationMs: optional(number()),
  finishReason: optional(shapes.finishReason),
  usage: optional(shapes.usage),
  text: optional(text()),
  toolCalls: list(timelineTool),
  /** What observational memory changed in the prompt before the step. */
  activations: optional(
    list(
      openObject({
        kind: oneOf("observation", "reflection"),
        removedTokens: integer(),
        addedTokens: integer(),
      }),
    ),
  ),
});

/** The configuration of a memory, in plain values. */
const memoryConfig = openObject({
  lastMessages: either(integer(), only(false)),
  semanticRecall: either(
    only(false),
    openObject({
      topK: integer(),
      messageRange: openObject({ before: integer(), after: integer() }),
      scope: oneOf("thread", "resource"),
      threshold: optional(number()),
      indexName: optional(text()),
    }),
  ),
  workingMemory: openObject({
    enabled: flag(),
    scope: optional(oneOf("thread", "resource")),
    template: optional(text()),
  }),
  threads: openObject({ generateTitle: flag() }),
  /** The settings of observational memory, models by id; absent where it is off. */
  observationalMemory: optional(anyObject()),
  readOnly: flag(),
});

const omWindow = openObject({ tokens: number(), threshold: number() });

export const omView = named(
  "ObservationalMemoryView",
  openObject({
    scope: oneOf("thread", "resource"),
    generation: integer(),
    windows: openObject({ messages: omWindow, observations: omWindow }),
    /** Unobserved messages that the prompt has no room for. */
    leftOut: integer(),
    models: openObject({ observer: text(), reflector: text() }),
    /** The log in its order, then what waits to join it. */
    chunks: list(
      openObject({
        id: id(),
        kind: oneOf("observe", "reflect"),
        state: oneOf("buffered", "active"),
        threadId: id(),
        text: text(),
        tokens: integer(),
        /** The messages it stands for. */
        firstMessageId: optional(id()),
        lastMessageId: optional(id()),
        messageCount: integer(),
        messageTokens: integer(),
        createdAt: time(),
        activatedAt: optional(time()),
      }),
    ),
    /** Work that is not done. */
    jobs: list(
      openObject({
        id: text(),
        kind: oneOf("observe", "reflect", "renew"),
        state: oneOf("waiting", "running", "failed"),
        attempt: integer(),
        tokens: integer(),
        dueAt: time(),
        startedAt: optional(time()),
        error: optional(text()),
      }),
    ),
  }),
);

/** A record of observational memory: times are texts. */
const omRecord = either(anything(), nothing());

export const MEMORY_ROUTES = {
  memoryStatus: route("GET /api/memory/status", {
    summary: "Whether there is memory",
    owner: "app",
    query: agentQuery,
    response: openObject({ result: flag() }),
  }),
  memoryConfig: route("GET /api/memory/config", {
    summary: "The configuration of a memory",
    owner: "app",
    query: agentQuery,
    response: openObject({ config: memoryConfig }),
  }),
  listThreads: route("GET /api/memory/threads", {
    summary: "Threads, most recently changed first",
    owner: "resource",
    query: object({
      ...shapes.threadQuery,
      search: optional(text({ maxLength: 256 })),
      includeSubagents: optional(flag()),
      orderBy: optional(oneOf("createdAt", "updatedAt")),
      direction: optional(oneOf("ASC", "DESC")),
      "orderBy[field]": optional(oneOf("createdAt", "updatedAt")),
      "orderBy[direction]": optional(oneOf("ASC", "DESC")),
      /** Values that the metadata must have, as JSON. */
      metadata: optional(text({ maxLength: 4096 })),
      ...shapes.page,
    }),
    response: openObject({
      threads: list(shapes.thread),
      ...shapes.pageResult,
    }),
  }),
  createThread: route("POST /api/memory/threads", {
    summary: "Creates a thread",
    owner: "new-thread",
    query: agentQuery,
    body: object({
      threadId: optional(id()),
      resourceId: optional(shapes.resourceId),
      title,
      metadata: optional(shapes.metadata),
      ...repeated,
    }),
    response: shapes.thread,
  }),
  getThread: route("GET /api/memory/threads/:threadId", {
    summary: "A thread",
    owner: "thread",
    query,
    response: shapes.thread,
  }),
  updateThread: route("PATCH /api/memory/threads/:threadId", {
    summary: "Changes the title, and the metadata by key",
    owner: "thread",
    query,
    body: object({
      resourceId: optional(shapes.resourceId),
      title,
      metadata: optional(shapes.metadata),
      ...repeated,
    }),
    response: shapes.thread,
  }),
  deleteThread: route("DELETE /api/memory/threads/:threadId", {
    summary: "Deletes a thread with everything on it",
    owner: "thread",
    query,
    response: openObject({ result: text() }),
  }),
  listMessages: route("GET /api/memory/threads/:threadId/messages", {
    summary: "A page of messages. Without direction: the newest, in the order they were written",
    owner: "thread",
    query: object({
      ...shapes.threadQuery,
      ...shapes.page,
      direction: optional(oneOf("ASC", "DESC")),
      roles: optional(text({ maxLength: 256 })),
    }),
    response: openObject({
      messages: list(shapes.storedMessage),
      ...shapes.pageResult,
    }),
  }),
  saveMessages: route("POST /api/memory/save-messages", {
    summary: "Adds or replaces messages of threads that exist",
    owner: "resource",
    grant: "run-options",
    query: agentQuery,
    body: object({
      messages: list(anyObject(), { maxItems: 1000 }),
      resourceId: optional(shapes.resourceId),
      ...repeated,
    }),
    response: openObject({ messages: list(shapes.storedMessage) }),
  }),
  deleteMessages: route("POST /api/memory/messages/delete", {
    summary: "Deletes messages; ids of others are ignored",
    owner: "resource",
    query: agentQuery,
    body: object({
      messageIds: list(id(), { maxItems: 1000 }),
      resourceId: optional(shapes.resourceId),
      ...repeated,
    }),
    response: openObject({ success: only(true), message: text() }),
  }),
  cloneThread: route("POST /api/memory/threads/:threadId/clone", {
    summary: "Copies a thread with its messages",
    owner: "thread",
    query: agentQuery,
    body: object({
      newThreadId: optional(id()),
      resourceId: optional(shapes.resourceId),
      ...repeated,
      title,
      metadata: optional(shapes.metadata),
      options: optional(
        object({
          messageLimit: optional(integer({ minimum: 0 })),
          messageFilter: optional(
            object({
              startDate: optional(time()),
              endDate: optional(time()),
              messageIds: optional(list(id(), { maxItems: 10_000 })),
            }),
          ),
        }),
      ),
    }),
    response: openObject({
      thread: shapes.thread,
      clonedMessages: list(shapes.storedMessage),
    }),
  }),
  getWorkingMemory: route("GET /api/memory/threads/:threadId/working-memory", {
    summary: "The working memory that a run on this thread would see",
    owner: "thread",
    query,
    response: openObject({ workingMemory: either(text(), nothing()) }),
  }),
  updateWorkingMemory: route("POST /api/memory/threads/:threadId/working-memory", {
    summary: "Replaces the working memory, which the model reads as part of a system message",
    owner: "thread",
    grant: "run-options",
    query: agentQuery,
    body: object({
      workingMemory: text({ maxLength: 262_144 }),
      resourceId: optional(shapes.resourceId),
      ...repeated,
    }),
    response: openObject({ success: only(true) }),
  }),
  searchMemory: route("GET /api/memory/search", {
    summary: "Messages by keyword, and by meaning if semantic recall is on",
    owner: "resource",
    query: object({
      ...shapes.threadQuery,
      searchQuery: text({ minLength: 1, maxLength: 1024 }),
      threadId: optional(id()),
      limit: optional(integer({ minimum: 1, maximum: 100 })),
    }),
    response: openObject({
      results: list(
        openObject({ threadId: id(), threadTitle: optional(text()), message: shapes.storedMessage }),
      ),
      count: integer(),
    }),
  }),
  getObservationalMemory: route("GET /api/memory/observational-memory", {
    summary: "The observational memory notes of a thread or resource, and earlier generations",
    owner: "resource",
    query: object({
      ...shapes.threadQuery,
      threadId: optional(id()),
      from: optional(text({ maxLength: 64 })),
      to: optional(text({ maxLength: 64 })),
      offset: optional(integer({ minimum: 0 })),
      limit: optional(integer({ minimum: 0, maximum: 100 })),
    }),
    response: openObject({ record: omRecord, history: optional(list(anything())) }),
  }),
  observationalMemoryBufferStatus: route("POST /api/memory/observational-memory/buffer-status", {
    summary: "The same record, once all observations of the thread have finished, or after 30 seconds",
    owner: "resource",
    body: object({ ...shapes.threadQuery, threadId: optional(id()) }),
    response: openObject({ record: omRecord }),
  }),
  inspectObservationalMemory: route("GET /api/memory/threads/:threadId/observational-memory", {
    summary: "The log of a thread by chunk, its windows, and unfinished work; null if it is off",
    owner: "thread",
    query,
    response: openObject({ view: either(omView, nothing()) }),
  }),
  workOnObservationalMemory: route("POST /api/memory/threads/:threadId/observational-memory", {
    summary: "Observes everything unobserved and returns when it is done, or starts failed work again",
    owner: "thread",
    startsRun: true,
    query,
    body: object({ resourceId: optional(shapes.resourceId), action: oneOf("observe", "retry") }),
    response: openObject({ done: only(true) }),
  }),
  forgetObservationalMemory: route("DELETE /api/memory/threads/:threadId/observational-memory", {
    summary: "Deletes the log of a thread, or of its resource if they share one. Messages stay",
    owner: "thread",
    query,
    response: openObject({ forgotten: only(true) }),
  }),
  listObservationalGenerations: route("GET /api/memory/threads/:threadId/observational-memory/generations", {
    summary: "The log before and after each reflection, newest first",
    owner: "thread",
    query,
    response: openObject({
      generations: list(
        openObject({
          generation: integer(),
          endedAt: time(),
          before: text(),
          after: text(),
          beforeTokens: integer(),
          afterTokens: integer(),
        }),
      ),
    }),
  }),
  getThreadState: route("GET /api/memory/threads/:threadId/state", {
    summary:
      "The state of a thread: its run, queue, lanes and pending approvals, and where to subscribe from",
    owner: "thread",
    query,
    response: openObject({
      threadId: id(),
      activeRunId: either(text(), nothing()),
      runState: oneOf("idle", "running", "suspended"),
      agentId: optional(id()),
      /** The number of the newest chunk: subscribe with `after` this to receive what follows. */
      lastSeq: integer(),
      /** Subscribe with `after` this to receive the active run from its start. */
      activeRunAfter: integer(),
      queue: list(queuedMessage),
      lanes: list(lane),
      approvals: list(shapes.waitingCall),
    }),
  }),
  listQueue: route("GET /api/memory/threads/:threadId/queue", {
    summary: "Messages that were accepted and wait for their turn",
    owner: "thread",
    query,
    response: openObject({ messages: list(queuedMessage) }),
  }),
  editQueued: route("PATCH /api/memory/threads/:threadId/queue/:messageId", {
    summary: "Changes the contents of a person's message that waits; 404 once a run has taken it",
    owner: "thread",
    query,
    body: object({
      resourceId: optional(shapes.resourceId),
      contents: shapes.contents,
    }),
    response: queuedMessage,
  }),
  removeQueued: route("DELETE /api/memory/threads/:threadId/queue/:messageId", {
    summary: "Removes a person's waiting message; 404 once a run has taken it",
    owner: "thread",
    query,
    response: openObject({ removed: only(true) }),
  }),
  listLanes: route("GET /api/memory/threads/:threadId/lanes", {
    summary: "The current state of each lane",
    owner: "thread",
    query,
    response: openObject({ lanes: list(lane) }),
  }),
  listRuns: route("GET /api/memory/threads/:threadId/runs", {
    summary: "Runs on a thread, newest first",
    owner: "thread",
    query: object({ ...shapes.threadQuery, ...shapes.page }),
    response: openObject({
      runs: list(runInfo),
      ...shapes.pageResult,
    }),
  }),
  getRun: route("GET /api/memory/threads/:threadId/runs/:runId", {
    summary: "A run with its steps, tokens and durations",
    owner: "thread",
    query,
    response: openObject({ ...runFields, timeline: list(timelineStep) }),
  }),
  listNotifications: route("GET /api/memory/threads/:threadId/notifications", {
    summary: "The inbox of a thread, newest change first",
    owner: "thread",
    query: object({
      ...shapes.threadQuery,
      status: optional(text({ maxLength: 256 })),
      priority: optional(shapes.priority),
      source: optional(text({ maxLength: 256 })),
      search: optional(text({ maxLength: 256 })),
      limit: optional(integer({ minimum: 1, maximum: 1000 })),
    }),
    response: openObject({
      notifications: list(shapes.notification),
    }),
  }),
  updateNotification: route("POST /api/memory/threads/:threadId/notifications/:notificationId", {
    summary: "Marks a notification seen, dismissed or archived",
    owner: "thread",
    query,
    body: object({
      resourceId: optional(shapes.resourceId),
      action: oneOf("markSeen", "dismiss", "archive"),
    }),
    response: openObject({ notification: shapes.notification }),
  }),
};
