import type { WorkflowInfo } from "@selvedge/protocol/routes";
import { useStudio } from "../studio-context.tsx";
import { type Loaded, useLoad } from "../use-load.ts";

/** A workflow of this server, by registered name or by id. */
export function useWorkflow(workflowId: string): Loaded<WorkflowInfo> {
  const { client } = useStudio();
  return useLoad(`workflow ${workflowId}`, (signal) =>
    client.call("getWorkflow", { params: { workflowId }, signal }),
  );
}
