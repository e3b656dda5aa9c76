import type { JSONValue } from "@selvedge/protocol";
import type { Logger } from "../logger.ts";
import type { MastraMemory } from "../memory/memory.ts";
import type { Instructions } from "../message/system-message.ts";
import type { ModelConfig } from "../model/model.ts";
import type { NotificationsConfig } from "../notification/delivery-policy.ts";
import type { Processor } from "../processor/processor.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import type { StepAddition, StepRecord } from "../run/run-journal.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { Schema } from "../schema/schema.ts";
import type { Scorers } from "../scorer/score-live.ts";
import type { System } from "../system.ts";
import type { ToolsInput } from "../tool/tool.ts";
import type { ToolPayloadTransformPolicy } from "../tool/transform.ts";
import type { Agent } from "./agent.ts";
import type { DynamicArgument } from "./dynamic.ts";
import type { SignalProvider } from "./signal-provider.ts";
import type { ThreadLimits } from "../thread/threads.ts";
import type { MastraBrowser } from "../browser/mastra-browser.ts";
import type { InlineSkill } from "../workspace/skills/skill.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** Which fields an external editor may override. Stored for it; nothing here acts on it. */
export type EditorConfig = false | { instructions?: boolean; tools?: boolean | { description?: boolean } };

/** Options of the older `generateLegacy()` and `streamLegacy()`: the same options under their older names. */
export type AgentGenerateOptions<Output extends Schema | undefined = any> = AgentExecutionOptions<Output>;
export type AgentStreamOptions<Output extends Schema | undefined = any> = AgentExecutionOptions<Output>;

/** Settings of an agent's or a host's threads. */
export interface ThreadsConfig extends Partial<ThreadLimits> {
  /** Resume what other processes left unfinished. Default: true. */
  recover?: boolean;
}

/** The run that a profile is for. */
export interface RunAddress {
  threadId: string | undefined;
  resourceId: string | undefined;
  requestContext: RequestContext;
  pinned: Record<string, JSONValue> | undefined;
}

/** An agent's configuration in one run. */
export interface RunProfile {
  config: Partial<AgentConfig>;
  /** Options that no caller can override. */
  options?: AgentExecutionOptions;
  /** Stored with the run when it starts, and passed back when it is continued. */
  pinned: Record<string, JSONValue>;
  /** Data that belongs to a step, for the commit that stores it. */
  alongside?: ((step: StepRecord) => Promise<StepAddition>) | undefined;
}

/** An agent's configuration. Every function form is called once per run. */
export interface AgentConfig<Id extends string = string, Tools extends ToolsInput = ToolsInput> {
  /** Default: the name. */
  id?: Id;
  name: string;
  description?: string;
  metadata?: DynamicArgument<Record<string, unknown>>;
  instructions: DynamicArgument<Instructions>;
  model: DynamicArgument<ModelConfig>;
  /** Retries of a rejected model call, for calls that set none. */
  maxRetries?: number;
  tools?: DynamicArgument<Tools>;
  /** Each becomes a tool `agent-<key>`. */
  agents?: DynamicArgument<Record<string, Agent<any, any>>>;
  /** Files for the agent, as tools. Default: the host's. */
  workspace?: DynamicArgument<Workspace>;
  /** A web browser for the agent, as tools. Default: the workspace's. */
  browser?: DynamicArgument<MastraBrowser>;
  /** Instructions for specific tasks, created with `createSkill`. They take precedence over those of the workspace. */
  skills?: DynamicArgument<InlineSkill[]>;
  /** Each becomes a tool `workflow-<key>`. */
  workflows?: DynamicArgument<Record<string, any>>;
  transform?: ToolPayloadTransformPolicy;
  defaultOptions?: DynamicArgument<AgentExecutionOptions>;
  defaultGenerateOptionsLegacy?: DynamicArgument<AgentGenerateOptions>;
  defaultStreamOptionsLegacy?: DynamicArgument<AgentStreamOptions>;
  /** The host, set when the agent is registered. */
  mastra?: any;
  /** Score the runs that succeed, after the answer. */
  scorers?: Scorers;
  memory?: DynamicArgument<MastraMemory>;
  /** Signal providers, which notify the agent's threads of external events and can add processors and tools. */
  signals?: readonly SignalProvider[];
  /** When the agent's notifications reach it. */
  notifications?: NotificationsConfig;
  /** Accepted, but has no effect. */
  voice?: any;
  inputProcessors?: DynamicArgument<Processor[]>;
  outputProcessors?: DynamicArgument<Processor[]>;
  maxProcessorRetries?: number;
  requestContextSchema?: Schema;
  /**
   * Request context keys stored with a run, for the process that continues it. Default: the host's. Values of other
   * keys never leave the process.
   */
  durableContextKeys?: readonly string[];
  editor?: EditorConfig;
  /** Limits of the agent's threads, and whether it resumes what other processes left. */
  threads?: ThreadsConfig;
  /**
   * The agent's configuration in a run, by its thread. Called each time a run is prepared, in any process. `pinned` is
   * what it returned when the run started.
   */
  profile?(run: RunAddress): Promise<RunProfile>;
  logger?: Logger;
  /** Clock, ids and randomness, for tests. */
  system?: System;
}
