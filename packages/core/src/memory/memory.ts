import type { AgentChunk, MessagePart, StoredMessage } from "@selvedge/protocol";
import type { Logger } from "../logger.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { ModelConfig } from "../model/model.ts";
import type { Processor } from "../processor/processor.ts";
import type { Storage, Write } from "../storage/storage.ts";
import type { Schema } from "../schema/schema.ts";
import type { ToolsInput } from "../tool/tool.ts";
import type { VectorFilter, VectorMetric } from "../vector/vector.ts";
import type { System } from "../system.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

export interface SemanticRecallConfig {
  /** How many similar messages to recall. */
  topK?: number;
  /** How many neighbours to include with each. */
  messageRange?: number | { before: number; after: number };
  /** Search this thread only, or all threads of the resource. */
  scope?: "thread" | "resource";
  /** Drop matches below this similarity. */
  threshold?: number;
  indexName?: string;
  /** A further condition on what is found, by `role`, `thread_id` or `message_id`. */
  filter?: VectorFilter;
  /** How the index is created: `metric`, and other options of the vector store. */
  indexConfig?: { metric?: VectorMetric; [option: string]: unknown };
  /** Passed to an AI SDK embedding model with every call. */
  embedderOptions?: { providerOptions?: Record<string, Record<string, unknown>> };
}

export interface WorkingMemoryConfig {
  enabled?: boolean;
  template?: string;
  /** Instead of a template: working memory is a JSON object of this shape. */
  schema?: Schema;
  scope?: "thread" | "resource";
  /** If false, the model gets neither the tool nor the instructions: the app maintains the working memory. */
  agentManaged?: boolean;
  /** Send changes as a state signal in the conversation, instead of a system message that changes. */
  useStateSignals?: boolean;
}

export interface TitleConfig {
  model?: ModelConfig | ((context: TitleContext) => ModelConfig | Promise<ModelConfig>);
  instructions?: string | ((context: TitleContext) => string | Promise<string>);
}

/** The request context itself, for older functions; it also has itself as `requestContext`. */
export type TitleContext = RequestContext & {
  requestContext: RequestContext;
  /** The older name of `requestContext`. */
  runtimeContext: RequestContext;
};

/** Which memory a run uses. Given to `Memory` as defaults, and per call as `memory.options`. */
export interface MemoryConfig {
  lastMessages?: number | false;
  semanticRecall?: boolean | SemanticRecallConfig;
  workingMemory?: WorkingMemoryConfig;
  threads?: { generateTitle?: boolean | TitleConfig };
  /** The older place of `threads.generateTitle`. */
  generateTitle?: boolean | TitleConfig;
  /** See `@selvedge/memory`. A call can only switch it off. */
  observationalMemory?: boolean | object;
  readOnly?: boolean;
}

/** What a memory adds to the commits of a run. Called again when a commit is repeated. */
export interface CommitContribution {
  /** Rows for a commit, by what that writes. `ends`: the run ends with it. `stored` is called when it took effect. */
  rows(
    writes: readonly Write[],
    at: { ends: boolean },
  ): { writes: readonly Write[]; stored(): void } | undefined;
  /** Whether an assistant message is complete with this step, so that the next step begins a new message. */
  closes(step: { messageId: string; parts: readonly MessagePart[] }): boolean;
}

/** What a run stores, as far as its memory has a say in it. */
export interface MemoryJournal {
  contribute(contribution: CommitContribution): void;
  /** The newest messages of the thread, oldest first. Those of `historyLimit` were read with the thread. */
  recentMessages(limit: number): Promise<StoredMessage[]>;
  /**
   * Stores rows and puts chunks on the stream, in one commit that counts only while the run has its thread. Returns false
   * when a condition of the rows does not hold.
   */
  announce(chunks: readonly AgentChunk[], writes: readonly Write[]): Promise<boolean>;
}

/** What durable work beside the threads of a store shares with them. */
export interface MemoryThreads {
  readonly storage: Storage;
  readonly system: System;
  readonly logger: Logger;
  readonly limits: { readonly omJobs: number };
  /** The process, as others that share the store see it. */
  readonly lease: {
    readonly id: string;
    /** Called before a claim: makes sure that other processes see this one as alive. */
    hold(): Promise<void>;
    release(): void;
    /** Whether work owned by another process can be taken over. */
    isGone(ownerId: string): Promise<boolean>;
  };
  /** Calls back whenever the process searches for abandoned work. */
  onLook(listener: () => void): void;
  /** Awaited when the process closes, before it releases its work. */
  onClose(listener: () => Promise<void>): void;
  /**
   * Stores rows and puts chunks on the stream of a thread, in one commit, beside its run or without one. `busy`: nothing
   * was stored, because another process executes the thread. `conflict`: a condition of the rows does not hold.
   */
  announce(
    target: { threadId: string; resourceId: string },
    chunks: readonly AgentChunk[],
    writes: readonly Write[],
  ): Promise<"stored" | "busy" | "conflict">;
}

/** What a controller sets for one role of observational memory. */
export interface OmRoleSettings {
  /** Chosen for the thread: before the memory's configuration. */
  chosen: OmRoleSetting;
  /** Used if the memory's configuration has none. */
  usual: OmRoleSetting;
}

interface OmRoleSetting {
  /** Called when the role is. May throw. */
  model(): ModelConfig | undefined;
  threshold: number | undefined;
}

export interface OmSettings {
  /** The model behind an id, as the controller resolves it. */
  resolveModel(modelId: string): ModelConfig;
  observation: OmRoleSettings;
  reflection: OmRoleSettings;
}

/** The agent that a memory belongs to, for work that continues without a run. */
export interface MemoryAgent {
  readonly id: string;
  readonly threads: MemoryThreads;
  /** The agent's own model, on this thread. */
  model(threadId: string): Promise<ModelConfig>;
  /** Spans for the memory's own work, if the agent's default options have telemetry. */
  telemetry?(): Promise<Telemetry | undefined>;
  /** Settings of observational memory for a thread, on a controller. */
  omSettings?(threadId: string): Promise<OmSettings>;
}

export interface MemoryRun {
  threadId: string;
  resourceId: string;
  config: MemoryConfig | undefined;
  requestContext: RequestContext;
  /** The agent's model, for the memory's own work such as titles. */
  model: ModelConfig;
  system: System;
  /** Absent for a run that only reads. */
  journal?: MemoryJournal | undefined;
  agent?: MemoryAgent | undefined;
}

/** A processor that takes part in what a run stores. On a thread, what `forRun` returns stands in its place. */
export interface RunProcessor extends Processor {
  forRun(run: MemoryRun): Promise<Processor>;
}

export interface MemoryParts {
  inputProcessors: Processor[];
  outputProcessors: Processor[];
  tools: ToolsInput;
}

/**
 * What an agent needs from its memory: where things are stored, and which processors and tools take part in a run.
 * Storing messages is up to the run (`run/run-journal.ts`), not the memory.
 */
export interface MastraMemory {
  /** The store, once the memory or its host has one. */
  readonly storage: Storage | undefined;
  /** Called by the host on registration; a memory with its own store keeps it. */
  useStorage(storage: Storage): void;
  prepareRun(run: MemoryRun): Promise<MemoryParts>;
  /** How many of the newest messages a run asks its journal for, beside its input. Default: none. */
  historyLimit?(config: MemoryConfig | undefined): number;
  /** From now on, this process executes unfinished work of the memory's runs. */
  serve?(agent: MemoryAgent): void | Promise<void>;
  /** Thresholds of observational memory, as far as they were configured. */
  readonly omThresholds?:
    | { messageTokens: number | undefined; observationTokens: number | undefined }
    | undefined;
}
