import type { ToolsInput } from "../../tool/tool.ts";
import type { AgentControllerConfig, BuiltinToolId } from "../config.ts";
import { askUserTool } from "./ask-user.ts";
import { submitPlanTool } from "./submit-plan.ts";
import { taskCheckTool, taskCompleteTool, taskUpdateTool, taskWriteTool } from "./task-tools.ts";

const TOOLS: readonly (ToolsInput[string] & { id: string })[] = [
  askUserTool,
  submitPlanTool,
  taskWriteTool,
  taskUpdateTool,
  taskCompleteTool,
  taskCheckTool,
] as never;

/** The tools that every mode has, less those that the app turned off. */
export function builtInTools({ disableBuiltinTools = [] }: AgentControllerConfig): ToolsInput {
  const on = TOOLS.filter(({ id }) => !disableBuiltinTools.includes(id as BuiltinToolId));
  return Object.fromEntries(on.map((tool) => [tool.id, tool]));
}
