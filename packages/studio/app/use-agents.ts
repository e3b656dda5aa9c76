import type { AgentInfo } from "@selvedge/protocol/routes";
import { useStudio } from "./studio-context.tsx";
import { type Loaded, useLoad } from "./use-load.ts";

/** An agent with the name it is registered under, which is how it is addressed. */
export interface ListedAgent extends AgentInfo {
  key: string;
}

export function useAgents(): Loaded<ListedAgent[]> {
  const { client } = useStudio();
  return useLoad("agents", async (signal) => {
    const agents = await client.call("listAgents", { signal });
    return Object.entries(agents).map(([key, agent]) => ({ ...agent, key }));
  });
}
