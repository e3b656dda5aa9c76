// The names of @mastra/memory/processors.
export { MessageHistory } from "./message-history.ts";
export { ObservationalMemory, type ObservationalMemoryConfig } from "./observational/observational-memory.ts";
export { SemanticRecall } from "./semantic-recall.ts";
export { WorkingMemory } from "./working-memory.ts";
