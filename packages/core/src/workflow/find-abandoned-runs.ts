import type { Candidate, Search } from "../actor/recovery.ts";
import type { Storage, Where } from "../storage/storage.ts";
import type { System } from "../system.ts";
import { WORKFLOW_RUNS, type WorkflowRunRow } from "./workflow-tables.ts";

const BATCH = 500;
const COLUMNS = ["run_id", "fence", "owner", "due_at"] as const;

/**
 * Finds runs of the workflows of this process that have work to do and no process.
 *
 *     owned, its owner gone          → continues here
 *     without an owner, and due      → its sleep is over, or it was resumed or started where there was no room
 */
export function findAbandonedRuns(
  storage: Storage,
  system: System,
  workflowIds: () => string[],
  isHeld: (runId: string) => boolean,
): Search<string> {
  const collect = async (
    found: Map<string, Candidate<string>>,
    where: Where<WorkflowRunRow>,
    isOrphan: boolean,
  ): Promise<void> => {
    const rows = await storage.select({ table: WORKFLOW_RUNS, where, limit: BATCH, columns: COLUMNS });
    for (const { run_id, fence, due_at } of rows)
      if (!isHeld(run_id)) found.set(run_id, { address: run_id, mark: `${fence} ${due_at}`, isOrphan });
  };
  return async ({ live }) => {
    const found = new Map<string, Candidate<string>>();
    const ids = workflowIds();
    if (ids.length === 0) return found;
    const workflow_id = { in: ids };
    // Owners one by one: there are few, and each may have many runs. One without a trace is gone.
    for (let after = ""; ;) {
      const [next] = await storage.select({
        table: WORKFLOW_RUNS,
        where: { owner: { ne: null, gt: after } },
        orderBy: [{ column: "owner" }],
        columns: ["owner"],
        limit: 1,
      });
      if (!next?.owner) break;
      after = next.owner;
      if (!live.has(after)) await collect(found, { owner: after, workflow_id }, true);
    }
    const due_at = { ne: null, lte: Math.trunc(system.now()) };
    await collect(found, { owner: null, due_at, workflow_id }, true);
    return found;
  };
}
