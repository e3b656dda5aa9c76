import { useStudio } from "../studio-context.tsx";
import { type ListedAgent, useAgents } from "../use-agents.ts";
import { useControllers } from "../use-controllers.ts";
import { type Loaded, useLoad } from "../use-load.ts";

/**
 * The agent of a thread: the one that is asked for, else the one that spoke last on it, else the first. Where a controller
 * spoke last, the thread is a session's.
 */
export function useThreadAgent(
  threadId: string,
  wanted: string | undefined,
): Loaded<ListedAgent | undefined> & { controllerId: string | undefined } {
  const { client, resourceId } = useStudio();
  const agents = useAgents();
  const controllers = useControllers();
  const last = useLoad(`${threadId} ${wanted ?? ""}`, async (signal) => {
    if (wanted !== undefined) return wanted;
    const { runs } = await client.call("listRuns", {
      params: { threadId },
      query: { resourceId, perPage: 1 },
      signal,
    });
    return runs[0]?.agentId;
  });
  const { value } = agents;
  const named = value?.find(({ id, key }) => id === last.value || key === last.value);
  return {
    controllerId: controllers.value?.find((id) => id === last.value),
    // A thread that nobody ran on, or does not exist yet, has no agent of its own: not a failure.
    value: last.loading ? undefined : (named ?? value?.find(({ hasMemory }) => hasMemory)),
    error: agents.error,
    loading: agents.loading || last.loading || controllers.loading,
    reload: agents.reload,
  };
}
