import type { WorkflowResumeLabel, WorkflowStepResult, WorkflowTripwire } from "@selvedge/protocol";

interface ResultBase<Input, State> {
  input: Input;
  /** By step id; the steps of a nested workflow as `<workflow>.<step>`. */
  steps: Record<string, WorkflowStepResult>;
  /** The steps in the order in which they were executed. */
  stepExecutionPath?: string[];
  /** With `outputOptions.includeState`. */
  state?: State;
  /** With `outputOptions.includeResumeLabels`. */
  resumeLabels?: Record<string, WorkflowResumeLabel>;
  traceId?: string;
  spanId?: string;
}

/** How a run ended or why it rests. Check `status` first. */
export type WorkflowResult<Output = any, Input = any, State = any> =
  | (ResultBase<Input, State> & { status: "success"; result: Output })
  | (ResultBase<Input, State> & { status: "failed"; error: Error })
  | (ResultBase<Input, State> & {
      status: "suspended";
      /** Each can be passed to `resume({ step })`. */
      suspended: string[][];
      suspendPayload: Record<string, any>;
    })
  | (ResultBase<Input, State> & { status: "tripwire"; tripwire: WorkflowTripwire })
  | (ResultBase<Input, State> & { status: "paused" })
  | (ResultBase<Input, State> & { status: "canceled" });
