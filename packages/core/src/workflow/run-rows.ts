import type { JSONValue, SerializedStepGraph, WorkflowTripwire, WorkflowUsage } from "@selvedge/protocol";
import type { Storage } from "../storage/storage.ts";
import type { StepRecord } from "./journal.ts";
import { type Ref, resolveRef, type Value } from "./ref.ts";
import type { RunImage, RunOptions } from "./run-image.ts";
import type { OnceRecord } from "./run-port.ts";
import { decodeValue, encodeValue, fromCell, toCell } from "./value-codec.ts";
import {
  WORKFLOW_EVENTS,
  type WorkflowEventRow,
  WORKFLOW_GRAPHS,
  WORKFLOW_ONCE,
  WORKFLOW_RUNS,
  type WorkflowRunRow,
  WORKFLOW_STATE,
  WORKFLOW_STEPS,
  type WorkflowStepRow,
} from "./workflow-tables.ts";

/** A value as a reference, if the store has it elsewhere. */
export function valueColumns(
  value: Value | undefined,
  place: string,
  ownPath?: string,
): { value?: JSONValue; ref?: JSONValue } {
  if (!value) return {};
  if (value.ref !== undefined && value.ref !== ownPath) return { ref: value.ref as JSONValue };
  return { value: toCell(value.data, place) };
}

/** The input is for people: a run computes it again. One that a schema turned into something else is left out. */
function inputColumns(input: Value | undefined): ReturnType<typeof valueColumns> {
  try {
    return valueColumns(input, "input");
  } catch {
    return {};
  }
}

/** A record as its row. Columns without a value are left out: they stay as they are. */
export function toStepRow(runId: string, record: StepRecord): Partial<WorkflowStepRow> {
  return { run_id: runId, ...toLoggedRow(record) };
}

/** A record as a row of the log has it. */
export function toLoggedRow(record: StepRecord): Partial<WorkflowStepRow> {
  const { path, number, status, attempt, error, tripwire, suspend, resume, labels, metadata } = record;
  const input = inputColumns(record.input);
  const output = valueColumns(record.output, "output", path);
  const row: Partial<WorkflowStepRow> = {
    path,
    number,
    status,
    attempt,
    started_at: record.startedAt,
  };
  if (record.bailed) row.bailed = 1;
  if (input.ref !== undefined) row.input_ref = input.ref;
  else if (input.value !== undefined) row.input = input.value;
  if (output.ref !== undefined) row.output_ref = output.ref;
  else if (output.value !== undefined) row.output = output.value;
  if (error !== undefined) row.error = encodeValue(error, "error");
  if (tripwire) row.tripwire = encodeValue(tripwire, "tripwire");
  if (suspend) row.suspend = toCell(suspend.payload, "suspend payload");
  if (resume) row.resume = toCell(resume.payload, "resume data");
  if (labels && labels.length > 0) row.labels = labels;
  if (metadata) row.metadata = encodeValue(metadata, "metadata");
  if (record.endedAt !== undefined) row.ended_at = record.endedAt;
  if (record.suspendedAt !== undefined) row.suspended_at = record.suspendedAt;
  if (record.resumedAt !== undefined) row.resumed_at = record.resumedAt;
  if (record.dueAt !== undefined) row.due_at = record.dueAt;
  return row;
}

/** A record from the store. What has no value is `null` in the journal and missing in the log. */
export type FoundStep = Pick<WorkflowStepRow, "path" | "number" | "status" | "attempt" | "started_at"> &
  Partial<WorkflowStepRow>;
export type FoundOutput = Pick<FoundStep, "path" | "output" | "output_ref">;

/** The records in rows of the log. */
export function loggedSteps(rows: readonly Pick<WorkflowEventRow, "records">[]): FoundStep[] {
  return rows.flatMap(({ records }) => (records as FoundStep[] | null) ?? []);
}

/** Outputs by path, references resolved. */
export function outputsOf(rows: readonly FoundOutput[], input: unknown): (path: string) => unknown {
  const byPath = new Map(rows.map((row) => [row.path, row]));
  const known = new Map<string, unknown>();
  const outputAt = (path: string): unknown => {
    if (known.has(path)) return known.get(path);
    const found = byPath.get(path);
    const ref = found?.output_ref;
    const value = has(ref) ? resolveRef(ref as Ref, input, outputAt) : fromCell(found?.output ?? null);
    known.set(path, value);
    return value;
  };
  return outputAt;
}

export function toRecords(
  rows: readonly FoundStep[],
  input: unknown,
  outputAt: (path: string) => unknown = outputsOf(rows, input),
): StepRecord[] {
  return rows.map((row) => toRecord(row, input, outputAt)).sort((a, b) => a.number - b.number);
}

/** Written for speed: a long run has thousands of them, and most columns are empty. */
function toRecord(row: FoundStep, input: unknown, outputAt: (path: string) => unknown): StepRecord {
  const { path, number, status, attempt } = row;
  const inputRef = (row.input_ref ?? undefined) as Ref | undefined;
  const data = inputRef === undefined ? fromCell(row.input ?? null) : resolveRef(inputRef, input, outputAt);
  const record: StepRecord = {
    path,
    number,
    status,
    attempt,
    input: { data, ref: inputRef },
    output: undefined,
    startedAt: row.started_at,
    endedAt: row.ended_at ?? undefined,
  };
  if (status === "success")
    record.output = { data: outputAt(path), ref: (row.output_ref as Ref | null | undefined) ?? path };
  if (has(row.bailed)) record.bailed = true;
  if (has(row.error)) record.error = decodeValue(row.error);
  if (has(row.tripwire)) record.tripwire = decodeValue(row.tripwire) as WorkflowTripwire;
  if (has(row.suspend)) record.suspend = { payload: fromCell(row.suspend) };
  if (has(row.resume)) record.resume = { payload: fromCell(row.resume) };
  if (has(row.labels)) record.labels = row.labels as string[];
  if (has(row.metadata)) record.metadata = decodeValue(row.metadata) as Record<string, unknown>;
  if (has(row.suspended_at)) record.suspendedAt = row.suspended_at!;
  if (has(row.resumed_at)) record.resumedAt = row.resumed_at!;
  if (has(row.due_at)) record.dueAt = row.due_at!;
  return record;
}

function has(cell: unknown): boolean {
  return cell !== null && cell !== undefined;
}

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
