import type { Write } from "../storage/storage.ts";
import { insert } from "../storage/writes.ts";
import { restEvents, workflowStart } from "./run-events.ts";
import type { RunLog } from "./run-log.ts";
import { toStepRow } from "./step-row.ts";
import { storedContext } from "./stored-context.ts";
import { restColumns } from "./stored-run-port.ts";
import { toCell } from "./value-codec.ts";
import type { Definition, NewRun, RunAddress } from "./workflow-engine.ts";
import { WORKFLOW_RUNS, WORKFLOW_STATE, WORKFLOW_STEPS } from "./workflow-tables.ts";

interface Place {
  log: RunLog;
  graph: string;
  now: number;
}

const NO_USAGE = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };

/** Stores a run that begins, in this process or, without an owner, in the next that has room. Its id must be new. */
export function startWrites(
  definition: Definition,
  run: NewRun,
  { log, graph, now, owner }: Place & { owner: string | undefined },
): Write[] {
  const { runId: run_id, resourceId, options, perStep } = run;
  const row = insert(WORKFLOW_RUNS, {
    ...firstColumns(definition, run, { log, graph, now }),
    ...(resourceId !== undefined && { resource_id: resourceId }),
    status: "running",
    ...(owner === undefined ? { due_at: now } : { owner }),
    attempts: 0,
    next_seq: 2,
    input: toCell(run.input, "inputData"),
    context: storedContext(run.requestContext, definition.host),
    options: { ...options, ...(perStep && { perStep: true }) },
  });
  const state = Object.entries(run.state).map(([key, value]) =>
    insert(WORKFLOW_STATE, { run_id, key, value: toCell(value, `initialState.${key}`), version: 1 }),
  );
  const records = run.records.map((record) => insert(WORKFLOW_STEPS, toStepRow(run_id, record)));
  return [row, ...state, ...records, log.insertEvents(1, [workflowStart(run_id, definition.id)], now)];
}

/** Stores that a run was canceled before anyone started it. Its id must be new: a start and this exclude each other. */
export function canceledWrites(definition: Definition, address: RunAddress, place: Place): Write[] {
  const { log, now } = place;
  const rest = { status: "canceled" as const, chunks: [] };
  const chunks = restEvents(address.runId, rest, NO_USAGE).map((logged) => log.logged(logged));
  return [
    insert(WORKFLOW_RUNS, {
      ...firstColumns(definition, address, place),
      ...restColumns(rest, now),
      status: rest.status,
      next_seq: 1 + chunks.length,
      options: { neverStarted: true },
    }),
    log.insertEvents(1, chunks, now),
  ];
}

function firstColumns({ id }: Definition, { runId, resourceId }: RunAddress, { graph, now }: Place) {
  return {
    run_id: runId,
    workflow_id: id,
    ...(resourceId !== undefined && { resource_id: resourceId }),
    fence: 1,
    first_seq: 1,
    graph,
    created_at: now,
    updated_at: now,
  };
}
