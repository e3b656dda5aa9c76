export { Memory } from "./memory.ts";
export type {
  CreateThreadOptions,
  MemoryDefaults,
  MemoryOptions,
  QueryOptions,
  QueryResult,
  RecallOptions,
  ThreadAddress,
  WorkingMemoryAddress,
} from "./memory-options.ts";
export type { MemorySettings, RecallSettings, WorkingMemorySettings } from "./memory-settings.ts";
export type { MemoryWarning, Warn } from "./warning.ts";

// One processor per kind of memory
export { MessageHistory, type MessageHistoryOptions } from "./message-history.ts";
export { RecallIndexer } from "./recall-indexer.ts";
export { SemanticRecall, type SemanticRecallOptions } from "./semantic-recall.ts";
export { ThreadTitle, type ThreadTitleOptions } from "./thread-title.ts";
export { WorkingMemoryStateProcessor } from "./working-memory-state.ts";
export { DEFAULT_TEMPLATE, WorkingMemory } from "./working-memory.ts";
export { WORKING_MEMORY_TOOL } from "./working-memory-tool.ts";
export type { WorkingMemoryOptions, WorkingMemoryParts } from "./working-memory-parts.ts";
export type { ThreadSource } from "./thread-domain-of.ts";

// Observational memory
export type {
  IdleTime,
  ObservationalMemoryOptions,
  ObservationOptions,
  OmHints,
  OmHookEnd,
  OmHooks,
  OmHookStart,
  OmModel,
  OmRoleOptions,
  OmTrigger,
  OmUsage,
  ReflectionOptions,
  RetrievalOptions,
} from "./observational/om-options.ts";
export {
  type ExtractedArgs,
  Extractor,
  type ExtractorContext,
  type ExtractorMemory,
  type ExtractorOptions,
  WorkingMemoryExtractor,
} from "./observational/extractor.ts";
export { ModelByInputTokens } from "./observational/model-by-input-tokens.ts";
export {
  type MemoryContext,
  ObservationalMemory,
  type ObservationalMemoryConfig,
  type OmThread,
} from "./observational/observational-memory.ts";
export type { OmChunkView, OmGeneration, OmJobView, OmView } from "./observational/om-inspection.ts";
export { ObservationalMemoryProcessor } from "./observational/observational-memory-processor.ts";
export { getObservationsAsOf } from "./observational/observations-as-of.ts";
export {
  type ConversationSummary,
  summarizeConversation,
  type SummarizeConversationOptions,
  type SummarizeOptions,
} from "./observational/summarize-conversation.ts";

// What they are made of
export { MessageIndex, type MessageMatch } from "./message-index.ts";
export {
  LONGEST_WORKING_MEMORY,
  type WorkingMemoryPlace,
  WorkingMemoryStore,
} from "./working-memory-store.ts";

// Messages for people
export { toUIMessage, type UIMessage, type UIMessagePart } from "@selvedge/core/message";
export { transcriptView } from "./transcript-view.ts";

// The contract of core, so that an app needs one import
export type {
  MemoryConfig,
  SemanticRecallConfig,
  TitleConfig,
  WorkingMemoryConfig,
} from "@selvedge/core/memory";
