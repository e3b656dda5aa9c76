import type { Workspace } from "@selvedge/core/workspace";
import { Memory } from "@selvedge/memory";
import { ROUTE_LIST, type RouteName } from "@selvedge/protocol/routes";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, test } from "vitest";
import { tenantFiles } from "./__fixtures__/tenant-files.ts";
import { byHeader, frames, type Input, readUntil, served, type Served } from "./__fixtures__/served.ts";

/*
 * Every route, attacked by somebody whose subject it is not. A route that is added without an example here does not
 * compile.
 */

type Examples = { [Name in RouteName]: (ids: Ids) => Input<Name> };

/** What the victim has. */
interface Ids {
  threadId: string;
  runId: string;
  toolCallId: string;
  messageId: string;
  notificationId: string;
  responseId: string;
  sessionId: string;
  sessionThreadId: string;
  sessionCallId: string;
  followUpId: string;
  workflowRunId: string;
  scheduleId: string;
}

const agentId = "helper";
const ALL = "control,signals,run-options,tools,approve-tools,mcp,vectors,inspect";
const MARK = "the victim's secret";

const answerCall = ({ runId, toolCallId }: Ids) => ({ params: { agentId }, body: { runId, toolCallId } });
const thread = ({ threadId }: Ids) => ({ params: { threadId } });

const controllerId = "coder";
const session = ({ sessionId }: Ids) => ({ params: { controllerId, sessionId } });
const sessionThread = ({ sessionId, sessionThreadId }: Ids) => ({
  params: { controllerId, sessionId, threadId: sessionThreadId },
});
const followUp = ({ sessionId, followUpId }: Ids) => ({
  params: { controllerId, sessionId, messageId: followUpId },
});

const workspaceId = "files";
const file = { params: { workspaceId }, query: { path: "note.md" } };
const skill = { params: { workspaceId, skillName: "weave" } };

const workflowId = "refund";
const ofWorkflow = { params: { workflowId } };
const workflowRun = ({ workflowRunId }: Ids) => ({ params: { workflowId, runId: workflowRunId } });
const started = ({ workflowRunId }: Ids) => ({
  ...ofWorkflow,
  query: { runId: workflowRunId },
  body: { inputData: { order: "o-1" } },
});
const resumed = ({ workflowRunId }: Ids) => ({
  ...ofWorkflow,
  query: { runId: workflowRunId },
  body: { step: "approve", resumeData: { approved: true } },
});
const travelled = ({ workflowRunId }: Ids) => ({
  ...ofWorkflow,
  query: { runId: workflowRunId },
  body: { step: "approve" },
});
const namedRun = ({ workflowRunId }: Ids) => ({ ...ofWorkflow, query: { runId: workflowRunId }, body: {} });
const scorerId = "brief";
const scored = { scorerId, entityId: agentId, entityType: "AGENT", source: "LIVE" as const };
const schedule = ({ scheduleId }: Ids) => ({ params: { scheduleId } });

const EXAMPLES: Examples = {
  listWorkflows: () => ({}),
  listWorkflowRunCounts: () => ({ query: { resourceId: "ann" } }),
  getWorkflow: () => ofWorkflow,
  listWorkflowRuns: () => ({ ...ofWorkflow, query: { resourceId: "ann" } }),
  getWorkflowRun: workflowRun,
  deleteWorkflowRun: workflowRun,
  cancelWorkflowRun: (ids) => ({ ...workflowRun(ids), body: {} }),
  createWorkflowRun: namedRun,
  startWorkflowRun: started,
  startWorkflowRunAsync: started,
  streamWorkflowRun: started,
  resumeWorkflowRun: resumed,
  resumeWorkflowRunNoWait: resumed,
  resumeWorkflowRunAsync: resumed,
  resumeWorkflowRunStream: resumed,
  observeWorkflowRun: namedRun,
  restartWorkflowRun: namedRun,
  restartWorkflowRunAsync: namedRun,
  restartAllWorkflowRuns: () => ({ ...ofWorkflow, body: {} }),
  timeTravelWorkflowRun: travelled,
  timeTravelWorkflowRunAsync: travelled,
  timeTravelWorkflowRunStream: travelled,
  listDynamicWorkflows: () => ({}),
  upsertDynamicWorkflow: () => ({
    body: { id: "d", inputSchema: {}, outputSchema: {}, graph: [{ type: "tool", id: "add", toolId: "add" }] },
  }),
  getDynamicWorkflow: () => ({ params: { definitionId: "none" } }),
  deleteDynamicWorkflow: () => ({ params: { definitionId: "none" } }),
  listSchedules: () => ({ query: { resourceId: "ann" } }),
  createSchedule: ({ threadId }) => ({ body: { agentId, prompt: "x", threadId, cron: "0 0 1 1 *" } }),
  getSchedule: schedule,
  updateSchedule: (ids) => ({ ...schedule(ids), body: { prompt: "x" } }),
  deleteSchedule: schedule,
  pauseSchedule: schedule,
  resumeSchedule: schedule,
  runSchedule: schedule,
  listScheduleTriggers: schedule,
  listScorers: () => ({}),
  getScorer: () => ({ params: { scorerId: "none" } }),
  listScoresByScorerId: () => ({ params: { scorerId }, query: { resourceId: "ann" } }),
  listScoresByRunId: ({ runId }) => ({ params: { runId }, query: { resourceId: "ann" } }),
  listScoresByEntityId: () => ({
    params: { entityType: "AGENT", entityId: agentId },
    query: { resourceId: "ann" },
  }),
  saveScore: ({ runId }) => ({
    body: { score: { ...scored, runId, resourceId: "ann", score: 0 } },
  }),
  listWorkspaces: () => ({}),
  getWorkspace: () => ({ params: { workspaceId } }),
  listWorkspaceFiles: () => ({ params: { workspaceId }, query: { path: ".", recursive: true } }),
  readWorkspaceFile: () => file,
  statWorkspaceFile: () => file,
  writeWorkspaceFile: () => ({ params: { workspaceId }, body: { path: "note.md", content: "x" } }),
  makeWorkspaceDirectory: () => ({ params: { workspaceId }, body: { path: "new" } }),
  deleteWorkspaceFile: () => file,
  searchWorkspace: () => ({ params: { workspaceId }, query: { query: "secret" } }),
  indexWorkspace: () => ({ params: { workspaceId }, body: { path: "note.md", content: "x" } }),
  searchSkills: () => ({ params: { workspaceId }, query: { query: "secret" } }),
  listSkills: () => ({ params: { workspaceId } }),
  getSkill: () => skill,
  listSkillReferences: () => skill,
  getSkillReference: () => ({ params: { ...skill.params, referencePath: "yarn.md" } }),
  listWorkspaceChanges: () => ({ params: { workspaceId }, query: { resourceId: "ann" } }),
  listWorkspaceProcesses: ({ threadId }) => ({ params: { workspaceId }, query: { threadId } }),
  killWorkspaceProcess: ({ threadId }) => ({ params: { workspaceId, pid: "1" }, body: { threadId } }),
  getAgentSkill: () => ({ params: { agentId, skillName: "weave" } }),
  undoWorkspaceChange: ({ toolCallId }) => ({ params: { workspaceId, toolCallId }, body: {} }),
  listControllers: () => ({}),
  listControllerModes: () => ({ params: { controllerId } }),
  listControllerModels: () => ({ params: { controllerId } }),
  listSessions: () => ({ params: { controllerId }, query: { resourceId: "ann" } }),
  createSession: ({ sessionId }) => ({ params: { controllerId }, body: { id: sessionId } }),
  getSession: session,
  deleteSession: session,
  streamSession: session,
  sendSessionMessage: (ids) => ({ ...session(ids), body: { message: "x" } }),
  steerSession: (ids) => ({ ...session(ids), body: { message: "x" } }),
  followUpSession: (ids) => ({ ...session(ids), body: { message: "x" } }),
  abortSession: (ids) => ({ ...session(ids), body: {} }),
  answerSessionApproval: (ids) => ({
    ...session(ids),
    body: { toolCallId: ids.sessionCallId, decision: "approve" },
  }),
  answerSessionSuspension: (ids) => ({
    ...session(ids),
    body: { toolCallId: ids.sessionCallId, resumeData: "x" },
  }),
  switchSessionMode: (ids) => ({ ...session(ids), body: { modeId: "plan" } }),
  switchSessionModel: (ids) => ({ ...session(ids), body: { modelId: "some/model" } }),
  switchSessionThread: (ids) => ({ ...session(ids), body: { threadId: ids.threadId } }),
  moveSession: (ids) => ({ ...session(ids), body: { newResourceId: "bob" } }),
  listSessionThreads: session,
  createSessionThread: (ids) => ({ ...session(ids), body: {} }),
  cloneSessionThread: (ids) => ({ ...session(ids), body: {} }),
  renameSessionThread: (ids) => ({ ...sessionThread(ids), body: { title: "x" } }),
  deleteSessionThread: sessionThread,
  listSessionMessages: sessionThread,
  listSubagentMessages: ({ sessionId, sessionCallId }) => ({
    params: { controllerId, sessionId, toolCallId: sessionCallId },
  }),
  getSessionOM: session,
  listFollowUps: session,
  editFollowUp: (ids) => ({ ...followUp(ids), body: { message: "x" } }),
  removeFollowUp: followUp,
  steerFollowUp: (ids) => ({ ...followUp(ids), body: {} }),
  moveFollowUp: (ids) => ({ ...followUp(ids), body: { to: 1 } }),
  notifySession: (ids) => ({ ...session(ids), body: { source: "s", kind: "k", summary: "x" } }),
  getSessionPermissions: session,
  setCategoryPermission: (ids) => ({ ...session(ids), body: { category: "edit", policy: "allow" } }),
  setToolPermission: (ids) => ({ ...session(ids), body: { toolName: "pay", policy: "allow" } }),
  grantPermissions: (ids) => ({ ...session(ids), body: { tools: ["pay"] } }),
  revokePermissions: (ids) => ({ ...session(ids), body: { tools: ["pay"] } }),
  setSessionState: (ids) => ({ ...session(ids), body: { updates: { yolo: true } } }),
  listAgents: () => ({}),
  getAgent: () => ({ params: { agentId } }),
  generate: ({ threadId }) => ({
    params: { agentId },
    body: { messages: "x", memory: { thread: { id: threadId } } },
  }),
  stream: ({ threadId }) => ({ params: { agentId }, body: { messages: "x", memory: { thread: threadId } } }),
  observe: ({ threadId, runId }) => ({ params: { agentId }, body: { threadId, runId } }),
  sendMessage: ({ threadId }) => ({ params: { agentId }, body: { message: "x", threadId } }),
  queueMessage: ({ threadId }) => ({ params: { agentId }, body: { message: "x", threadId } }),
  sendSignal: ({ threadId }) => ({
    params: { agentId },
    body: { signal: { type: "reactive", contents: "x" }, threadId },
  }),
  sendStateSignal: ({ threadId }) => ({
    params: { agentId },
    body: { state: { id: "l", cacheKey: "k", contents: "x" }, threadId },
  }),
  sendNotification: ({ threadId }) => ({
    params: { agentId },
    body: { notification: { source: "s", kind: "k", summary: "x" }, threadId },
  }),
  subscribe: ({ threadId }) => ({ params: { agentId }, body: { threadId, after: 0 } }),
  watchThread: ({ threadId }) => ({ params: { agentId, threadId }, query: { after: 0 } }),
  abortThread: ({ threadId }) => ({ params: { agentId }, body: { threadId } }),
  sendToolApproval: ({ threadId, toolCallId }) => ({
    params: { agentId },
    body: { threadId, toolCallId, approved: true },
  }),
  approveToolCall: answerCall,
  declineToolCall: answerCall,
  approveToolCallGenerate: answerCall,
  declineToolCallGenerate: answerCall,
  resumeStream: answerCall,
  listSuspendedRuns: ({ threadId }) => ({ params: { agentId }, query: { threadId } }),
  getAgentTool: () => ({ params: { agentId, toolId: "add" } }),
  executeAgentTool: () => ({ params: { agentId, toolId: "add" }, body: { data: { a: 1, b: 1 } } }),
  memoryStatus: () => ({}),
  memoryConfig: () => ({}),
  listThreads: () => ({ query: { resourceId: "ann" } }),
  createThread: ({ threadId }) => ({ body: { threadId, title: "x" } }),
  getThread: thread,
  updateThread: (ids) => ({ ...thread(ids), body: { title: "x" } }),
  deleteThread: thread,
  listMessages: thread,
  saveMessages: ({ threadId }) => ({
    body: { messages: [{ id: "m", role: "user", content: "x", threadId }], resourceId: "ann" },
  }),
  deleteMessages: ({ messageId }) => ({ body: { messageIds: [messageId], resourceId: "ann" } }),
  cloneThread: (ids) => ({ ...thread(ids), body: {} }),
  getWorkingMemory: thread,
  updateWorkingMemory: (ids) => ({ ...thread(ids), body: { workingMemory: "x" } }),
  getObservationalMemory: ({ threadId }) => ({ query: { threadId } }),
  observationalMemoryBufferStatus: ({ threadId }) => ({ body: { threadId } }),
  inspectObservationalMemory: thread,
  workOnObservationalMemory: (ids) => ({ ...thread(ids), body: { action: "retry" } }),
  forgetObservationalMemory: thread,
  listObservationalGenerations: thread,
  searchMemory: ({ threadId }) => ({ query: { searchQuery: "secret", threadId } }),
  getThreadState: thread,
  listQueue: thread,
  editQueued: ({ threadId, messageId }) => ({ params: { threadId, messageId }, body: { contents: "x" } }),
  removeQueued: ({ threadId, messageId }) => ({ params: { threadId, messageId } }),
  listLanes: thread,
  listRuns: thread,
  getRun: ({ threadId, runId }) => ({ params: { threadId, runId } }),
  listNotifications: thread,
  updateNotification: ({ threadId, notificationId }) => ({
    params: { threadId, notificationId },
    body: { action: "archive" },
  }),
  health: () => ({}),
  listWorkers: () => ({}),
  openApi: () => ({}),
  explorer: () => ({}),
  listTools: () => ({}),
  getTool: () => ({ params: { toolId: "add" } }),
  executeTool: () => ({ params: { toolId: "add" }, body: { data: { a: 1, b: 1 } } }),
  listMcpServers: () => ({}),
  getMcpServer: () => ({ params: { serverId: "tools" } }),
  listMcpTools: () => ({ params: { serverId: "tools" } }),
  getMcpTool: () => ({ params: { serverId: "tools", toolId: "add" } }),
  executeMcpTool: () => ({ params: { serverId: "tools", toolId: "add" }, body: { data: { a: 1, b: 1 } } }),
  listMcpResources: () => ({ params: { serverId: "tools" } }),
  readMcpResource: () => ({ params: { serverId: "tools" }, body: { uri: "notes://none" } }),
  mcpHttp: () => ({ params: { serverId: "tools" } }),
  mcpSse: () => ({ params: { serverId: "nobody" } }),
  mcpMessages: () => ({ params: { serverId: "tools" } }),
  listEmbedders: () => ({}),
  listVectors: () => ({}),
  listVectorIndexes: () => ({ params: { vectorName: "docs" } }),
  getVectorIndex: () => ({ params: { vectorName: "docs", indexName: "none" } }),
  deleteVectorIndex: () => ({ params: { vectorName: "docs", indexName: "none" } }),
  createVectorIndex: () => ({ params: { vectorName: "docs" }, body: { indexName: "i", dimension: 2 } }),
  upsertVectors: () => ({ params: { vectorName: "docs" }, body: { indexName: "none", vectors: [[1]] } }),
  queryVectors: () => ({ params: { vectorName: "docs" }, body: { indexName: "none", queryVector: [1] } }),
  chat: ({ threadId }) => ({
    params: { agentId },
    body: { id: threadId, messages: [{ id: "u", role: "user", parts: [{ type: "text", text: "x" }] }] },
  }),
  resumeChat: ({ threadId }) => ({ params: { agentId, threadId } }),
  listModels: () => ({}),
  getModel: () => ({ params: { modelId: agentId } }),
  chatCompletions: () => ({ body: { model: agentId, messages: [{ role: "user", content: "x" }] } }),
  responses: ({ threadId }) => ({ body: { model: agentId, input: "x", conversation: threadId } }),
  getResponse: ({ responseId }) => ({ params: { responseId } }),
  deleteResponse: ({ responseId }) => ({ params: { responseId } }),
};

/** The memory of an app that uses every route. */
function observing(): Memory {
  const observationalMemory = { model: scriptedModel(() => "<observations>\n- noted\n</observations>") };
  const workingMemory = { enabled: true, scope: "thread" } as const;
  return new Memory({ options: { lastMessages: 20, workingMemory, observationalMemory } });
}

/** Files and a skill of the victim's, in a workspace where every resource has its own. */
async function annsFiles(): Promise<Workspace> {
  const { workspace, files } = tenantFiles();
  const skill = `---\nname: weave\ndescription: ${MARK}\n---\n${MARK}`;
  await files("ann").writeFile("note.md", MARK);
  await files("ann").writeFile("skills/weave/SKILL.md", skill);
  await files("ann").writeFile("skills/weave/references/yarn.md", MARK);
  return workspace;
}

async function victim(): Promise<{ world: Served; ids: Ids; state(): Promise<string> }> {
  const world = served(
    ({ index }) =>
      index === 0 || index === 2 ? { toolCalls: [{ toolName: "pay", input: { amount: 1 } }] } : "Hello.",
    { authorize: byHeader, agent: { memory: observing(), workspace: await annsFiles() } },
  );
  const { json, call } = world;
  const threadId = "ann-thread";
  const params = { agentId };
  await json("createThread", { body: { threadId, title: MARK } }, "ann");
  const stream = frames(await call("subscribe", { params, body: { threadId } }, "ann"));
  const { runId } = await json("sendMessage", { params, body: { message: MARK, threadId } }, "ann");
  await readUntil(stream, "finish");
  await stream.return(undefined);
  const queued = await json("queueMessage", { params, body: { message: MARK, threadId } }, "ann");
  const notification = { source: "s", kind: "k", summary: MARK, priority: "low" as const };
  const state = { id: "lane", cacheKey: "k", contents: MARK };
  const quiet = { ifIdle: { behavior: "persist" as const }, ifActive: { behavior: "persist" as const } };
  await json("sendStateSignal", { params, body: { state, threadId, ...quiet } }, "ann+signals");
  await json("sendNotification", { params, body: { notification, threadId } }, "ann+signals");
  await json(
    "updateWorkingMemory",
    { params: { threadId }, body: { workingMemory: MARK } },
    "ann+run-options",
  );
  const { notifications } = await json("listNotifications", { params: { threadId } }, "ann");
  const { approvals } = await json("getThreadState", { params: { threadId } }, "ann");
  const response = await json("responses", { body: { model: agentId, input: MARK } }, "ann");
  const responseId = response["id"] as string;
  const owned = await ownSession(world);
  const { runId: workflowRunId } = await json(
    "startWorkflowRun",
    { ...ofWorkflow, body: { inputData: { order: MARK } } },
    "ann",
  );
  const isWaiting = async () =>
    (await json("getWorkflowRun", workflowRun({ ...ABSENT, workflowRunId }), "ann")).status;
  await expect.poll(isWaiting).toBe("suspended");
  const timed = { agentId, prompt: MARK, threadId, cron: "0 0 1 1 *", metadata: { note: MARK } };
  const { id: scheduleId } = await json("createSchedule", { body: timed }, "ann+control,signals");
  const scores = (await world.storage.getStore("scores"))!;
  await scores.saveScore({ ...scored, runId, score: 1, reason: MARK, input: MARK, resourceId: "ann" });
  const ids = {
    ...owned,
    workflowRunId,
    scheduleId,
    responseId,
    threadId,
    runId,
    toolCallId: approvals[0]!.toolCallId,
    messageId: queued.signal.id,
    notificationId: notifications[0]!.id,
  };
  /** Everything the victim can see of what is theirs. */
  const look = async () =>
    JSON.stringify([
      await json("getThreadState", { params: { threadId } }, "ann"),
      await json("getThread", { params: { threadId } }, "ann"),
      await json("listMessages", { params: { threadId } }, "ann"),
      await json("listNotifications", { params: { threadId } }, "ann"),
      await json("listRuns", { params: { threadId } }, "ann"),
      await json("listSchedules", {}, "ann"),
      await json("listScheduleTriggers", { params: { scheduleId } }, "ann"),
      await json("listScoresByScorerId", { params: { scorerId } }, "ann+inspect"),
      await json("listScoresByRunId", { params: { runId } }, "ann"),
      await json("getResponse", { params: { responseId } }, "ann"),
      await json("getSession", session(ids), "ann+control"),
      await json("listSessions", { params: { controllerId } }, "ann+control"),
      await json("listFollowUps", session(ids), "ann"),
      await json("listSessionThreads", session(ids), "ann"),
      await json("listSessionMessages", sessionThread(ids), "ann"),
      await json("getThreadState", { params: { threadId: ids.sessionThreadId } }, "ann"),
      await json(
        "listWorkspaceFiles",
        { params: { workspaceId }, query: { path: ".", recursive: true } },
        "ann",
      ),
      await json("readWorkspaceFile", file, "ann"),
      await json("getWorkflowRun", workflowRun(ids), "ann"),
      await json("listWorkflowRuns", ofWorkflow, "ann"),
      // Workflows as data are the app's: others may add some.
      ((await json("listWorkflowRunCounts", {}, "ann")) as Record<string, unknown>)[workflowId],
      await json("searchWorkspace", { params: { workspaceId }, query: { query: "secret" } }, "ann"),
    ]);
  return { world, ids, state: look };
}

/** A session of the victim's with a call that waits and a message that is queued. */
async function ownSession({
  json,
}: Served): Promise<Pick<Ids, "sessionId" | "sessionThreadId" | "sessionCallId" | "followUpId">> {
  const { id: sessionId, threadId = "" } = await json(
    "createSession",
    { params: { controllerId }, body: { id: "work", tags: { topic: MARK } } },
    "ann",
  );
  const params = { controllerId, sessionId };
  await json("sendSessionMessage", { params, body: { message: MARK } }, "ann");
  const waiting = async () => (await json("getThreadState", { params: { threadId } }, "ann")).approvals;
  await expect.poll(waiting).toHaveLength(1);
  const [call] = await waiting();
  await json("followUpSession", { params, body: { message: MARK } }, "ann");
  const { followUps } = await json("listFollowUps", { params }, "ann");
  return {
    sessionId,
    sessionThreadId: threadId,
    sessionCallId: call!.toolCallId,
    followUpId: followUps[0]!.id,
  };
}

const ABSENT: Ids = {
  workflowRunId: "no-workflow-run",
  sessionId: "no-session",
  sessionThreadId: "no-session-thread",
  sessionCallId: "no-session-call",
  followUpId: "no-follow-up",
  scheduleId: "no-schedule",
  threadId: "no-thread",
  runId: "no-run",
  toolCallId: "no-call",
  messageId: "no-message",
  notificationId: "no-notification",
  responseId: "no-response",
};

/** A body without the names of what was asked for. */
function withoutIds(text: string, ids: Ids): string {
  return Object.values(ids).reduce((rest, id) => rest.replaceAll(id, "*"), text);
}

function smuggle(input: { body?: object; query?: object }, owner: string): object {
  const body = input.body && { ...input.body, ...(owner !== "run" && { resourceId: "ann" }) };
  return { ...input, ...(body && { body }) };
}

describe.each(ROUTE_LIST)("$method $path", (route) => {
  const example = EXAMPLES[route.name] as (ids: Ids) => Input<typeof route.name>;
  const isOwned =
    [
      "thread",
      "new-thread",
      "run",
      "session",
      "response",
      "workflow-run",
      "new-workflow-run",
      "schedule",
    ].includes(route.owner) && route.name !== "chatCompletions";

  test("lets nobody in whom the authoriser does not know, unless it is public", async () => {
    const { call } = served([], { authorize: byHeader });
    const { status } = await call(route.name, example(ABSENT));
    if (route.owner === "public") expect(status).toBe(200);
    else expect(status).toBe(401);
  });

  test.runIf(route.grant)("needs its grant", async () => {
    const { call } = served([], { authorize: byHeader });
    const others = ALL.split(",").filter((grant) => grant !== route.grant);
    const response = await call(route.name, example(ABSENT), `bob+${others.join(",")}`);
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ code: "forbidden" });
  });

  test.runIf(isOwned)("answers a stranger as if it were not there, and changes nothing", async () => {
    const { world, ids, state } = await victim();
    const before = await state();
    const foreign = await world.call(route.name, example(ids), `bob+${ALL}`);
    expect(foreign.status).toBe(404);
    const text = await foreign.text();
    expect(text).not.toContain(MARK);
    if (!route.owner.startsWith("new-")) {
      const absent = await world.call(route.name, example(ABSENT), `bob+${ALL}`);
      expect(absent.status).toBe(404);
      expect(withoutIds(text, ids)).toBe(withoutIds(await absent.text(), ABSENT));
    }
    expect(await state()).toBe(before);
  });

  test.runIf(isOwned)("does not believe who a request says it is from", async () => {
    const { world, ids, state } = await victim();
    const before = await state();
    const response = await world.call(route.name, smuggle(example(ids), route.owner) as never, `bob+${ALL}`);
    expect([400, 404]).toContain(response.status);
    expect(await state()).toBe(before);
  });

  test.runIf(!isOwned)("shows and changes nothing of others", async () => {
    const { world, ids, state } = await victim();
    const before = await state();
    const response = await world.call(route.name, example(ids), `bob+${ALL}`);
    expect(await response.text()).not.toContain(MARK);
    expect(await state()).toBe(before);
  });

  test.runIf(isOwned)("works for the owner", async () => {
    const { world, ids } = await victim();
    const response = await world.call(route.name, example(ids), `ann+${ALL}`);
    // The thread waits for an approval, so some answer that it is busy; none that it is not there.
    const isForTrusted = route.name === "moveSession";
    expect(isForTrusted ? [403] : [200, 204, 400, 409]).toContain(response.status);
    await response.body?.cancel();
  });
});
