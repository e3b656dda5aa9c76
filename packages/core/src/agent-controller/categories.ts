import type { AgentControllerConfig } from "./config.ts";
import { Tool, type ToolLike } from "../tool/tool.ts";
import { checkCategory, type ToolCategory } from "./permission.ts";

/** Categories of the tools of workspaces and browsers, if the app sets none. */
const KNOWN: readonly (readonly [RegExp, ToolCategory])[] = [
  [/^mastra_workspace_(?:read|list|grep|search|stat|file_stat|get)|^skill(?:_search|_read)?$/, "read"],
  [/^mastra_workspace_(?:write|edit|delete|mkdir|move|replace|insert|index|ast)/, "edit"],
  [/^mastra_workspace_(?:execute|run|kill)/, "execute"],
  [/^browser_(?:goto|snapshot|screenshot|scroll|hover|back|wait|tabs|close)$/, "read"],
  [/^browser_(?:click|type|press|select|dialog|drag|evaluate)$/, "execute"],
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
  if (!config.toolCategoryResolver) return KNOWN.find(([pattern]) => pattern.test(toolName))?.[1] ?? null;
  try {
    return checkCategory(config.toolCategoryResolver(toolName));
  } catch {
    return null; // No category: no rule by category applies, and the call asks.
  }
}
