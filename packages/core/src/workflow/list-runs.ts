import type { Storage, Where } from "../storage/storage.ts";
import type { RunImage } from "./run-image.ts";
import { readRun } from "./run-rows.ts";
import type { RunHead, RunQuery } from "./workflow-engine.ts";
import { WORKFLOW_RUNS, type WorkflowRunRow } from "./workflow-tables.ts";

const HEAD = ["run_id", "workflow_id", "resource_id", "status", "created_at", "updated_at"] as const;

/** Runs of a workflow with their steps, newest first. */
export async function listRuns(
  storage: Storage,
  query: RunQuery,
): Promise<{ images: RunImage[]; total: number }> {
  const { rows, total } = await selectRuns(storage, query, ["run_id"]);
  const found = await Promise.all(rows.map(({ run_id }) => readRun(storage, run_id)));
  return { images: found.flatMap((stored) => stored?.image ?? []), total };
}

/** The same without their steps: one row for each. */
export async function listHeads(
  storage: Storage,
  query: RunQuery,
): Promise<{ heads: RunHead[]; total: number }> {
  const { rows, total } = await selectRuns(storage, query, HEAD);
  const heads = rows.map((row) => ({
    runId: row.run_id,
    workflowId: row.workflow_id,
    resourceId: row.resource_id ?? undefined,
    status: row.status,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }));
  return { heads, total };
}

async function selectRuns<Column extends keyof WorkflowRunRow & string>(
  storage: Storage,
  { workflowId, from, to, resourceId, statuses, limit, offset }: RunQuery,
  columns: readonly Column[],
): Promise<{ rows: Pick<WorkflowRunRow, Column>[]; total: number }> {
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
      columns,
      limit,
      offset,
    }),
  ]);
  return { rows, total };
}
