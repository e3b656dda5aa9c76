import type { Logger } from "@selvedge/core";
import { agentTool } from "./agent-tool.ts";
import type { MCPServerConfig } from "./server-config.ts";
import { serveTool, type ServedTool } from "./served-tool.ts";
import { workflowTool } from "./workflow-tool.ts";

/**
 * All tools of a server by name: configured tools, then one per agent, then one per workflow. On a name conflict the
 * first one wins. A Map, so that a tool called `constructor` is just a name.
 */
export function servedTools(config: MCPServerConfig, logger: Logger): ReadonlyMap<string, ServedTool> {
  const served = new Map<string, ServedTool>();
  for (const [name, tool] of Object.entries(config.tools ?? {})) {
    if (typeof tool?.execute === "function") served.set(name, serveTool(name, tool));
    else logger.warn(`Tool "${name}" has no execute function and is not served over MCP.`);
  }
  const derived = [
    ...Object.entries(config.agents ?? {}).map(
      ([key, agent]) => ["agent", `ask_${key}`, () => agentTool(key, agent)] as const,
    ),
    ...Object.entries(config.workflows ?? {}).map(
      ([key, workflow]) => ["workflow", `run_${key}`, () => workflowTool(key, workflow)] as const,
    ),
  ];
  for (const [type, name, make] of derived) {
    const tool = make();
    if (served.has(name))
      logger.warn(`A tool named "${name}" exists already: the ${type} of that name is not served.`);
    else served.set(name, serveTool(name, tool, type));
  }
  return served;
}
