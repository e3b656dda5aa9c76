import { parsePath, type Path } from "./path.ts";
import type { RunImage } from "./run-image.ts";
import type { OutputOptions } from "./run-requests.ts";
import { executionPath, resumeLabels, stepResults, suspendedSteps } from "./run-view.ts";
import type { WorkflowResult } from "./workflow-result.ts";

/** A run at rest as the result of the call that waited for it. */
export function toResult(
  image: RunImage,
  { includeState, includeResumeLabels }: OutputOptions = {},
): WorkflowResult {
  const { status, input, records, state, error, tripwire, result } = image;
  const steps = stepResults(records);
  const base = {
    input,
    steps,
    stepExecutionPath: executionPath(records),
    ...(includeState && { state: Object.fromEntries(state) }),
    ...(includeResumeLabels && { resumeLabels: resumeLabels(records) }),
  };
  switch (status) {
    case "success":
      return { ...base, status, result: result?.data };
    case "failed":
      return { ...base, status, error: error instanceof Error ? error : new Error(String(error)) };
    case "tripwire":
      return { ...base, status, tripwire: tripwire! };
    case "canceled":
    case "paused":
      return { ...base, status };
    default: {
      const waiting = suspendedSteps(records);
      const labels = [...new Set(waiting.map(({ label }) => label))];
      const payloads = labels.map((label) => [
        label,
        waiting.find((one) => one.label === label)!.record.suspend?.payload,
      ]);
      return {
        ...base,
        status: "suspended",
        suspended: labels.map((label) => idsOf(waiting.find((one) => one.label === label)!.path)),
        suspendPayload: Object.fromEntries(payloads),
      };
    }
  }
}

/** What leads to a step, for `resume({ step })`. */
function idsOf(path: Path): string[] {
  return parsePath(path).map(({ id }) => id);
}
