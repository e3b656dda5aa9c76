import type { Pruner } from "../storage/pruners.ts";
import { sleep } from "../system.ts";
import { deleteWrites } from "./delete-runs.ts";
import { WORKFLOW_RUNS } from "./workflow-tables.ts";

/** Few at a time: a run may have many rows, and other writers wait. */
const BATCH = 20;

/** Deletes runs that ended long ago. */
export const pruneRuns: Pruner = async (storage, system, { workflowRunsMs }) => {
  const ended_at = { ne: null, lt: Math.trunc(system.now() - workflowRunsMs) };
  for (let deleted = 0; ;) {
    const rows = await storage.select({
      table: WORKFLOW_RUNS,
      where: { ended_at },
      orderBy: [{ column: "ended_at" }],
      columns: ["run_id"],
      limit: BATCH,
    });
    if (rows.length > 0) await storage.commit(deleteWrites(rows.map(({ run_id }) => run_id)));
    deleted += rows.length;
    if (rows.length < BATCH) return deleted;
    await sleep(system, 0);
  }
};
