import { AgentError, type Mastra } from "@selvedge/core";
import type { Agent } from "@selvedge/core/agent";

/** Finds an agent by its registered name or its id. */
export function findAgent(mastra: Mastra, name: string): Agent<string, never> {
  const agents = mastra.listAgents() as Record<string, Agent<string, never>>;
  const found = Object.hasOwn(agents, name)
    ? agents[name]
    : Object.values(agents).find(({ id }) => id === name);
  if (found) return found;
  throw new AgentError("not-found", `There is no agent "${name}".`);
}
