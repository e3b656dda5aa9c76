import type { OptionNames } from "../unknown-options.ts";
import type { MastraConfig } from "./mastra-config.ts";

/** The options of `new Mastra()`. */
export const MASTRA_OPTIONS: OptionNames<Required<MastraConfig>> = {
  agents: true,
  agentControllers: true,
  tools: true,
  storage: true,
  memory: true,
  vectors: true,
  workspace: true,
  mcpServers: true,
  workflows: true,
  workflowRuns: true,
  scorers: true,
  notifications: true,
  threads: true,
  server: true,
  observability: true,
  durableContextKeys: true,
  logger: true,
  idGenerator: true,
  system: true,
};
