import { isPromise } from "../is-promise.ts";
import type { StepResult } from "../processor/step-result.ts";

/** Decides after a step whether the run ends there. */
export type StopCondition = (state: { steps: StepResult[] }) => boolean | Promise<boolean>;

export function stepCountIs(count: number): StopCondition {
  return ({ steps }) => steps.length >= count;
}

export function hasToolCall(toolName: string): StopCondition {
  return ({ steps }) => steps.at(-1)?.toolCalls.some((call) => call.toolName === toolName) ?? false;
}

/** Whether one of the conditions ends the run. Asynchronous only if a condition is. */
export function shouldStop(
  conditions: readonly StopCondition[],
  steps: StepResult[],
): boolean | Promise<boolean> {
  for (let index = 0; index < conditions.length; index++) {
    const stops = conditions[index]!({ steps });
    if (isPromise(stops))
      return Promise.resolve(stops).then((late) => late || shouldStop(conditions.slice(index + 1), steps));
    if (stops) return true;
  }
  return false;
}
