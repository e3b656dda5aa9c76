import type { Agent } from "../agent/agent.ts";
import type { DynamicArgument } from "../agent/dynamic.ts";
import type { Logger } from "../logger.ts";
import type { MastraMemory } from "../memory/memory.ts";
import type { Instructions } from "../message/system-message.ts";
import type { ModelConfig } from "../model/model.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { StopCondition } from "../run/stop-when.ts";
import type { Schema } from "../schema/schema.ts";
import type { Storage } from "../storage/storage.ts";
import type { System } from "../system.ts";
import type { ToolsInput } from "../tool/tool.ts";
import type { ThreadsConfig } from "../agent/agent-config.ts";
import type { InlineSkill } from "../workspace/skills/skill.ts";
import type { HeartbeatHandler } from "./heartbeats.ts";
import type { AvailableModel, ModelGateway } from "./models.ts";
import type { PermissionRules, ToolCategory } from "./permission.ts";

type Awaitable<T> = T | Promise<T>;

/** The ids of the tools that every mode has. */
export type BuiltinToolId =
  | "ask_user"
  | "submit_plan"
  | "task_write"
  | "task_update"
  | "task_complete"
  | "task_check"
  | "subagent";

/** A way of working on the same conversation, with its own instructions, tools and model. */
export interface AgentControllerMode {
  id: string;
  name?: string;
  /** @deprecated Use `metadata.default`. */
  default?: boolean;
  defaultModelId?: string;
  description?: string;
  instructions?: string;
  /** The mode that follows when a plan of this one is approved. The default mode, when absent. */
  transitionsTo?: string;
  /** `default: true` marks the default mode. */
  metadata?: Record<string, unknown>;
  /** Replaces the agent's own tools. */
  tools?: ToolsInput;
  /** Added to the agent's own tools. */
  additionalTools?: ToolsInput;
  /** The tools that may be used, by the names the model sees. All when absent; `[]` for none. */
  availableTools?: string[];
  /** @deprecated The agent of this mode. */
  agent?: Agent<any, any>;
}

/** A kind of helper that the `subagent` tool can start. */
export interface AgentControllerSubagent {
  id: string;
  name: string;
  description: string;
  instructions: DynamicArgument<Instructions>;
  tools?: ToolsInput;
  /** Of the controller's own tools, those it gets. */
  allowedAgentControllerTools?: string[];
  /** The newer name of `allowedAgentControllerTools`. */
  allowedControllerTools?: string[];
  /** Of the workspace's tools, those it gets; all when absent. */
  allowedWorkspaceTools?: string[];
  defaultModelId?: string;
  /** 50 when absent, unless `stopWhen` decides. */
  maxSteps?: number;
  stopWhen?: StopCondition | StopCondition[];
  /** Work on a copy of the conversation with the parent's own configuration. */
  forked?: boolean;
}

/** Files and commands of a project, as far as a controller needs to know. */
export interface AgentControllerWorkspace {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  init(): Promise<void>;
  destroy?(): Promise<void>;
  /** `allowedPaths`: directories that people gave to the session. `agentSkills`: those of its agent. */
  tools(context: {
    requestContext: RequestContext;
    allowedPaths: readonly string[];
    agentSkills: readonly InlineSkill[];
  }): Awaitable<ToolsInput>;
  /** The store of the controller, where changes are kept. */
  useStorage?(storage: Storage): void;
}

/** A `MastraBrowser` adds its tools. Any other object is only passed to tools. */
export type AgentControllerBrowser = object;

type Made<Value> =
  | Value
  | ((context: { requestContext: RequestContext; mastra: unknown }) => Awaitable<Value>);

export interface CreateSessionOptions {
  /** Stable: the same id opens the same session, in any process. */
  id: string;
  ownerId: string;
  resourceId?: string;
  /** Only threads with all of these count as the session's; new ones get them. */
  tags?: Record<string, string>;
  workspace?: AgentControllerWorkspace;
  browser?: AgentControllerBrowser;
  requestContext?: RequestContext;
  /** The thread to use. Created if it does not exist. */
  threadId?: string;
}

export interface AgentControllerOMConfig {
  defaultObserverModelId?: string;
  defaultReflectorModelId?: string;
  defaultObservationThreshold?: number;
  defaultReflectionThreshold?: number;
}

/** For apps that want a thread to be open in one place only. `acquire` throws when it is held elsewhere. */
export interface ThreadLock {
  acquire(threadId: string): Awaitable<void>;
  release(threadId: string): Awaitable<void>;
}

export type ModelAuthChecker = (provider: string) => boolean | undefined;
export type ModelUseCountProvider = () => Record<string, number>;
export type ModelUseCountTracker = (modelId: string) => void;
export type CustomModelCatalogProvider = () => Awaitable<Omit<AvailableModel, "useCount">[]>;

export interface AgentControllerConfig<State extends object = Record<string, unknown>> {
  /** Also the default resource, and the id and owner of `controller.session`. */
  id: string;
  /** The resource whose threads sessions use. The id, when absent. */
  resourceId?: string;
  /** Without a store, nothing outlives the process. */
  storage?: Storage;
  /** Validates the whole state on every update. The defaults of its properties are the initial state. */
  stateSchema?: Schema<unknown, State>;
  /** Over the schema's defaults. `currentModelId` selects a model, `projectPath` keeps threads apart, `yolo` turns asking off. */
  initialState?: Partial<State>;
  /** For agents without a memory. Copying and forking threads requires it. */
  memory?: DynamicArgument<MastraMemory>;
  modes: AgentControllerMode[];
  /** The agent behind all modes. Without it each mode needs an agent or a model. */
  agent?: Agent<any, any>;
  defaultModeId?: string;
  /** After the agent's own instructions and before the mode's. */
  instructions?: string;
  tools?: DynamicArgument<ToolsInput>;
  workspace?: Made<AgentControllerWorkspace>;
  browser?: Made<AgentControllerBrowser>;
  subagents?: AgentControllerSubagent[];
  /** Resolves a model id to a model. Without it, the id is used as is. */
  resolveModel?: (modelId: string) => ModelConfig;
  omConfig?: AgentControllerOMConfig;
  disableBuiltinTools?: BuiltinToolId[];
  /** Called at intervals, from `init()` on. */
  heartbeatHandlers?: HeartbeatHandler[];
  /** The newer name of `heartbeatHandlers`. */
  intervalHandlers?: HeartbeatHandler[];
  idGenerator?: () => string;
  modelAuthChecker?: ModelAuthChecker;
  modelUseCountProvider?: ModelUseCountProvider;
  modelUseCountTracker?: ModelUseCountTracker;
  customModelCatalogProvider?: CustomModelCatalogProvider;
  gateways?: ModelGateway[];
  toolCategoryResolver?: (toolName: string) => ToolCategory | null;
  /** The rules of a new session. Without them, every call asks. */
  permissionRules?: Partial<PermissionRules>;
  /** Accepted: processes find each other through the store. */
  pubsub?: unknown;
  threadLock?: ThreadLock;
  /** Carried to the host. */
  observability?: unknown;
  /** Limits of the threads, and whether unfinished runs are continued. */
  threads?: ThreadsConfig;
  logger?: Logger;
  system?: System;
}
