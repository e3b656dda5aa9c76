import type { WorkflowChunk, WorkflowStepResult } from "@selvedge/protocol";
import type { RequestContext } from "../request-context/request-context.ts";
import type { StepLike } from "./step.ts";

export interface OutputOptions {
  includeState?: boolean;
  includeResumeLabels?: boolean;
}

/** What the calls that execute a run have in common. */
export interface CommonOptions {
  requestContext?: RequestContext<any>;
  outputOptions?: OutputOptions;
  tracingOptions?: unknown;
  /** Executes one step and leaves the run `paused`. */
  perStep?: boolean;
  /** Receives each event of the run, for as long as this call waits for it. */
  outputWriter?: (chunk: WorkflowChunk) => unknown;
}

export interface StartOptions<Input = any, State = any> extends CommonOptions {
  inputData?: Input;
  initialState?: State;
}

export interface StreamOptions<Input = any, State = any> extends StartOptions<Input, State> {
  /** Whether the stream ends when the run suspends. Default: true. */
  closeOnSuspend?: boolean;
}

/** A step, its id, or the ids that lead to a nested one. */
export type StepReference = StepLike | string | readonly (StepLike | string)[];

export interface ResumeOptions<Resume = any, S extends StepReference = StepReference> extends CommonOptions {
  resumeData?: Resume;
  /** Required if several steps are suspended: a step, its id, `"a.b"`, or a list of ids that leads to it. */
  step?: S;
  /** The `resumeLabel` that the step gave when it suspended. */
  label?: string;
  /** One item of a `foreach`. Default: all that are suspended. */
  forEachIndex?: number;
}

export interface TimeTravelOptions<Input = any, State = any> extends CommonOptions {
  /** The step to execute again. */
  step: StepReference;
  /** Its input. Default: the output of the step before it. */
  inputData?: Input;
  /** Executes it as if it had been suspended and were resumed with this. */
  resumeData?: unknown;
  initialState?: State;
  /** Results of earlier steps that the store does not have. */
  context?: Record<string, GivenStepResult>;
  /** The same for the steps of nested workflows, by the id of the workflow. */
  nestedStepsContext?: Record<string, Record<string, GivenStepResult>>;
}

export type GivenStepResult = Partial<WorkflowStepResult> | { output: unknown };
