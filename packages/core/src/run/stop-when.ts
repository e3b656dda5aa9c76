import type { StepResult } from "./step-result.ts";

/** Decides after a step whether the run ends there. */
export type StopCondition = (state: { steps: StepResult[] }) => boolean | Promise<boolean>;

export function stepCountIs(count: number): StopCondition {
  return ({ steps }) => steps.length >= count;
}

export function hasToolCall(toolName: string): StopCondition {
  return ({ steps }) => steps.at(-1)?.toolCalls.some((call) => call.toolName === toolName) ?? false;
}

export async function shouldStop(
  conditions: readonly StopCondition[],
  steps: StepResult[],
): Promise<boolean> {
  for (const condition of conditions) if (await condition({ steps })) return true;
  return false;
}
