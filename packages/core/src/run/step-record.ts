import type { Run } from "./run.ts";
import type { StepRecord } from "./run-journal.ts";
import type { StepBuilder } from "./step-builder.ts";
import { addUsage } from "./usage.ts";

/** A step as its thread stores it, now. */
export function stepRecord(run: Run, step: StepBuilder, metadata?: Record<string, unknown>): StepRecord {
  return {
    message: run.responseMessage(),
    stepNumber: step.stepNumber,
    parts: step.parts,
    metadata,
    // The step itself is counted when it has been stored.
    usage: addUsage(run.totalUsage, step.usage),
  };
}
