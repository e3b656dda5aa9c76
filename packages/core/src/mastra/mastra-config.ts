import type { Agent } from "../agent/agent.ts";
import type { ThreadsConfig } from "../agent/agent-config.ts";
import type { ToolLoopAgentLike } from "../agent/from-tool-loop-agent.ts";
import type { Logger } from "../logger.ts";
import type { MastraMemory } from "../memory/memory.ts";
import type { NotificationDispatchConfig } from "../notification/notification-dispatcher.ts";
import type { MastraScorer } from "../scorer/scorer.ts";
import type { Storage } from "../storage/storage.ts";
import type { IdPurpose, System } from "../system.ts";
import type { TelemetrySettings } from "../telemetry/telemetry.ts";
import type { ToolLike } from "../tool/tool.ts";
import type { Vector } from "../vector/vector.ts";
import type { Workflow } from "../workflow/workflow.ts";
import type { WorkflowLimits } from "../workflow/workflow-limits.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { Mastra } from "./mastra.ts";
import type { Registry } from "./registry.ts";
import type { ServerConfig } from "./server-config.ts";

export type AnyWorkflow = Workflow<any, any, any, any, any>;

/** A controller, as its host sees it. */
export interface HostedController {
  readonly id: string;
  useHost(host: Mastra<any, any, any>): void;
  /** The agent that carries out its runs. */
  getCurrentAgent(): Agent<any, any>;
  recover(): Promise<void>;
  destroy(): Promise<void>;
}

/** What traces the runs, as the host sees it. */
interface HostedObservability {
  readonly telemetry?: TelemetrySettings | undefined;
  shutdown?(): Promise<void>;
}

export interface MastraConfig<
  Agents extends Registry<Agent<any, any>> = Registry<Agent<any, any>>,
  Vectors extends Registry<Vector> = Registry<Vector>,
  Controllers extends Registry<HostedController> = Registry<HostedController>,
  Workflows extends Registry<AnyWorkflow> = Registry<AnyWorkflow>,
> {
  /** An agent of the AI SDK becomes one of ours. */
  agents?: { [Name in keyof Agents]: Agents[Name] | ToolLoopAgentLike };
  /** Controllers. Their sessions resume and their threads are served like those of agents. */
  agentControllers?: Controllers;
  tools?: Registry<ToolLike>;
  /** Used by every memory that has no storage. */
  storage?: Storage;
  memory?: Registry<MastraMemory>;
  vectors?: Vectors;
  /** Files for agents that have no workspace. */
  workspace?: Workspace;
  /** Stored; see the MCP package. */
  mcpServers?: Registry<any>;
  /** Workflows. With storage, their runs survive the process. */
  workflows?: Workflows;
  /** Limits for the runs of all workflows, and whether unfinished runs are resumed. */
  workflowRuns?: Partial<WorkflowLimits> & { recover?: boolean };
  scorers?: Registry<MastraScorer<any, any, any, any>>;
  /** With dispatch enabled, deferred notifications and summaries are delivered when due. */
  notifications?: { dispatch?: NotificationDispatchConfig };
  /** Limits for the threads of all agents, and whether unfinished runs are resumed. */
  threads?: ThreadsConfig;
  /** How the host is served: its own routes, middleware, authentication, address. */
  server?: ServerConfig;
  /** Traces all runs: an `Observability` of @selvedge/observability. */
  observability?: HostedObservability;
  /** Request context keys stored with a run, for agents that set none. */
  durableContextKeys?: readonly string[];
  /** `false` disables logging. */
  logger?: Logger | false;
  /** Makes the ids of threads, messages and runs. */
  idGenerator?: (purpose?: IdPurpose) => string;
  system?: System;
}
