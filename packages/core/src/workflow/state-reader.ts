import type {
  SerializedStep,
  SerializedStepGraph,
  WorkflowResumeLabel,
  WorkflowRunStatus,
  WorkflowState,
  WorkflowStepResult,
} from "@selvedge/protocol";

/** A step that waits to be resumed. */
export interface WorkflowSuspendedStep {
  stepId: string;
  /** For `resume({ step })`. */
  path: string[];
  /** Its position in the graph. */
  executionPath?: number[];
  step?: SerializedStep;
  payload?: any;
  suspendPayload?: any;
  suspendOutput?: any;
  resumeLabels: string[];
}

type StateLike = Pick<WorkflowState<any>, "status"> & Partial<WorkflowState<any>>;

export function getWorkflowStepOutput(state: StateLike, stepId: string): any {
  const step = state.steps?.[stepId];
  return step && "output" in step ? (step.output as unknown) : undefined;
}

export function getWorkflowStepPayload(state: StateLike, stepId: string): any {
  return state.steps?.[stepId]?.payload as unknown;
}

/** All steps that wait to be resumed. A nested workflow is not one of them, its step is. */
export function getWorkflowSuspendedSteps(state: StateLike): WorkflowSuspendedStep[] {
  const all = Object.entries(state.steps ?? {}).filter(([, step]) => step.status === "suspended");
  const ids = all.map(([id]) => id);
  const labels = Object.entries(getWorkflowResumeLabels(state));
  return all
    .filter(([id]) => !ids.some((other) => other.startsWith(`${id}.`)))
    .map(([stepId, step]) => {
      const executionPath = state.suspendedPaths?.[stepId];
      const found = findStep(state.serializedStepGraph ?? [], stepId);
      return {
        stepId,
        path: found?.path ?? stepId.split("."),
        ...(executionPath && { executionPath }),
        ...(found && { step: found.step }),
        payload: step.payload as unknown,
        suspendPayload: step.suspendPayload as unknown,
        ...suspendOutputOf(step),
        resumeLabels: labels.filter(([, label]) => label.stepId === stepId).map(([name]) => name),
      };
    });
}

export function getWorkflowSuspendedStep(state: StateLike): WorkflowSuspendedStep | undefined {
  return getWorkflowSuspendedSteps(state)[0];
}

export function getWorkflowResumeLabels(state: StateLike): Record<string, WorkflowResumeLabel> {
  return state.resumeLabels ?? {};
}

export function getWorkflowResumeLabel(state: StateLike, name: string): WorkflowResumeLabel | undefined {
  const labels = getWorkflowResumeLabels(state);
  return Object.hasOwn(labels, name) ? labels[name] : undefined;
}

export interface WorkflowStateReader {
  getStatus(): WorkflowRunStatus;
  getResult(): any;
  getError(): any;
  getStepOutput(stepId: string): any;
  getStepPayload(stepId: string): any;
  getSuspendedStep(): WorkflowSuspendedStep | undefined;
  getSuspendedSteps(): WorkflowSuspendedStep[];
  getResumeLabel(name: string): WorkflowResumeLabel | undefined;
  getResumeLabels(): Record<string, WorkflowResumeLabel>;
}

/** Reads a stored run, as `getWorkflowRunById()` returns it. */
export function createWorkflowStateReader(state: StateLike): WorkflowStateReader {
  return {
    getStatus: () => state.status,
    getResult: () => state.result as unknown,
    getError: () => state.error as unknown,
    getStepOutput: (stepId) => getWorkflowStepOutput(state, stepId) as unknown,
    getStepPayload: (stepId) => getWorkflowStepPayload(state, stepId) as unknown,
    getSuspendedStep: () => getWorkflowSuspendedStep(state),
    getSuspendedSteps: () => getWorkflowSuspendedSteps(state),
    getResumeLabel: (name) => getWorkflowResumeLabel(state, name),
    getResumeLabels: () => getWorkflowResumeLabels(state),
  };
}

function suspendOutputOf(step: WorkflowStepResult): { suspendOutput?: unknown } {
  return "output" in step && step.output !== undefined ? { suspendOutput: step.output as unknown } : {};
}

/** A step by its name: the ids that lead to it, joined by dots. An id may have dots, too. */
function findStep(
  graph: SerializedStepGraph,
  name: string,
): { step: SerializedStep; path: string[] } | undefined {
  const steps = graph.flatMap((entry) =>
    "steps" in entry ? entry.steps.map(({ step }) => step) : "step" in entry ? [entry.step] : [],
  );
  for (const step of steps) {
    const { id, serializedStepFlow } = step;
    if (id === name) return { step, path: [id] };
    if (!serializedStepFlow || !name.startsWith(`${id}.`)) continue;
    const inner = findStep(serializedStepFlow, name.slice(id.length + 1));
    if (inner) return { step: inner.step, path: [id, ...inner.path] };
  }
  return undefined;
}
