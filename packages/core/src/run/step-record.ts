import type { Run } from "./run.ts";
import type { StepRecord } from "./run-journal.ts";
import type { StepBuilder } from "./step-builder.ts";
import { addUsage } from "../model/usage.ts";

/** A step as it goes into the history, with whatever has to be stored together with it. */
export async function finalRecord(
  run: Run,
  step: StepBuilder,
  metadata?: Record<string, unknown>,
): Promise<StepRecord> {
  const record = stepRecord(run, step, metadata);
  if (!run.spec.alongside) return record;
  return { ...record, also: await run.spec.alongside(record) };
}

/** A step as its thread stores it, now. */
export function stepRecord(run: Run, step: StepBuilder, metadata?: Record<string, unknown>): StepRecord {
  return {
    message: run.responseMessage(),
    stepNumber: step.stepNumber,
    parts: step.parts,
    metadata,
    own: step.usage,
    // The step itself is counted when it has been stored.
    usage: addUsage(run.totalUsage, step.usage),
  };
}
