/** Where a chunk comes from. */
export const ChunkFrom = {
  AGENT: "AGENT",
  USER: "USER",
  SYSTEM: "SYSTEM",
  WORKFLOW: "WORKFLOW",
  NETWORK: "NETWORK",
} as const;
export type ChunkFrom = (typeof ChunkFrom)[keyof typeof ChunkFrom];
