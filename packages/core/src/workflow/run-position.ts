import type { Storage } from "../storage/storage.ts";
import { WORKFLOW_EVENTS, WORKFLOW_RUNS, type WorkflowRunRow } from "./workflow-tables.ts";

/** The number of a run's last event, and of the one before its first. */
export async function readPosition(storage: Storage, runId: string): Promise<{ start: number; end: number }> {
  const [[run], [last]] = await storage.selectAll([
    { table: WORKFLOW_RUNS, where: { run_id: runId }, columns: ["first_seq", "next_seq"], limit: 1 },
    {
      table: WORKFLOW_EVENTS,
      where: { run_id: runId },
      orderBy: [{ column: "first", direction: "desc" as const }],
      columns: ["last"],
      limit: 1,
    },
  ]);
  const { first_seq = 1, next_seq = 1 } = (run as Partial<WorkflowRunRow> | undefined) ?? {};
  // After a time travel there may be no events yet.
  return {
    start: first_seq - 1,
    end: Math.max((last as { last: number } | undefined)?.last ?? 0, next_seq - 1),
  };
}
