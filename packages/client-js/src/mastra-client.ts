import type {
  DynamicWorkflowInfo,
  ExecuteToolBody,
  RouteCalls,
  RouteName,
  ScheduleInfo,
  ScorerInfo,
  ThreadQuery,
  ToolInfo,
} from "@selvedge/protocol/routes";
import { call, type CallArguments, type CallResult } from "./call.ts";
import { ClientAgent } from "./client-agent.ts";
import { ClientController } from "./client-controller.ts";
import type { ClientOptions } from "./client-options.ts";
import { ClientVector } from "./client-vector.ts";
import { ClientWorkflow } from "./client-workflow.ts";
import { ClientWorkspace } from "./client-workspace.ts";
import { MemoryThread } from "./memory-thread.ts";
import { type RequestInput, Transport } from "./transport.ts";

/** A tool on a server. */
export interface ClientTool {
  details(): Promise<ToolInfo>;
  execute(body?: ExecuteToolBody): Promise<unknown>;
}

/** A workflow that is defined as data. */
export interface ClientDynamicWorkflow {
  details(): Promise<DynamicWorkflowInfo>;
  delete(): Promise<{ success: true }>;
}

/**
 * A server with agents. `call` reaches every route of the table; the other methods are shorthands for the most used
 * ones.
 */
export class MastraClient {
  readonly options: ClientOptions;
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    this.options = options;
    this.#transport = new Transport(options);
  }

  /** Calls a route by name: returns JSON for most, a `Connection` of events for streams. */
  call<Name extends RouteName>(name: Name, ...[input]: CallArguments<Name>): Promise<CallResult<Name>> {
    return call(this.#transport, name, (input ?? {}) as RequestInput);
  }

  listAgents(): Promise<CallResult<"listAgents">> {
    return this.call("listAgents");
  }

  getAgent(agentId: string): ClientAgent {
    return new ClientAgent(this.#transport, agentId);
  }

  /** The processes that execute runs. */
  listWorkers(): Promise<CallResult<"listWorkers">> {
    return this.call("listWorkers");
  }

  listAgentControllers(): Promise<CallResult<"listControllers">> {
    return this.call("listControllers");
  }

  getAgentController(controllerId: string): ClientController {
    return new ClientController(this.#transport, controllerId);
  }

  listMemoryThreads(query: RouteCalls["listThreads"]["query"] = {}): Promise<CallResult<"listThreads">> {
    return this.call("listThreads", { query });
  }

  createMemoryThread({
    agentId,
    ...body
  }: RouteCalls["createThread"]["body"] & { agentId?: string } = {}): Promise<CallResult<"createThread">> {
    return this.call("createThread", { body, query: agentId === undefined ? {} : { agentId } });
  }

  getMemoryThread(options: ThreadQuery & { threadId: string }): MemoryThread {
    return new MemoryThread(this.#transport, options);
  }

  /** The configuration of an agent's memory. */
  getMemoryConfig(agentId?: string): Promise<CallResult<"memoryConfig">> {
    return this.call("memoryConfig", { query: agentId === undefined ? {} : { agentId } });
  }

  getMemoryStatus(agentId?: string): Promise<CallResult<"memoryStatus">> {
    return this.call("memoryStatus", { query: agentId === undefined ? {} : { agentId } });
  }

  /** Adds or replaces messages of existing threads. */
  saveMessageToMemory({
    agentId,
    ...body
  }: RouteCalls["saveMessages"]["body"] & { agentId?: string }): Promise<CallResult<"saveMessages">> {
    return this.call("saveMessages", { body, query: agentId === undefined ? {} : { agentId } });
  }

  /** Finds messages by words, and by meaning if semantic recall is on. */
  searchMemory(query: RouteCalls["searchMemory"]["query"]): Promise<CallResult<"searchMemory">> {
    return this.call("searchMemory", { query });
  }

  listTools(): Promise<CallResult<"listTools">> {
    return this.call("listTools");
  }

  getTool(toolId: string): ClientTool {
    return {
      details: () => this.call("getTool", { params: { toolId } }),
      execute: (body = {}) => this.call("executeTool", { params: { toolId }, body }),
    };
  }

  /** Workflows by registered name. */
  listWorkflows(): Promise<CallResult<"listWorkflows">> {
    return this.call("listWorkflows");
  }

  /** How many runs of each workflow are running, and how many wait for a person. */
  listWorkflowRunCounts(
    query: RouteCalls["listWorkflowRunCounts"]["query"] = {},
  ): Promise<CallResult<"listWorkflowRunCounts">> {
    return this.call("listWorkflowRunCounts", { query });
  }

  getWorkflow(workflowId: string): ClientWorkflow {
    return new ClientWorkflow(this.#transport, workflowId);
  }

  listWorkspaces(): Promise<CallResult<"listWorkspaces">> {
    return this.call("listWorkspaces");
  }

  getWorkspace(workspaceId: string): ClientWorkspace {
    return new ClientWorkspace(this.#transport, workspaceId);
  }

  listDynamicWorkflows(): Promise<CallResult<"listDynamicWorkflows">> {
    return this.call("listDynamicWorkflows");
  }

  /** Checks and stores a workflow that is defined as data. */
  upsertDynamicWorkflow(body: RouteCalls["upsertDynamicWorkflow"]["body"]): Promise<DynamicWorkflowInfo> {
    return this.call("upsertDynamicWorkflow", { body });
  }

  getDynamicWorkflow(definitionId: string): ClientDynamicWorkflow {
    const params = { definitionId };
    return {
      details: () => this.call("getDynamicWorkflow", { params }),
      delete: () => this.call("deleteDynamicWorkflow", { params }),
    };
  }

  listSchedules(query: RouteCalls["listSchedules"]["query"] = {}): Promise<CallResult<"listSchedules">> {
    return this.call("listSchedules", { query });
  }

  createSchedule(body: RouteCalls["createSchedule"]["body"]): Promise<ScheduleInfo> {
    return this.call("createSchedule", { body });
  }

  getSchedule(scheduleId: string): Promise<ScheduleInfo> {
    return this.call("getSchedule", { params: { scheduleId } });
  }

  updateSchedule(scheduleId: string, body: RouteCalls["updateSchedule"]["body"]): Promise<ScheduleInfo> {
    return this.call("updateSchedule", { params: { scheduleId }, body });
  }

  deleteSchedule(scheduleId: string): Promise<CallResult<"deleteSchedule">> {
    return this.call("deleteSchedule", { params: { scheduleId } });
  }

  pauseSchedule(scheduleId: string): Promise<ScheduleInfo> {
    return this.call("pauseSchedule", { params: { scheduleId } });
  }

  resumeSchedule(scheduleId: string): Promise<ScheduleInfo> {
    return this.call("resumeSchedule", { params: { scheduleId } });
  }

  /** Fires it now. `listScheduleTriggers()` returns the outcome. */
  runSchedule(scheduleId: string): Promise<CallResult<"runSchedule">> {
    return this.call("runSchedule", { params: { scheduleId } });
  }

  listScheduleTriggers(
    scheduleId: string,
    query: RouteCalls["listScheduleTriggers"]["query"] = {},
  ): Promise<CallResult<"listScheduleTriggers">> {
    return this.call("listScheduleTriggers", { params: { scheduleId }, query });
  }

  /** Scorers by id. */
  listScorers(): Promise<CallResult<"listScorers">> {
    return this.call("listScorers");
  }

  getScorer(scorerId: string): Promise<ScorerInfo> {
    return this.call("getScorer", { params: { scorerId } });
  }

  /** The scores of a scorer, newest first, as the other lists of scores. */
  listScoresByScorerId({
    scorerId,
    ...query
  }: RouteCalls["listScoresByScorerId"]["query"] & { scorerId: string }): Promise<
    CallResult<"listScoresByScorerId">
  > {
    return this.call("listScoresByScorerId", { params: { scorerId }, query });
  }

  listScoresByRunId({
    runId,
    ...query
  }: RouteCalls["listScoresByRunId"]["query"] & { runId: string }): Promise<CallResult<"listScoresByRunId">> {
    return this.call("listScoresByRunId", { params: { runId }, query });
  }

  listScoresByEntityId({
    entityId,
    entityType,
    ...query
  }: RouteCalls["listScoresByEntityId"]["query"] & { entityId: string; entityType: string }): Promise<
    CallResult<"listScoresByEntityId">
  > {
    return this.call("listScoresByEntityId", { params: { entityId, entityType }, query });
  }

  saveScore(body: RouteCalls["saveScore"]["body"]): Promise<CallResult<"saveScore">> {
    return this.call("saveScore", { body });
  }

  getVector(vectorName: string): ClientVector {
    return new ClientVector(this.#transport, vectorName);
  }

  listEmbedders(): Promise<CallResult<"listEmbedders">> {
    return this.call("listEmbedders");
  }

  getMcpServerResources(serverId: string): Promise<CallResult<"listMcpResources">> {
    return this.call("listMcpResources", { params: { serverId } });
  }

  readMcpServerResource(serverId: string, uri: string): Promise<CallResult<"readMcpResource">> {
    return this.call("readMcpResource", { params: { serverId }, body: { uri } });
  }

  listMcpServers(query: RouteCalls["listMcpServers"]["query"] = {}): Promise<CallResult<"listMcpServers">> {
    return this.call("listMcpServers", { query });
  }
}
