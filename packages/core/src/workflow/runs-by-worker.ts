import type { Storage } from "../storage/storage.ts";
import { WORKFLOW_DOMAIN } from "./workflow-domain.ts";
import { WORKFLOW_RUNS } from "./workflow-tables.ts";

/** A workflow run that a process carries out. */
export interface WorkerWorkflowRun {
  runId: string;
  workflowId: string;
  resourceId: string | undefined;
}

const MAX_RUNS = 1_000;

/** The workflow runs that processes carry out now, by the id of the process. */
export async function workflowRunsByWorker(
  storage: Storage,
): Promise<ReadonlyMap<string, WorkerWorkflowRun[]>> {
  await storage.domain(WORKFLOW_DOMAIN);
  const rows = await storage.select({
    table: WORKFLOW_RUNS,
    where: { owner: { ne: null } },
    columns: ["run_id", "workflow_id", "resource_id", "owner"],
    limit: MAX_RUNS,
  });
  const byWorker = Map.groupBy(rows, ({ owner }) => owner!);
  return new Map(
    Array.from(byWorker, ([owner, own]) => [
      owner,
      own.map(({ run_id, workflow_id, resource_id }) => ({
        runId: run_id,
        workflowId: workflow_id,
        resourceId: resource_id ?? undefined,
      })),
    ]),
  );
}
