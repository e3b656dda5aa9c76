export { Mastra } from "../mastra/mastra.ts";
export type { MastraConfig } from "../mastra/mastra-config.ts";
export type { Logger } from "../logger.ts";
