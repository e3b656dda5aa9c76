import type { RequestContext } from "../request-context/request-context.ts";
import type { ModelConfig } from "../model/model.ts";
import type { Processor } from "../processor/processor.ts";
import type { Storage } from "../storage/storage.ts";
import type { Schema } from "../schema/schema.ts";
import type { ToolsInput } from "../tool/tool.ts";
import type { System } from "../system.ts";

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
  readOnly?: boolean;
}

export interface MemoryRun {
  threadId: string;
  resourceId: string;
  config: MemoryConfig | undefined;
  requestContext: RequestContext;
  /** The agent's model, for the memory's own work such as titles. */
  model: ModelConfig;
  system: System;
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
}
