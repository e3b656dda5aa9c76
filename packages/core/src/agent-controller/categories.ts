import type { AgentControllerConfig } from "./config.ts";
import { Tool, type ToolLike } from "../tool/tool.ts";
import { checkCategory, type ToolCategory } from "./permission.ts";

/** Categories of a workspace's tools, if the app sets none. */
const WORKSPACE: readonly (readonly [RegExp, ToolCategory])[] = [
  [/^mastra_workspace_(?:read|list|grep|search|stat|get)/, "read"],
  [/^mastra_workspace_(?:write|edit|delete|mkdir|move|replace|insert|ast)/, "edit"],
  [/^mastra_workspace_(?:execute|run|kill)/, "execute"],
];

/** The category whose rules apply to a tool; `null` for none. */
export function categoryOf(
  config: AgentControllerConfig,
  toolName: string,
  tool?: ToolLike,
): ToolCategory | null {
  // A workspace says what its tools do, whatever they are called.
  const { category } = tool instanceof Tool ? tool.definition : {};
  if (!config.toolCategoryResolver && category !== undefined) return category;
  if (!config.toolCategoryResolver) return WORKSPACE.find(([pattern]) => pattern.test(toolName))?.[1] ?? null;
  try {
    return checkCategory(config.toolCategoryResolver(toolName));
  } catch {
    return null; // No category: no rule by category applies, and the call asks.
  }
}
