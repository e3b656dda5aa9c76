import type { WorkflowChunk, WorkflowRunStatus, WorkflowStepResult } from "./workflow.ts";

/** How far the step of a `foreach` is. */
export interface StepProgress {
  completedCount: number;
  totalCount: number;
}

/** What the events of a run say about it. */
export interface WorkflowProgress {
  status: WorkflowRunStatus;
  /** By step id; the steps of a nested workflow as `<workflow>.<step>`. */
  steps: Record<string, WorkflowStepResult>;
  progress: Record<string, StepProgress>;
}

/**
 * Changes `run` by one more event. A step that changed is a new object; the others stay. What no event has, such as the
 * result, is in the stored run.
 */
export function foldWorkflow(run: WorkflowProgress, chunk: WorkflowChunk): void {
  switch (chunk.type) {
    case "workflow-start":
      run.status = "running";
      break;
    case "workflow-step-start": {
      const { id, status, payload, resumePayload, startedAt } = chunk.payload;
      run.status = "running";
      enter(run, id, startedAt);
      if (isOpen(run, id)) {
        change(run, id, { status });
        break;
      }
      delete run.progress[id];
      const before = run.steps[id];
      // A resumed step keeps what it was suspended with.
      const step =
        before?.status === "suspended"
          ? { ...withoutEnd(before), status, resumePayload, resumedAt: startedAt }
          : { status, payload, startedAt, ...(resumePayload !== undefined && { resumePayload }) };
      setStep(run, id, step);
      break;
    }
    case "workflow-step-result": {
      const { id, status, payload, output, error, tripwire } = chunk.payload;
      // An item of a `foreach`: the list of outputs is in the stored run.
      if (isOpen(run, id) && status === "success") {
        change(run, id, timesOf(chunk.payload));
        break;
      }
      setStep(run, id, {
        startedAt: 0,
        ...(run.steps[id] as WorkflowStepResult | undefined),
        ...timesOf(chunk.payload),
        status,
        payload,
        ...(status === "success" ? { output } : { error }),
        ...(tripwire && { tripwire }),
      });
      if (status === "failed") for (const outer of outerOf(id)) change(run, outer, { status, error });
      break;
    }
    case "workflow-step-suspended": {
      const { id, status, payload, suspendPayload } = chunk.payload;
      const step = {
        startedAt: 0,
        suspendedAt: 0,
        ...(run.steps[id] as WorkflowStepResult | undefined),
        ...timesOf(chunk.payload),
      };
      setStep(run, id, { ...step, status, payload, suspendPayload });
      for (const outer of outerOf(id)) change(run, outer, { status, suspendPayload });
      break;
    }
    case "workflow-step-waiting": {
      const { id, status, payload, startedAt } = chunk.payload;
      run.status = status;
      setStep(run, id, { status, payload, startedAt });
      break;
    }
    case "workflow-step-progress": {
      const { id, completedCount, totalCount } = chunk.payload;
      run.progress[id] = { completedCount, totalCount };
      const { output: _, endedAt, ...step } = (run.steps[id] ?? {}) as unknown as Record<string, unknown>;
      // It ends with its last item, whose end came just before.
      const now = completedCount === totalCount ? { status: "success", endedAt } : { status: "running" };
      setStep(run, id, { startedAt: 0, ...step, payload: undefined, ...now });
      break;
    }
    case "workflow-paused":
      run.status = "paused";
      break;
    case "workflow-canceled":
      run.status = "canceled";
      break;
    case "workflow-finish":
      run.status = chunk.payload.workflowStatus;
      if (run.status === "success") closeOuter(run);
      break;
  }
}

/** Whether a step is a `foreach` with items to do. Its items have its id. */
function isOpen({ progress }: WorkflowProgress, id: string): boolean {
  const { completedCount = 0, totalCount = 0 } = progress[id] ?? {};
  return completedCount < totalCount;
}

/** The workflows that a nested step is in. */
function outerOf(id: string): string[] {
  const names = id.split(".");
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join("."));
}

/** A nested workflow runs when its first step does. */
function enter(run: WorkflowProgress, id: string, startedAt: number): void {
  for (const outer of outerOf(id)) {
    const { startedAt: began = startedAt } = run.steps[outer] ?? {};
    change(run, outer, { status: "running", startedAt: began });
  }
}

/** Nested workflows that no event of their own has ended. */
function closeOuter(run: WorkflowProgress): void {
  for (const outer of new Set(Object.keys(run.steps).flatMap(outerOf)))
    if (run.steps[outer]?.status === "running") change(run, outer, { status: "success" });
}

function change(run: WorkflowProgress, id: string, changes: object): void {
  setStep(run, id, { ...run.steps[id], ...changes });
}

function setStep(run: WorkflowProgress, id: string, step: object): void {
  run.steps[id] = step as WorkflowStepResult;
}

/** A step that is executed again has no output yet. */
function withoutEnd(step: WorkflowStepResult): object {
  const {
    output: _,
    error: __,
    endedAt: ___,
    ...rest
  } = step as WorkflowStepResult & Record<string, unknown>;
  return rest;
}

/** Times that an event may carry. */
function timesOf(payload: object): object {
  const { startedAt, endedAt, suspendedAt } = payload as Record<string, unknown>;
  return {
    ...(typeof startedAt === "number" && { startedAt }),
    ...(typeof endedAt === "number" && { endedAt }),
    ...(typeof suspendedAt === "number" && { suspendedAt }),
  };
}
