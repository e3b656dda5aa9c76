import { SIGNAL_TYPES } from "../signal-type.ts";
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
  object,
  oneOf,
  only,
  openObject,
  optional,
  record,
  text,
  time,
} from "./shape.ts";
import * as shapes from "./shapes.ts";

const route = routesOf("agents");

export const agentInfo = named(
  "Agent",
  openObject({
    id: text(),
    name: text(),
    description: optional(text()),
    /** With the grant `inspect`. */
    instructions: optional(text()),
    metadata: optional(shapes.metadata),
    provider: optional(text()),
    modelId: optional(text()),
    tools: record(shapes.toolInfo),
    agents: record(openObject({ id: text(), name: text(), description: optional(text()) })),
    workflows: record(openObject({ name: text() })),
    /** Whether it has memory, and so threads. */
    hasMemory: flag(),
  }),
);

/** The result of `generate`: everything a run produced. */
const generateResult = named(
  "GenerateResult",
  openObject({
    text: text(),
    object: optional(anything()),
    finishReason: shapes.finishReason,
    usage: shapes.usage,
    totalUsage: shapes.usage,
    toolCalls: list(anything()),
    toolResults: list(anything()),
    steps: list(anything()),
    reasoningText: optional(text()),
    sources: list(anything()),
    files: list(anything()),
    warnings: list(anything()),
    response: anyObject(),
    messages: list(shapes.storedMessage),
    runId: id(),
    traceId: optional(text()),
    tripwire: optional(anyObject()),
    suspendPayload: optional(anything()),
    resumeSchema: optional(text()),
  }),
);

const sendMessageBody = object({ message: shapes.message, ...shapes.target });

export const notificationBody = object({
  source: text({ minLength: 1, maxLength: 256 }),
  kind: text({ minLength: 1, maxLength: 256 }),
  summary: text({ minLength: 1 }),
  priority: optional(shapes.priority),
  payload: optional(anything()),
  sourceId: optional(id()),
  dedupeKey: optional(id()),
  coalesceKey: optional(id()),
  attributes: optional(shapes.attributes),
  metadata: optional(shapes.metadata),
});

export const notificationResult = openObject({
  accepted: only(true),
  record: shapes.notification,
  decision: openObject({
    action: text(),
    reason: optional(text()),
    deliverAt: optional(time()),
    summaryAt: optional(time()),
  }),
  runId: optional(id()),
  signal: optional(shapes.signal),
});

export const signalBody = object({
  type: oneOf(...SIGNAL_TYPES, "user-message", "system-reminder"),
  tagName: optional(text({ minLength: 1, maxLength: 256 })),
  contents: shapes.contents,
  attributes: optional(shapes.attributes),
  metadata: optional(shapes.metadata),
  providerOptions: optional(shapes.providerOptions),
  id: optional(id()),
  createdAt: optional(time()),
});

const answerCall = object({
  runId: id(),
  toolCallId: optional(id()),
  resumeData: optional(anything()),
  ...shapes.runOptions,
});

const declineCall = object({
  runId: id(),
  toolCallId: optional(id()),
  reason: optional(text()),
  ...shapes.runOptions,
});

export const suspendedRun = named(
  "SuspendedRun",
  openObject({
    runId: id(),
    status: only("suspended"),
    threadId: id(),
    resourceId: id(),
    suspendedAt: time(),
    toolCalls: list(shapes.waitingCall),
  }),
);

export const AGENT_ROUTES = {
  listAgents: route("GET /api/agents", {
    summary: "Agents by the name they are registered under",
    owner: "app",
    response: record(agentInfo),
  }),
  getAgent: route("GET /api/agents/:agentId", {
    summary: "One agent, by registered name or by id",
    owner: "app",
    response: agentInfo,
  }),
  generate: route("POST /api/agents/:agentId/generate", {
    summary: "Runs to the end and returns the whole result",
    owner: "new-thread",
    startsRun: true,
    threadAt: ["body.memory.thread.id", "body.memory.thread", "body.threadId"],
    body: shapes.generateBody,
    response: generateResult,
  }),
  stream: route("POST /api/agents/:agentId/stream", {
    summary:
      "Runs and streams the chunks. On a thread they have its numbers, and the run continues when the reader leaves",
    owner: "new-thread",
    startsRun: true,
    threadAt: ["body.memory.thread.id", "body.memory.thread", "body.threadId"],
    body: shapes.generateBody,
    event: shapes.chunk,
  }),
  observe: route("POST /api/agents/:agentId/observe", {
    summary: "The chunks of one run on a thread, from its start or after a number, to its end",
    owner: "thread",
    body: object({
      runId: id(),
      threadId: id(),
      resourceId: optional(shapes.resourceId),
      after: optional(integer({ minimum: 0 })),
    }),
    event: shapes.numberedChunk,
  }),
  sendMessage: route("POST /api/agents/:agentId/send-message", {
    summary: "Sends a person's message to the active run, or starts one",
    owner: "new-thread",
    startsRun: true,
    body: sendMessageBody,
    response: shapes.sendResult,
  }),
  queueMessage: route("POST /api/agents/:agentId/queue-message", {
    summary: "Queues a person's message for a separate run after the active one",
    owner: "new-thread",
    startsRun: true,
    body: sendMessageBody,
    response: shapes.sendResult,
  }),
  sendSignal: route("POST /api/agents/:agentId/signals", {
    summary: "Sends a signal. Types other than user need the grant signals",
    owner: "new-thread",
    startsRun: true,
    body: object({
      signal: signalBody,
      ...shapes.target,
    }),
    response: shapes.sendResult,
  }),
  sendStateSignal: route("POST /api/agents/:agentId/state-signals", {
    summary: "Sends a thread the current state of something, if it changed",
    owner: "thread",
    startsRun: true,
    grant: "signals",
    body: object({
      state: object({
        id: id(),
        cacheKey: text({ minLength: 1 }),
        contents: shapes.contents,
        mode: optional(oneOf("snapshot", "delta")),
        value: optional(anything()),
        delta: optional(anything()),
        attributes: optional(shapes.attributes),
        metadata: optional(shapes.metadata),
        tagName: optional(text({ minLength: 1, maxLength: 256 })),
      }),
      ...shapes.target,
    }),
    response: either(
      shapes.sendResult,
      openObject({
        accepted: only(true),
        skipped: only(true),
        reason: only("unchanged"),
      }),
    ),
  }),
  sendNotification: route("POST /api/agents/:agentId/notifications", {
    summary: "Puts external events into the inbox of a thread",
    owner: "new-thread",
    startsRun: true,
    grant: "signals",
    body: object({
      notification: either(notificationBody, list(notificationBody, { maxItems: 1000 })),
      resourceId: optional(shapes.resourceId),
      threadId: id(),
    }),
    response: either(notificationResult, list(notificationResult)),
  }),
  subscribe: route("POST /api/agents/:agentId/threads/subscribe", {
    summary: "Follows a thread. Last-Event-ID continues after a number",
    owner: "new-thread",
    body: object({
      resourceId: optional(shapes.resourceId),
      threadId: id(),
      after: optional(integer({ minimum: 0 })),
    }),
    event: shapes.numberedChunk,
  }),
  watchThread: route("GET /api/agents/:agentId/threads/:threadId/events", {
    summary: "Follows a thread, for EventSource. Last-Event-ID continues after a number",
    owner: "new-thread",
    query: object({
      resourceId: optional(shapes.resourceId),
      after: optional(integer({ minimum: 0 })),
    }),
    event: shapes.numberedChunk,
  }),
  abortThread: route("POST /api/agents/:agentId/threads/abort", {
    summary: "Aborts the active run of a thread, in whichever process it runs",
    owner: "thread",
    body: object({ resourceId: optional(shapes.resourceId), threadId: id() }),
    response: openObject({ aborted: flag(), runId: optional(id()) }),
  }),
  sendToolApproval: route("POST /api/agents/:agentId/send-tool-approval", {
    summary: "Approves or declines a waiting tool call; the run continues on the thread's stream",
    owner: "thread",
    startsRun: true,
    body: object({
      resourceId: optional(shapes.resourceId),
      threadId: id(),
      toolCallId: optional(id()),
      approved: flag(),
      resumeData: optional(anything()),
      declineContext: optional(
        object({
          reason: optional(text()),
          message: optional(text()),
        }),
      ),
      messages: optional(list(either(text(), anyObject()))),
      streamOptions: optional(object({ ...shapes.runOptions })),
      requestContext: optional(anyObject()),
    }),
    response: openObject({
      accepted: only(true),
      runId: id(),
      toolCallId: id(),
    }),
  }),
  approveToolCall: route("POST /api/agents/:agentId/approve-tool-call", {
    summary: "Approves a waiting tool call and streams the rest of its run",
    owner: "run",
    startsRun: true,
    body: answerCall,
    event: shapes.chunk,
  }),
  declineToolCall: route("POST /api/agents/:agentId/decline-tool-call", {
    summary: "Declines a waiting tool call and streams the rest of its run",
    owner: "run",
    startsRun: true,
    body: declineCall,
    event: shapes.chunk,
  }),
  approveToolCallGenerate: route("POST /api/agents/:agentId/approve-tool-call-generate", {
    summary: "Approves a waiting tool call, runs to the end and returns the whole result",
    owner: "run",
    startsRun: true,
    body: answerCall,
    response: generateResult,
  }),
  declineToolCallGenerate: route("POST /api/agents/:agentId/decline-tool-call-generate", {
    summary: "Declines a waiting tool call, runs to the end and returns the whole result",
    owner: "run",
    startsRun: true,
    body: declineCall,
    response: generateResult,
  }),
  resumeStream: route("POST /api/agents/:agentId/resume-stream", {
    summary: "Resumes a suspended tool call with resumeData and streams the rest of its run",
    owner: "run",
    startsRun: true,
    body: answerCall,
    event: shapes.chunk,
  }),
  listSuspendedRuns: route("GET /api/agents/:agentId/suspended-runs", {
    summary: "Runs that wait for a person",
    owner: "resource",
    query: object({
      threadId: optional(id()),
      resourceId: optional(shapes.resourceId),
      fromDate: optional(time()),
      toDate: optional(time()),
      ...shapes.page,
    }),
    response: openObject({
      runs: list(suspendedRun),
      total: integer(),
    }),
  }),
  getAgentTool: route("GET /api/agents/:agentId/tools/:toolId", {
    summary: "A tool of an agent",
    owner: "app",
    response: shapes.toolInfo,
  }),
  executeAgentTool: route("POST /api/agents/:agentId/tools/:toolId/execute", {
    summary: "Runs a tool of an agent",
    owner: "grant",
    grant: "tools",
    body: shapes.executeToolBody,
    response: anything(),
  }),
};
