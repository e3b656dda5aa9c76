import { useStudio } from "./studio-context.tsx";
import { type Loaded, useLoad } from "./use-load.ts";

/** The ids of the controllers on this server. */
export function useControllers(): Loaded<string[]> {
  const { client } = useStudio();
  return useLoad("controllers", async (signal) => {
    const { agentControllers } = await client.call("listControllers", { signal });
    return agentControllers.map(({ id }) => id);
  });
}
