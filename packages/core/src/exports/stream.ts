// The names of @mastra/core/stream.
export { type FullOutput, RunOutput as MastraModelOutput } from "../stream/run-output.ts";
export type { AgentChunk, AgentChunk as ChunkType } from "@selvedge/protocol";
export { ChunkFrom } from "../switching/chunk-from.ts";
