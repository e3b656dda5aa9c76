import type { AgentControllerMessage, AgentControllerMessageContent } from "../session/controller-message.ts";
import type { SessionFrame } from "../session/session-frame.ts";
import { notificationBody, notificationResult } from "./agent-routes.ts";
import { routesOf } from "./route.ts";
import {
  anything,
  anyObject,
  flag,
  id,
  integer,
  list,
  named,
  object,
  objectLike,
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

const route = routesOf("controllers");

const SESSION = "/api/agent-controller/:controllerId/sessions/:sessionId";
const MAX_FILES = 20;

const policy = oneOf("allow", "ask", "deny");
const category = oneOf("read", "edit", "execute", "mcp", "other");
const rules = openObject({ categories: record(text()), tools: record(text()) });
const grants = openObject({ categories: list(text()), tools: list(text()) });

const sessionInfo = named(
  "Session",
  openObject({
    controllerId: id(),
    id: id(),
    ownerId: id(),
    resourceId: id(),
    threadId: optional(id()),
    modeId: id(),
    modelId: text(),
    tags: record(text()),
    settings: anyObject("Models of subagents, and the threads that were deleted last"),
    version: integer({ minimum: 1 }),
    state: optional(anyObject("With the grant control")),
    rules: optional(rules),
    grants: optional(grants),
  }),
);

const file = object({
  data: text({ description: "Base64, a data URL or a URL; of texts also the text itself" }),
  mediaType: text({ minLength: 1, maxLength: 256 }),
  filename: optional(text({ maxLength: 1024 })),
});

const said = object({
  message: text(),
  files: optional(list(file, { maxItems: MAX_FILES })),
  id: optional(id()),
});
const words = object({ message: text(), id: optional(id()) });

/** What became of a message. */
const admitted = openObject({
  accepted: only(true),
  action: text(),
  runId: optional(id()),
  duplicate: optional(flag()),
});

const answered = openObject({ accepted: only(true), runId: id(), toolCallId: id() });

const sessionMessage = named(
  "SessionMessage",
  openObject({
    id: id(),
    role: oneOf("user", "assistant", "system"),
    content: list(anyObject()),
    createdAt: time(),
  }),
) as object as Shape<
  Omit<AgentControllerMessage, "createdAt"> & { createdAt: string },
  AgentControllerMessage
>;

const content = list(anyObject()) as object as Shape<AgentControllerMessageContent[]>;
const queued = openObject({ id: id(), content, createdAt: time() });

const sessionFrame = named(
  "SessionFrame",
  openObject({
    type: text({ description: "A chunk type, or session-snapshot, -changed, -facts, -event, -live" }),
  }),
) as object as Shape<SessionFrame>;

const threadAndSession = openObject({ thread: shapes.thread, session: sessionInfo });

export const CONTROLLER_ROUTES = {
  listControllers: route("GET /api/agent-controller", {
    summary: "The controllers of this app",
    owner: "app",
    response: openObject({ agentControllers: list(openObject({ id: id() })) }),
  }),
  listControllerModes: route("GET /api/agent-controller/:controllerId/modes", {
    summary: "The modes of a controller",
    owner: "app",
    response: openObject({
      modes: list(
        openObject({
          id: id(),
          name: optional(text()),
          description: optional(text()),
          defaultModelId: optional(text()),
          transitionsTo: optional(text()),
        }),
      ),
    }),
  }),
  listControllerModels: route("GET /api/agent-controller/:controllerId/models", {
    summary: "The models that a session can switch to",
    owner: "app",
    response: openObject({
      models: list(
        openObject({
          id: id(),
          provider: text(),
          modelName: text(),
          hasApiKey: flag(),
          apiKeyEnvVar: optional(text()),
          useCount: integer(),
        }),
      ),
    }),
  }),
  listSessions: route("GET /api/agent-controller/:controllerId/sessions", {
    summary: "The caller's sessions, newest first",
    owner: "resource",
    query: object({
      resourceId: optional(shapes.resourceId),
      limit: optional(integer({ minimum: 1, maximum: 1000 })),
    }),
    response: openObject({ sessions: list(sessionInfo) }),
  }),
  createSession: route("POST /api/agent-controller/:controllerId/sessions", {
    summary: "Opens a session, or creates it. Without an id, it is the resource's default session",
    owner: "resource",
    body: object({
      id: optional(id()),
      resourceId: optional(shapes.resourceId),
      threadId: optional(id()),
      tags: optional(record(text({ maxLength: 256 }))),
    }),
    response: sessionInfo,
  }),
  getSession: route(`GET ${SESSION}`, {
    summary: "A session: its thread, mode and model, and whether it is running",
    owner: "session",
    response: openObject({
      session: sessionInfo,
      isRunning: flag(),
      runId: optional(id()),
      queuedFollowUps: integer(),
      tokenUsage: anyObject(),
      tasks: list(anyObject()),
    }),
  }),
  deleteSession: route(`DELETE ${SESSION}`, {
    summary: "Deletes a session. Its active run is aborted, its threads are kept",
    owner: "session",
    response: openObject({ deleted: only(true) }),
  }),
  streamSession: route(`GET ${SESSION}/stream`, {
    summary: "Follows a session: a snapshot, then its events. Last-Event-ID resumes a broken stream",
    owner: "session",
    event: sessionFrame,
  }),
  sendSessionMessage: route(`POST ${SESSION}/messages`, {
    summary: "Sends a message to the active run, or starts one",
    owner: "session",
    startsRun: true,
    body: said,
    response: admitted,
  }),
  steerSession: route(`POST ${SESSION}/steer`, {
    summary: "Adds an instruction to the active run",
    owner: "session",
    startsRun: true,
    body: words,
    response: admitted,
  }),
  followUpSession: route(`POST ${SESSION}/follow-up`, {
    summary: "Queues a message for a separate run after the active one",
    owner: "session",
    startsRun: true,
    body: said,
    response: admitted,
  }),
  abortSession: route(`POST ${SESSION}/abort`, {
    summary: "Aborts the active run of the session",
    owner: "session",
    body: object({}),
    response: openObject({ aborted: flag(), runId: optional(id()) }),
  }),
  answerSessionApproval: route(`POST ${SESSION}/tool-approval`, {
    summary: "Answers a call that waits for permission. always_allow_category needs the grant control",
    owner: "session",
    startsRun: true,
    body: object({
      toolCallId: optional(id()),
      decision: optional(oneOf("approve", "decline", "always_allow_category")),
      approved: optional(flag()),
      declineContext: optional(object({ reason: optional(text()), message: optional(text()) })),
    }),
    response: answered,
  }),
  answerSessionSuspension: route(`POST ${SESSION}/tool-suspension`, {
    summary: "Answers a tool that asked: a question, a plan, or any other",
    owner: "session",
    startsRun: true,
    body: object({ toolCallId: optional(id()), resumeData: anything() }),
    response: answered,
  }),
  switchSessionMode: route(`POST ${SESSION}/mode`, {
    summary: "Switches the mode, starting with the next run",
    owner: "session",
    body: object({ modeId: id() }),
    response: sessionInfo,
  }),
  switchSessionModel: route(`POST ${SESSION}/model`, {
    summary: "Switches the model. A model outside the catalogue needs the grant control",
    owner: "session",
    body: object({ modelId: id(), scope: optional(oneOf("thread", "global")), modeId: optional(id()) }),
    response: sessionInfo,
  }),
  switchSessionThread: route(`POST ${SESSION}/thread`, {
    summary: "Switches to another thread of the session's resource",
    owner: "session",
    body: object({ threadId: id(), abort: optional(flag()) }),
    response: sessionInfo,
  }),
  moveSession: route(`POST ${SESSION}/resource`, {
    summary: "Moves a session to another resource. Only on a server without an authorize function",
    owner: "session",
    body: object({ newResourceId: id() }),
    response: sessionInfo,
  }),
  listSessionThreads: route(`GET ${SESSION}/threads`, {
    summary: "The threads of the session's resource, newest first",
    owner: "session",
    query: object({ includeForkedSubagents: optional(flag()) }),
    response: openObject({ threads: list(shapes.thread) }),
  }),
  createSessionThread: route(`POST ${SESSION}/threads`, {
    summary: "Creates a thread and switches to it",
    owner: "session",
    body: object({ title: optional(text()) }),
    response: threadAndSession,
  }),
  cloneSessionThread: route(`POST ${SESSION}/threads/clone`, {
    summary: "Copies a thread and switches to the copy",
    owner: "session",
    body: object({ sourceThreadId: optional(id()), title: optional(text()) }),
    response: threadAndSession,
  }),
  renameSessionThread: route(`PUT ${SESSION}/threads/:threadId`, {
    summary: "Renames a thread",
    owner: "session",
    body: object({ title: text() }),
    response: sessionInfo,
  }),
  deleteSessionThread: route(`DELETE ${SESSION}/threads/:threadId`, {
    summary: "Deletes a thread with its messages",
    owner: "session",
    response: sessionInfo,
  }),
  listSessionMessages: route(`GET ${SESSION}/threads/:threadId/messages`, {
    summary: "The newest messages of a thread, oldest first",
    owner: "session",
    query: object({ limit: optional(integer({ minimum: 0, maximum: 1000 })) }),
    response: openObject({ messages: list(sessionMessage) }),
  }),
  listSubagentMessages: route(`GET ${SESSION}/subagents/:toolCallId/messages`, {
    summary: "The messages of the subagent of a call on the session's thread, oldest first",
    owner: "session",
    query: object({ limit: optional(integer({ minimum: 0, maximum: 1000 })) }),
    response: openObject({ messages: list(sessionMessage) }),
  }),
  getSessionOM: route(`GET ${SESSION}/om`, {
    summary: "The observational memory of the session's thread, with its models and thresholds",
    owner: "session",
    response: openObject({
      record: anything(),
      observer: openObject({ modelId: anything(), threshold: anything() }),
      reflector: openObject({ modelId: anything(), threshold: anything() }),
    }),
  }),
  listFollowUps: route(`GET ${SESSION}/follow-ups`, {
    summary: "The queued messages",
    owner: "session",
    response: openObject({ followUps: list(queued) }),
  }),
  editFollowUp: route(`PUT ${SESSION}/follow-ups/:messageId`, {
    summary: "Changes a queued message",
    owner: "session",
    body: object({ message: text(), files: optional(list(file, { maxItems: MAX_FILES })) }),
    response: openObject({ id: id() }),
  }),
  removeFollowUp: route(`DELETE ${SESSION}/follow-ups/:messageId`, {
    summary: "Removes a queued message",
    owner: "session",
    response: openObject({ id: id() }),
  }),
  steerFollowUp: route(`POST ${SESSION}/follow-ups/:messageId/steer`, {
    summary: "Adds a queued message to the active run",
    owner: "session",
    body: object({}),
    response: openObject({ id: id() }),
  }),
  moveFollowUp: route(`POST ${SESSION}/follow-ups/:messageId/move`, {
    summary: "Moves a queued message to another position in the queue",
    owner: "session",
    body: object({ to: integer({ minimum: 0 }) }),
    response: openObject({ id: id() }),
  }),
  notifySession: route(`POST ${SESSION}/notifications`, {
    summary: "Puts an event into the inbox of the session's thread",
    owner: "session",
    grant: "signals",
    startsRun: true,
    body: notificationBody,
    response: notificationResult,
  }),
  getSessionPermissions: route(`GET ${SESSION}/permissions`, {
    summary: "The permissions of tools in a session",
    owner: "session",
    grant: "control",
    response: openObject({ rules, grants }),
  }),
  setCategoryPermission: route(`PUT ${SESSION}/permissions/category`, {
    summary: "Sets the rule for a category of tools",
    owner: "session",
    grant: "control",
    body: object({ category, policy }),
    response: sessionInfo,
  }),
  setToolPermission: route(`PUT ${SESSION}/permissions/tool`, {
    summary: "Sets the rule for a tool, or for its calls with certain arguments",
    owner: "session",
    grant: "control",
    body: object({ toolName: id(), policy }),
    response: sessionInfo,
  }),
  grantPermissions: route(`POST ${SESSION}/permissions/grants`, {
    summary: "Lets categories or tools run without asking",
    owner: "session",
    grant: "control",
    body: object({ categories: optional(list(category)), tools: optional(list(id())) }),
    response: sessionInfo,
  }),
  revokePermissions: route(`POST ${SESSION}/permissions/revoke`, {
    summary: "Revokes such grants",
    owner: "session",
    grant: "control",
    body: object({ categories: optional(list(category)), tools: optional(list(id())) }),
    response: sessionInfo,
  }),
  setSessionState: route(`PUT ${SESSION}/state`, {
    summary: "Changes the state by key, including yolo",
    owner: "session",
    grant: "control",
    body: object({ updates: objectLike<Record<string, unknown>>() }),
    response: sessionInfo,
  }),
};
