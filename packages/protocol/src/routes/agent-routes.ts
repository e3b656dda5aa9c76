import type { AgentChunk } from "../chunk.ts";
import { type Route, route } from "./route.ts";
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
  type Shape,
  text,
  time,
} from "./shape.ts";
import * as shapes from "./shapes.ts";
import type * as Wire from "./wire.ts";

type AgentParams = { agentId: string };
type ToolParams = AgentParams & { toolId: string };

export interface AgentCalls {
  listAgents: { response: Record<string, Wire.AgentInfo> };
  getAgent: { params: AgentParams; response: Wire.AgentInfo };
  generate: { params: AgentParams; body: Wire.GenerateBody; response: Wire.GenerateResult };
  stream: { params: AgentParams; body: Wire.GenerateBody; event: AgentChunk & { seq?: number } };
  observe: { params: AgentParams; body: Wire.ObserveBody; event: Wire.NumberedChunk };
  sendMessage: { params: AgentParams; body: Wire.SendMessageBody; response: Wire.SendResult };
  queueMessage: { params: AgentParams; body: Wire.SendMessageBody; response: Wire.SendResult };
  sendSignal: { params: AgentParams; body: Wire.SendSignalBody; response: Wire.SendResult };
  sendStateSignal: { params: AgentParams; body: Wire.SendStateBody; response: Wire.SendStateResult };
  sendNotification: {
    params: AgentParams;
    body: Wire.SendNotificationBody;
    response: Wire.SendNotificationResult | Wire.SendNotificationResult[];
  };
  subscribe: { params: AgentParams; body: Wire.SubscribeBody; event: Wire.NumberedChunk };
  watchThread: {
    params: AgentParams & { threadId: string };
    query: { resourceId?: string; after?: number };
    event: Wire.NumberedChunk;
  };
  abortThread: {
    params: AgentParams;
    body: Wire.ThreadAddress;
    response: { aborted: boolean; runId?: string };
  };
  sendToolApproval: {
    params: AgentParams;
    body: Wire.ToolApprovalBody;
    response: { accepted: true; runId: string; toolCallId: string };
  };
  approveToolCall: { params: AgentParams; body: Wire.AnswerCallBody; event: AgentChunk };
  declineToolCall: { params: AgentParams; body: Wire.DeclineCallBody; event: AgentChunk };
  approveToolCallGenerate: {
    params: AgentParams;
    body: Wire.AnswerCallBody;
    response: Wire.GenerateResult;
  };
  declineToolCallGenerate: {
    params: AgentParams;
    body: Wire.DeclineCallBody;
    response: Wire.GenerateResult;
  };
  resumeStream: { params: AgentParams; body: Wire.AnswerCallBody; event: AgentChunk };
  listSuspendedRuns: {
    params: AgentParams;
    query: Wire.PageQuery & { threadId?: string; resourceId?: string; fromDate?: string; toDate?: string };
    response: { runs: Wire.SuspendedRun[]; total: number };
  };
  getAgentTool: { params: ToolParams; response: Wire.ToolInfo };
  executeAgentTool: { params: ToolParams; body: Wire.ExecuteToolBody; response: unknown };
}

const tag = "agents";
const params = object<AgentParams>({ agentId: id() });
const toolParams = object<ToolParams>({ agentId: id(), toolId: id() });

const agentInfo = named(
  "Agent",
  openObject<Wire.AgentInfo>({
    id: text(),
    name: text(),
    description: optional(text()),
    instructions: optional(text()),
    metadata: optional(shapes.metadata),
    provider: optional(text()),
    modelId: optional(text()),
    tools: record(shapes.toolInfo),
    agents: record(anyObject<Wire.AgentInfo["agents"][string]>()),
    workflows: record(anyObject<Wire.AgentInfo["workflows"][string]>()),
    hasMemory: flag(),
  }),
);

const generateResult = named(
  "GenerateResult",
  openObject<Wire.GenerateResult>({
    text: text(),
    object: optional(anything()),
    finishReason: anything<Wire.GenerateResult["finishReason"]>(),
    usage: anyObject<Wire.GenerateResult["usage"]>(),
    totalUsage: anyObject<Wire.GenerateResult["totalUsage"]>(),
    toolCalls: list(anything()),
    toolResults: list(anything()),
    steps: list(anything()),
    messages: list(shapes.storedMessage),
    runId: id(),
  }),
);

const sendMessageBody = object<Wire.SendMessageBody>({ message: shapes.message, ...shapes.target });

const notificationBody = object<Wire.NotificationBody>({
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

const notificationResult = openObject<Wire.SendNotificationResult>({
  accepted: only(true),
  record: shapes.notification,
  decision: anyObject<Wire.SendNotificationResult["decision"]>(),
  runId: optional(id()),
  signal: optional(shapes.signal),
});

const answerCall = object<Wire.AnswerCallBody>({
  runId: id(),
  toolCallId: optional(id()),
  resumeData: optional(anything()),
  ...shapes.runOptions,
});

const declineCall = object<Wire.DeclineCallBody>({
  runId: id(),
  toolCallId: optional(id()),
  reason: optional(text()),
  ...shapes.runOptions,
});

const suspendedRun = named(
  "SuspendedRun",
  openObject<Wire.SuspendedRun>({
    runId: id(),
    status: only("suspended"),
    threadId: id(),
    resourceId: id(),
    suspendedAt: time(),
    toolCalls: list(anyObject<Wire.SuspendedRun["toolCalls"][number]>()),
  }),
);

export const executeToolBody: Shape<Wire.ExecuteToolBody> = object<Wire.ExecuteToolBody>({
  data: optional(anything()),
  approved: optional(flag()),
  requestContext: optional(anyObject()),
});

export const AGENT_ROUTES: { readonly [Name in keyof AgentCalls]: Route<AgentCalls[Name]> } = {
  listAgents: route({
    method: "GET",
    path: "/api/agents",
    tag,
    summary: "Agents by the name they are registered under",
    owner: "app",
    response: record(agentInfo),
  }),
  getAgent: route({
    method: "GET",
    path: "/api/agents/:agentId",
    tag,
    summary: "One agent, by registered name or by id",
    owner: "app",
    params,
    response: agentInfo,
  }),
  generate: route({
    method: "POST",
    path: "/api/agents/:agentId/generate",
    tag,
    summary: "Runs to the end and returns the whole result",
    owner: "new-thread",
    threadAt: ["body.memory.thread.id", "body.memory.thread", "body.threadId"],
    params,
    body: shapes.generateBody,
    response: generateResult,
  }),
  stream: route({
    method: "POST",
    path: "/api/agents/:agentId/stream",
    tag,
    summary:
      "Runs and streams the chunks. On a thread they have its numbers, and the run continues when the reader leaves",
    owner: "new-thread",
    threadAt: ["body.memory.thread.id", "body.memory.thread", "body.threadId"],
    params,
    body: shapes.generateBody,
    event: shapes.chunk,
  }),
  observe: route({
    method: "POST",
    path: "/api/agents/:agentId/observe",
    tag,
    summary: "The chunks of one run on a thread, from its start or after a number, to its end",
    owner: "thread",
    params,
    body: object<Wire.ObserveBody>({
      runId: id(),
      threadId: id(),
      resourceId: optional(shapes.resourceId),
      after: optional(integer({ minimum: 0 })),
    }),
    event: shapes.numberedChunk,
  }),
  sendMessage: route({
    method: "POST",
    path: "/api/agents/:agentId/send-message",
    tag,
    summary: "Sends a person's message to the active run, or starts one",
    owner: "new-thread",
    params,
    body: sendMessageBody,
    response: shapes.sendResult,
  }),
  queueMessage: route({
    method: "POST",
    path: "/api/agents/:agentId/queue-message",
    tag,
    summary: "Queues a person's message for a separate run after the active one",
    owner: "new-thread",
    params,
    body: sendMessageBody,
    response: shapes.sendResult,
  }),
  sendSignal: route({
    method: "POST",
    path: "/api/agents/:agentId/signals",
    tag,
    summary: "Sends a signal. Types other than user need the grant signals",
    owner: "new-thread",
    params,
    body: object<Wire.SendSignalBody>({
      signal: object<Wire.SignalBody>({
        type: oneOf("user", "state", "reactive", "notification", "user-message", "system-reminder"),
        tagName: optional(text({ minLength: 1, maxLength: 256 })),
        contents: shapes.contents,
        attributes: optional(shapes.attributes),
        metadata: optional(shapes.metadata),
        providerOptions: optional(shapes.providerOptions),
        id: optional(id()),
        createdAt: optional(time()),
      }),
      ...shapes.target,
    }),
    response: shapes.sendResult,
  }),
  sendStateSignal: route({
    method: "POST",
    path: "/api/agents/:agentId/state-signals",
    tag,
    summary: "Sends a thread the current state of something, if it changed",
    owner: "thread",
    grant: "signals",
    params,
    body: object<Wire.SendStateBody>({
      state: object<Wire.SendStateBody["state"]>({
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
    response: either<
      [Wire.SendResult & { skipped?: false }, { accepted: true; skipped: true; reason: "unchanged" }]
    >(
      shapes.sendResult,
      openObject<{ accepted: true; skipped: true; reason: "unchanged" }>({
        accepted: only(true),
        skipped: only(true),
        reason: only("unchanged"),
      }),
    ),
  }),
  sendNotification: route({
    method: "POST",
    path: "/api/agents/:agentId/notifications",
    tag,
    summary: "Puts external events into the inbox of a thread",
    owner: "new-thread",
    grant: "signals",
    params,
    body: object<Wire.SendNotificationBody>({
      notification: either<[Wire.NotificationBody, Wire.NotificationBody[]]>(
        notificationBody,
        list(notificationBody, { maxItems: 1000 }),
      ),
      resourceId: optional(shapes.resourceId),
      threadId: id(),
    }),
    response: either<[Wire.SendNotificationResult, Wire.SendNotificationResult[]]>(
      notificationResult,
      list(notificationResult),
    ),
  }),
  subscribe: route({
    method: "POST",
    path: "/api/agents/:agentId/threads/subscribe",
    tag,
    summary: "Follows a thread. Last-Event-ID continues after a number",
    owner: "new-thread",
    params,
    body: object<Wire.SubscribeBody>({
      resourceId: optional(shapes.resourceId),
      threadId: id(),
      after: optional(integer({ minimum: 0 })),
    }),
    event: shapes.numberedChunk,
  }),
  watchThread: route({
    method: "GET",
    path: "/api/agents/:agentId/threads/:threadId/events",
    tag,
    summary: "Follows a thread, for EventSource. Last-Event-ID continues after a number",
    owner: "new-thread",
    params: object<AgentParams & { threadId: string }>({ agentId: id(), threadId: id() }),
    query: object<{ resourceId?: string; after?: number }>({
      resourceId: optional(shapes.resourceId),
      after: optional(integer({ minimum: 0 })),
    }),
    event: shapes.numberedChunk,
  }),
  abortThread: route({
    method: "POST",
    path: "/api/agents/:agentId/threads/abort",
    tag,
    summary: "Aborts the active run of a thread, in whichever process it runs",
    owner: "thread",
    params,
    body: object<Wire.ThreadAddress>({ resourceId: optional(shapes.resourceId), threadId: id() }),
    response: openObject<{ aborted: boolean; runId?: string }>({ aborted: flag(), runId: optional(id()) }),
  }),
  sendToolApproval: route({
    method: "POST",
    path: "/api/agents/:agentId/send-tool-approval",
    tag,
    summary: "Approves or declines a waiting tool call; the run continues on the thread's stream",
    owner: "thread",
    params,
    body: object<Wire.ToolApprovalBody>({
      resourceId: optional(shapes.resourceId),
      threadId: id(),
      toolCallId: optional(id()),
      approved: flag(),
      resumeData: optional(anything()),
      declineContext: optional(
        object<{ reason?: string; message?: string }>({
          reason: optional(text()),
          message: optional(text()),
        }),
      ),
      messages: optional(list(either<[string, Record<string, unknown>]>(text(), anyObject()))),
      streamOptions: optional(object<Wire.RunOptions>({ ...shapes.runOptions })),
      requestContext: optional(anyObject()),
    }),
    response: openObject<{ accepted: true; runId: string; toolCallId: string }>({
      accepted: only(true),
      runId: id(),
      toolCallId: id(),
    }),
  }),
  approveToolCall: route({
    method: "POST",
    path: "/api/agents/:agentId/approve-tool-call",
    tag,
    summary: "Approves a waiting tool call and streams the rest of its run",
    owner: "run",
    params,
    body: answerCall,
    event: shapes.chunk,
  }),
  declineToolCall: route({
    method: "POST",
    path: "/api/agents/:agentId/decline-tool-call",
    tag,
    summary: "Declines a waiting tool call and streams the rest of its run",
    owner: "run",
    params,
    body: declineCall,
    event: shapes.chunk,
  }),
  approveToolCallGenerate: route({
    method: "POST",
    path: "/api/agents/:agentId/approve-tool-call-generate",
    tag,
    summary: "Approves a waiting tool call, runs to the end and returns the whole result",
    owner: "run",
    params,
    body: answerCall,
    response: generateResult,
  }),
  declineToolCallGenerate: route({
    method: "POST",
    path: "/api/agents/:agentId/decline-tool-call-generate",
    tag,
    summary: "Declines a waiting tool call, runs to the end and returns the whole result",
    owner: "run",
    params,
    body: declineCall,
    response: generateResult,
  }),
  resumeStream: route({
    method: "POST",
    path: "/api/agents/:agentId/resume-stream",
    tag,
    summary: "Resumes a suspended tool call with resumeData and streams the rest of its run",
    owner: "run",
    params,
    body: answerCall,
    event: shapes.chunk,
  }),
  listSuspendedRuns: route({
    method: "GET",
    path: "/api/agents/:agentId/suspended-runs",
    tag,
    summary: "Runs that wait for a person",
    owner: "resource",
    params,
    query: object<AgentCalls["listSuspendedRuns"]["query"]>({
      threadId: optional(id()),
      resourceId: optional(shapes.resourceId),
      fromDate: optional(time()),
      toDate: optional(time()),
      ...shapes.page,
    }),
    response: openObject<{ runs: Wire.SuspendedRun[]; total: number }>({
      runs: list(suspendedRun),
      total: integer(),
    }),
  }),
  getAgentTool: route({
    method: "GET",
    path: "/api/agents/:agentId/tools/:toolId",
    tag,
    summary: "A tool of an agent",
    owner: "app",
    params: toolParams,
    response: shapes.toolInfo,
  }),
  executeAgentTool: route({
    method: "POST",
    path: "/api/agents/:agentId/tools/:toolId/execute",
    tag,
    summary: "Runs a tool of an agent",
    owner: "grant",
    grant: "tools",
    params: toolParams,
    body: executeToolBody,
    response: anything(),
  }),
};
