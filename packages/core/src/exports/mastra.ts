export { Mastra, type MastraConfig } from "../mastra/mastra.ts";
export type { Logger } from "../logger.ts";
