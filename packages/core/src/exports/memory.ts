export type {
  CommitContribution,
  MastraMemory,
  MemoryAgent,
  MemoryConfig,
  MemoryJournal,
  MemoryParts,
  MemoryRun,
  MemoryThreads,
  OmSettings,
  RunProcessor,
  SemanticRecallConfig,
  TitleConfig,
  TitleContext,
  WorkingMemoryConfig,
} from "../memory/memory.ts";

// For memory authors
export type { Telemetry } from "../telemetry/telemetry.ts";
export { realSystem, sleep, type System } from "../system.ts";
export { openThreads as openMemoryThreads } from "../thread/threads.ts";
