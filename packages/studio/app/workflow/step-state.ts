import type { WorkflowRunStatus, WorkflowStepResult } from "@selvedge/protocol";
import type { Tone } from "../ui/badge.tsx";
import type { IconName } from "../ui/icon.tsx";
import { type Outline, type OutlineSleep, type OutlineStep, stepsOf } from "./outline.ts";

/** What a page says about a step. `idle`: it has not started and still may. `unused`: it did not run and will not. */
export type StepState = WorkflowStepResult["status"] | "idle" | "unused" | "canceled";

export type StepResults = Readonly<Record<string, WorkflowStepResult>>;

interface Look {
  text: string;
  icon: IconName;
  tone?: Tone;
}

export const STEP_LOOK: Readonly<Record<StepState, Look>> = {
  idle: { text: "not started", icon: "dot" },
  unused: { text: "not run", icon: "minus" },
  running: { text: "running", icon: "run", tone: "indigo" },
  waiting: { text: "asleep", icon: "clock", tone: "indigo" },
  suspended: { text: "waiting for you", icon: "person", tone: "amber" },
  paused: { text: "paused", icon: "pause", tone: "amber" },
  success: { text: "done", icon: "check", tone: "green" },
  failed: { text: "failed", icon: "cross", tone: "red" },
  skipped: { text: "not run", icon: "minus" },
  canceled: { text: "canceled", icon: "stop" },
};

export const RUN_LOOK: Readonly<Record<WorkflowRunStatus, Look>> = {
  pending: { text: "not started", icon: "dot" },
  running: STEP_LOOK.running,
  waiting: STEP_LOOK.waiting,
  suspended: STEP_LOOK.suspended,
  paused: STEP_LOOK.paused,
  success: STEP_LOOK.success,
  failed: STEP_LOOK.failed,
  tripwire: { text: "blocked", icon: "lock", tone: "red" },
  canceled: STEP_LOOK.canceled,
  bailed: { text: "ended early", icon: "check", tone: "green" },
  skipped: STEP_LOOK.skipped,
};

const ENDED: ReadonlySet<WorkflowRunStatus> = new Set([
  "success",
  "failed",
  "tripwire",
  "canceled",
  "bailed",
  "skipped",
]);

/** Whether a run does nothing more by itself or through a resume. */
export function hasEnded(status: WorkflowRunStatus): boolean {
  return ENDED.has(status);
}

/** What a workflow is while its steps are these; the first that one of them is. */
const OUTER: readonly StepState[] = ["failed", "running", "waiting", "suspended", "paused", "success"];

/** What to say about every step of a run, by key. */
export function stepStates(
  outline: Outline,
  steps: StepResults,
  runStatus: WorkflowRunStatus,
): Map<string, StepState> {
  const states = new Map<string, StepState>();
  addStates(states, outline, steps, hasEnded(runStatus), runStatus === "canceled");
  return states;
}

/** Returns the states that were added, of this level. */
function addStates(
  states: Map<string, StepState>,
  outline: Outline,
  steps: StepResults,
  over: boolean,
  isCanceled: boolean,
): Set<StepState> {
  const added = new Set<StepState>();
  for (const node of outline) {
    const own = stepsOf(node);
    // Which ways are taken is decided once, for all of them together.
    const isDecided = node.kind === "branch" && own.some((step) => hasStarted(step, steps));
    for (const step of own) {
      const status = steps[step.key]?.status;
      const isLeftOut = isDecided && !hasStarted(step, steps);
      let state = toState(status, over || isLeftOut, isCanceled);
      if (step.kind === "step" && step.steps) {
        const innerOver = over || state === "unused" || status === "success" || status === "failed";
        const inner = addStates(states, step.steps, steps, innerOver, isCanceled);
        // Until it has ended, a workflow is what its steps are.
        if (!innerOver) state = OUTER.find((each) => inner.has(each)) ?? state;
        if (!innerOver && state === "success") state = "running";
      }
      states.set(step.key, state);
      added.add(state);
    }
  }
  return added;
}

function hasStarted(step: OutlineStep | OutlineSleep, steps: StepResults): boolean {
  if (steps[step.key] !== undefined) return true;
  if (step.kind === "sleep" || !step.steps) return false;
  return step.steps.some((node) => stepsOf(node).some((inner) => hasStarted(inner, steps)));
}

function toState(
  status: WorkflowStepResult["status"] | undefined,
  over: boolean,
  isCanceled: boolean,
): StepState {
  if (status === undefined) return over ? "unused" : "idle";
  const isOpen = status !== "success" && status !== "failed" && status !== "skipped";
  return isCanceled && isOpen ? "canceled" : status;
}
