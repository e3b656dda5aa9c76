import type { SerializedStepGraph, WorkflowTripwire, WorkflowUsage } from "@selvedge/protocol";
import type { Storage } from "../storage/storage.ts";
import { loggedSteps } from "./logged-result.ts";
import { type Ref, resolveRef } from "./ref.ts";
import type { RunImage, RunOptions } from "./run-image.ts";
import type { OnceRecord } from "./run-port.ts";
import { type FoundStep, outputsOf, toRecords } from "./step-row.ts";
import { decodeValue, fromCell } from "./value-codec.ts";
import {
  WORKFLOW_EVENTS,
  type WorkflowEventRow,
  WORKFLOW_GRAPHS,
  WORKFLOW_ONCE,
  WORKFLOW_RUNS,
  type WorkflowRunRow,
  WORKFLOW_STATE,
  WORKFLOW_STEPS,
} from "./workflow-tables.ts";

/** A run with its row. */
export interface StoredRun {
  row: WorkflowRunRow;
  image: RunImage;
}

/** Reads a run, in one round trip. */
export async function readRun(storage: Storage, runId: string): Promise<StoredRun | undefined> {
  const where = { run_id: runId };
  const [[row], log, journal, state, once] = await storage.selectAll([
    { table: WORKFLOW_RUNS, where, limit: 1 },
    // A time travel moves what it keeps from the log into the journal, so the log comes first.
    { table: WORKFLOW_EVENTS, where: { run_id: runId, records: { ne: null } }, columns: ["records"] },
    { table: WORKFLOW_STEPS, where },
    { table: WORKFLOW_STATE, where },
    { table: WORKFLOW_ONCE, where },
  ]);
  if (!row) return undefined;
  const input = fromCell(row.input);
  const steps = merged(loggedSteps(log as Pick<WorkflowEventRow, "records">[]), journal);
  const outputAt = outputsOf(steps, input);
  const records = toRecords(steps, input, outputAt);
  const result =
    row.status !== "success"
      ? undefined
      : {
          data:
            row.result_ref === null
              ? fromCell(row.result)
              : resolveRef(row.result_ref as Ref, input, outputAt),
        };
  return {
    row,
    image: {
      runId,
      workflowId: row.workflow_id,
      resourceId: row.resource_id ?? undefined,
      status: row.status,
      input,
      records,
      state: new Map(state.map(({ key, value }) => [key, fromCell(value)])),
      once: once.map(({ path, key, value }): OnceRecord => ({
        path,
        key,
        ...(value !== null && { result: { value: fromCell(value) } }),
      })),
      result,
      ...(row.error !== null && { error: decodeValue(row.error) }),
      ...(row.tripwire !== null && { tripwire: decodeValue(row.tripwire) as WorkflowTripwire }),
      usage: (row.usage as WorkflowUsage | null) ?? { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
      requestContext: (row.context as Record<string, unknown> | null) ?? {},
      options: (row.options as RunOptions | null) ?? {},
      graph: undefined,
      fence: row.fence,
      nextSeq: row.next_seq,
      firstSeq: row.first_seq,
      isOwned: row.owner !== null,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    },
  };
}

/** A time travel at the same moment may have left a record in both: that of the journal counts. */
function merged(log: readonly FoundStep[], journal: readonly FoundStep[]): readonly FoundStep[] {
  if (log.length === 0) return journal;
  if (journal.length === 0) return log;
  const paths = new Set(journal.map(({ path }) => path));
  return [...log.filter(({ path }) => !paths.has(path)), ...journal];
}

/** The graph that a run was started with. */
export async function readGraph(
  storage: Storage,
  { graph }: WorkflowRunRow,
): Promise<SerializedStepGraph | undefined> {
  if (graph === null) return undefined;
  const [row] = await storage.select({ table: WORKFLOW_GRAPHS, where: { id: graph }, limit: 1 });
  return row?.graph as SerializedStepGraph | undefined;
}
