import type { JSONValue, WorkflowTripwire } from "@selvedge/protocol";
import type { StepRecord } from "./journal.ts";
import { type Ref, resolveRef, type Value } from "./ref.ts";
import { decodeValue, encodeValue, fromCell, toCell } from "./value-codec.ts";
import type { WorkflowStepRow } from "./workflow-tables.ts";

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
  return { run_id: runId, ...toStepColumns(record) };
}

/** A record without its run. */
export function toStepColumns(record: StepRecord): Partial<WorkflowStepRow> {
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
