import { AgentError, showValue } from "../errors.ts";
import { roughSize } from "../json.ts";
import type { Execution } from "./execute-step.ts";
import { encodeValue } from "./value-codec.ts";
import type { WorkflowLimits } from "./workflow-limits.ts";

/** Throws if a value cannot be stored, or is too large for that. */
export function checkStorable(value: unknown, place: string, limit: number): void {
  encodeValue(value, place);
  if (roughSize(value, limit) > limit)
    throw new AgentError(
      "limit-exceeded",
      `${place} is larger than ${limit} bytes. Store it elsewhere and return where.`,
    );
}

/** The outcome of a step, if it can be stored; otherwise the failure that says what cannot. */
export function storable(
  outcome: Execution["outcome"],
  { valueBytes }: WorkflowLimits,
): Execution["outcome"] {
  if (outcome.kind === "failure") return outcome;
  try {
    if (outcome.kind === "suspend") checkStorable(outcome.payload, "suspend payload", valueBytes);
    else checkStorable(outcome.output, "output", valueBytes);
    return outcome;
  } catch (error) {
    return { kind: "failure", error: error as Error };
  }
}

/** Checks new values of the state. */
export function checkState(next: unknown, { stateBytes }: WorkflowLimits): Record<string, unknown> {
  if (typeof next !== "object" || next === null || Array.isArray(next))
    throw new AgentError("invalid-argument", `setState() needs an object, got ${showValue(next)}.`);
  for (const [key, value] of Object.entries(next))
    if (value !== undefined) checkStorable(value, `state.${key}`, stateBytes);
  return next as Record<string, unknown>;
}
