import { AGENT_TOOL } from "@selvedge/protocol/session";
import type { Storage } from "../storage/storage.ts";
import type { Tool, ToolsInput } from "../tool/tool.ts";
import type { Agent } from "./agent.ts";
import { subagentTool } from "./subagent-tool.ts";

/** Creates the tools of an agent's subagents, once per subagent and store. */
export class SubagentTools {
  readonly #made = new WeakMap<Agent<any, any>, Map<string, { storage: Storage | undefined; tool: Tool }>>();

  toolsFor(agents: Record<string, Agent<any, any>>, storage: Storage | undefined): ToolsInput {
    return Object.fromEntries(
      Object.entries(agents).map(([key, agent]) => [`${AGENT_TOOL}${key}`, this.#tool(key, agent, storage)]),
    );
  }

  #tool(key: string, agent: Agent<any, any>, storage: Storage | undefined): Tool {
    const known = this.#made.get(agent) ?? new Map<string, { storage: Storage | undefined; tool: Tool }>();
    this.#made.set(agent, known);
    const made = known.get(key);
    if (made && made.storage === storage) return made.tool;
    const tool = subagentTool(key, agent, storage) as Tool;
    known.set(key, { storage, tool });
    return tool;
  }
}
