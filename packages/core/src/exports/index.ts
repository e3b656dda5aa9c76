export { Mastra } from "../mastra/mastra.ts";
export type { MastraConfig } from "../mastra/mastra-config.ts";
export { Agent } from "../agent/agent.ts";
export { createTool, Tool } from "../tool/tool.ts";
export { RequestContext } from "../request-context/request-context.ts";
export { type Logger, silentLogger } from "../logger.ts";
export { realSystem, type System } from "../system.ts";

// Errors. `MastraError` is the documented name.
export { AgentError, AgentError as MastraError } from "../errors.ts";
export type { ErrorCode } from "@selvedge/protocol";
