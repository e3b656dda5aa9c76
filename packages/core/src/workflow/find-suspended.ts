import { AgentError, showValue } from "../errors.ts";
import { isEnd, type RunImage } from "./run-image.ts";
import type { ResumeOptions, StepReference } from "./run-requests.ts";
import { type SuspendedStep, suspendedSteps } from "./run-view.ts";

/** The name of a step that a caller gave: `a.b` for step b of the nested workflow a. */
export function nameOf(step: StepReference): string {
  const parts = (Array.isArray(step) ? step : [step]) as readonly ({ id: string } | string)[];
  const ids = parts.map((part) => (typeof part === "string" ? part : part?.id));
  if (ids.length > 0 && ids.every((id) => typeof id === "string" && id !== "")) return ids.join(".");
  throw new AgentError("invalid-argument", `step must be a step or its id, got ${showValue(step)}.`);
}

/** The suspended steps that a `resume()` is for. Throws if there are none, or it is not clear which. */
export function findSuspended(
  image: RunImage,
  { step, label, forEachIndex }: Pick<ResumeOptions, "step" | "label" | "forEachIndex">,
): SuspendedStep[] {
  const all = suspendedSteps(image.records);
  const { runId, status } = image;
  if (isEnd(status) || all.length === 0)
    throw new AgentError(
      "conflict",
      `This workflow run was not suspended: run "${runId}" is ${status}${wasResumed(image) ? ", and its step was already resumed" : ""}.`,
      { details: { runId, status } },
    );
  const names = [...new Set(all.map((one) => one.label))];
  let found = all;
  if (label !== undefined) {
    found = found.filter(({ record }) => record.labels?.includes(label));
    if (found.length === 0) {
      const known = all.flatMap(({ record }) => record.labels ?? []);
      throw new AgentError(
        "conflict",
        `No step of workflow run "${runId}" is suspended with label ${showValue(label)}. Labels: ${known.join(", ") || "none"}.`,
      );
    }
  }
  if (step !== undefined) {
    const name = nameOf(step);
    found = found.filter((one) => one.label === name || one.label.startsWith(`${name}.`));
    if (found.length === 0)
      throw new AgentError(
        "conflict",
        `Step "${name}" of workflow run "${runId}" is not suspended. Suspended: ${names.join(", ")}.`,
        { details: { runId, suspended: names } },
      );
  }
  if (forEachIndex !== undefined) {
    found = found.filter((one) => one.forEachIndex === forEachIndex);
    if (found.length === 0)
      throw new AgentError(
        "conflict",
        `Item ${showValue(forEachIndex)} of workflow run "${runId}" is not suspended. Suspended: ${all.map(({ path }) => path).join(", ")}.`,
      );
  }
  const chosen = [...new Set(found.map((one) => one.label))];
  if (chosen.length > 1)
    throw new AgentError(
      "ambiguous",
      `Several steps of workflow run "${runId}" are suspended: ${chosen.join(", ")}. Pass one of them as step.`,
      { details: { runId, suspended: chosen } },
    );
  return found;
}

function wasResumed({ records }: RunImage): boolean {
  return records.some(({ resumedAt }) => resumedAt !== undefined);
}
