import type { OptionNames } from "../unknown-options.ts";
import type { ToolDefinition } from "./tool.ts";

/** The options of `createTool()`. */
export const TOOL_OPTIONS: OptionNames<Required<ToolDefinition<undefined, undefined>>> = {
  id: true,
  description: true,
  inputSchema: true,
  outputSchema: true,
  suspendSchema: true,
  resumeSchema: true,
  requireApproval: true,
  idempotent: true,
  category: true,
  timeoutMs: true,
  transform: true,
  mcp: true,
  toModelOutput: true,
  execute: true,
  onInputStart: true,
  onInputDelta: true,
  onInputAvailable: true,
  onOutput: true,
  mastra: true,
};
