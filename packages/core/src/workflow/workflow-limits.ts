/** Limits of workflows. */
export interface WorkflowLimits {
  /** How many workflow runs this process executes at once. Further runs wait for their turn. */
  maxRuns: number;
  /** How many runs that other processes left are taken up at the same time. */
  recoverAtOnce: number;
  /** Bytes of a step's output, of an input, and of what a suspension or a resume brings. */
  valueBytes: number;
  /** Bytes of one key of a run's state. */
  stateBytes: number;
  /** Items of a `foreach`. */
  items: number;
  /** Executions in one run, iterations and items included. */
  steps: number;
}

export const DEFAULT_WORKFLOW_LIMITS: WorkflowLimits = {
  maxRuns: 1_000,
  recoverAtOnce: 20,
  valueBytes: 16 << 20,
  stateBytes: 1 << 20,
  items: 100_000,
  steps: 1_000_000,
};

/** How deep workflows may be nested. */
export const MAX_NESTING = 20;
/** Steps of a workflow, those of nested ones included. */
export const MAX_STEPS = 10_000;
/** How often the step of a loop may be executed, unless the workflow says otherwise. */
export const MAX_ITERATIONS = 10_000;
