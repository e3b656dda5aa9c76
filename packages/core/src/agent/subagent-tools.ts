import type { ToolsInput } from "../tool/tool.ts";
import type { Agent } from "./agent.ts";
import { subagentTool } from "./subagent-tool.ts";

/** Makes the tools of an agent's subagents, once per subagent. */
export class SubagentTools {
  readonly #tools = new WeakMap<Agent<any, any>, ToolsInput>();

  toolsFor(agents: Record<string, Agent<any, any>>): ToolsInput {
    const tools: ToolsInput = {};
    for (const [key, agent] of Object.entries(agents)) {
      let made = this.#tools.get(agent);
      if (!made) this.#tools.set(agent, (made = {}));
      const name = `agent-${key}`;
      tools[name] = made[name] ??= subagentTool(key, agent);
    }
    return tools;
  }
}
