import type { JSONValue } from "@selvedge/protocol";
import type { StepRecord } from "./journal.ts";
import type { Path } from "./path.ts";
import type { FoundStep } from "./step-row.ts";
import { toStepColumns } from "./step-row.ts";
import { toCell } from "./value-codec.ts";
import type { WorkflowEventRow, WorkflowStepRow } from "./workflow-tables.ts";

/** What most steps leave behind: path, number, start, end, reference of the input, output. */
type Plain = [Path, number, number, number, JSONValue, JSONValue];

/** A result as a row of the log has it. */
export type LoggedResult = Plain | Partial<WorkflowStepRow>;

export function toLogged(record: StepRecord): LoggedResult {
  const { path, number, attempt, input, output, startedAt, endedAt, bailed, metadata } = record;
  const isPlain =
    attempt === 1 &&
    endedAt !== undefined &&
    input?.ref !== undefined &&
    output?.ref === path &&
    !bailed &&
    !metadata &&
    !record.suspend;
  if (!isPlain) return toStepColumns(record);
  return [path, number, startedAt, endedAt, input.ref as JSONValue, toCell(output.data, "output")];
}

/** The results in rows of the log. */
export function loggedSteps(rows: readonly Pick<WorkflowEventRow, "records">[]): FoundStep[] {
  const found: FoundStep[] = [];
  for (const { records } of rows)
    if (records !== null) for (const logged of records as LoggedResult[]) found.push(fromLogged(logged));
  return found;
}

export function fromLogged(logged: LoggedResult): FoundStep {
  if (!Array.isArray(logged)) return logged as FoundStep;
  const [path, number, started_at, ended_at, input_ref, output] = logged;
  return { path, number, status: "success", attempt: 1, started_at, ended_at, input_ref, output };
}
