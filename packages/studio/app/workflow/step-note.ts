import type { WorkflowStepResult } from "@selvedge/protocol";
import { formatDuration } from "../format.ts";
import type { OutlineSleep, OutlineStep } from "./outline.ts";

/** How far the step of a `foreach` is. */
interface StepProgress {
  completedCount: number;
  totalCount: number;
}

export type StepProgresses = Readonly<Record<string, StepProgress>>;

/** A few words about a step beside its state: how far it is, how long it took. */
export function stepNote(
  node: OutlineStep | OutlineSleep,
  result: WorkflowStepResult | undefined,
  live: StepProgress | undefined,
): string {
  if (!result) return "";
  const parts: string[] = [];
  const progress = node.kind === "step" && node.perItem ? (live ?? storedProgress(result)) : undefined;
  if (progress) parts.push(`${progress.completedCount} of ${progress.totalCount}`);
  const took = durationOf(result);
  if (took !== undefined) parts.push(formatDuration(took));
  return parts.join(" · ");
}

/** The outputs of items that are not done are absent. */
function storedProgress(result: WorkflowStepResult): StepProgress | undefined {
  const outputs: unknown = "output" in result ? result.output : undefined;
  if (!Array.isArray(outputs)) return undefined;
  const done = outputs.filter((output) => output !== undefined && output !== null);
  return { completedCount: done.length, totalCount: outputs.length };
}

/** How long a step took, once it has ended: without the time that it waited for a person. */
export function durationOf(result: WorkflowStepResult): number | undefined {
  if (!("endedAt" in result) || typeof result.endedAt !== "number") return undefined;
  return Math.max(0, result.endedAt - (result.resumedAt ?? result.startedAt));
}
