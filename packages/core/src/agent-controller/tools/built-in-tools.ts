import { createTool, type Tool, type ToolsInput } from "../../tool/tool.ts";
import type { AgentControllerConfig, BuiltinToolId } from "../config.ts";
import { askUserTool } from "./ask-user.ts";
import { IN_FORK } from "./subagent-tool.ts";
import { submitPlanTool } from "./submit-plan.ts";
import { taskCheckTool, taskCompleteTool, taskUpdateTool, taskWriteTool } from "./task-tools.ts";

const TOOLS: readonly Tool[] = [
  askUserTool,
  submitPlanTool,
  taskWriteTool,
  taskUpdateTool,
  taskCompleteTool,
  taskCheckTool,
];

/** The tools of every mode, without those the app turned off. */
export function builtInTools(
  { disableBuiltinTools = [] }: AgentControllerConfig,
  subagent: Tool | undefined,
): ToolsInput {
  const all = subagent ? [...TOOLS, subagent] : TOOLS;
  const on = all.filter(({ id }) => !disableBuiltinTools.includes(id as BuiltinToolId));
  return Object.fromEntries(on.map((tool) => [tool.id, tool]));
}

/** In a fork the model sees the same tool, so that its request has the parent's prefix; calling it has no effect. */
export function withoutEffect(tool: Tool): Tool {
  return createTool({
    ...tool.definition,
    execute: async () => ({ content: IN_FORK, isError: false }),
  }) as Tool;
}
