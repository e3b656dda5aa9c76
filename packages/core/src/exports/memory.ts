export type {
  MastraMemory,
  MemoryConfig,
  MemoryParts,
  MemoryRun,
  SemanticRecallConfig,
  TitleConfig,
  TitleContext,
  WorkingMemoryConfig,
} from "../memory/memory.ts";

// For memory authors
export { realSystem, sleep, type System } from "../system.ts";
