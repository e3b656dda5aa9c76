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

// For those who write a memory
export { realSystem, sleep, type System } from "../system.ts";
