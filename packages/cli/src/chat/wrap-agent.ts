import type { Mastra } from "@selvedge/core";
import type { Agent } from "@selvedge/core/agent";
import { AgentController } from "@selvedge/core/agent-controller";

/**
 * Gives each agent of a host that has no controller one of its own, with one mode, so that people can talk to it in a
 * session. What the agent runs without asking runs without asking there, too.
 */
export async function wrapAgents(mastra: Mastra): Promise<void> {
  if (Object.keys(mastra.listAgentControllers()).length > 0) return;
  for (const agent of Object.values(mastra.listAgents())) await mastra.addAgentController(await wrap(agent));
}

async function wrap(agent: Agent): Promise<AgentController> {
  const tools = (await agent.listTools()) as Record<string, unknown>;
  return new AgentController({
    id: `${agent.id}-chat`,
    agent,
    modes: [{ id: agent.id, name: agent.name, description: agent.description }],
    toolCategoryResolver: (toolName) => {
      if (!Object.hasOwn(tools, toolName)) return null;
      return asks(tools[toolName]) ? "other" : "read";
    },
    permissionRules: { categories: { read: "allow" } },
  });
}

/** Whether a tool, ours or one of the AI SDK, asks before some of its calls. */
function asks(tool: unknown): boolean {
  const { definition, needsApproval } = Object(tool) as Record<string, unknown>;
  const { requireApproval } = Object(definition) as { requireApproval?: unknown };
  return Boolean(requireApproval ?? needsApproval);
}
