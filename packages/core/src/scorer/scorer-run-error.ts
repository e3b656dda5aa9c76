import { AgentError } from "../errors.ts";

export type ScorerStepName = "preprocess" | "analyze" | "generateScore" | "generateReason";

/** A step of a scorer failed. `result` has what the steps before it returned. */
export class ScorerRunError extends AgentError {
  readonly failedStep: ScorerStepName;
  readonly completedSteps: readonly ScorerStepName[];
  readonly result: Record<string, unknown>;

  constructor(
    scorer: string,
    failedStep: ScorerStepName,
    completedSteps: readonly ScorerStepName[],
    result: Record<string, unknown>,
    cause: unknown,
  ) {
    super(
      AgentError.is(cause) ? cause.code : "internal",
      `The step ${failedStep} of scorer "${scorer}" failed: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause, details: { failedStep, completedSteps: [...completedSteps] } },
    );
    this.name = "ScorerRunError";
    this.failedStep = failedStep;
    this.completedSteps = completedSteps;
    this.result = result;
  }
}
