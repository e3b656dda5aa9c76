import type { Storage, Where } from "../storage/storage.ts";
import type { RunImage } from "./run-image.ts";
import { readRun } from "./run-rows.ts";
import type { RunQuery } from "./workflow-engine.ts";
import { WORKFLOW_RUNS, type WorkflowRunRow } from "./workflow-tables.ts";

/** Runs of a workflow, newest first. */
export async function listRuns(
  storage: Storage,
  { workflowId, from, to, resourceId, statuses, limit, offset }: RunQuery,
): Promise<{ images: RunImage[]; total: number }> {
  const where: Where<WorkflowRunRow> = {
    ...(workflowId !== undefined && { workflow_id: workflowId }),
    ...(resourceId !== undefined && { resource_id: resourceId }),
    ...(statuses && { status: { in: statuses } }),
    ...((from !== undefined || to !== undefined) && {
      created_at: { ...(from !== undefined && { gte: from }), ...(to !== undefined && { lte: to }) },
    }),
  };
  const [total, rows] = await Promise.all([
    storage.count({ table: WORKFLOW_RUNS, where }),
    storage.select({
      table: WORKFLOW_RUNS,
      where,
      orderBy: [{ column: "created_at", direction: "desc" }],
      columns: ["run_id"],
      limit,
      offset,
    }),
  ]);
  const found = await Promise.all(rows.map(({ run_id }) => readRun(storage, run_id)));
  return { images: found.flatMap((stored) => stored?.image ?? []), total };
}
