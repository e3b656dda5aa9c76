import type { WorkflowRunStatus } from "@selvedge/protocol";
import type { WorkflowInfo } from "@selvedge/protocol/routes";
import { useCallback, useMemo, useState } from "react";
import { openWorkflows } from "./open-workflows.ts";
import { allStepsOf, type Outline, toOutline } from "./outline.ts";
import type { StepProgresses } from "./step-note.ts";
import { type StepResults, type StepState, stepStates } from "./step-state.ts";
import type { WorkflowView } from "./workflow-view.ts";

const NO_STEPS: StepResults = {};
const NO_PROGRESS: StepProgresses = {};

/** What a page knows of a run. */
interface KnownRun {
  status: WorkflowRunStatus;
  steps: StepResults;
  progress: StepProgresses;
}

/** What the graph and the list show, with the step that was chosen by a person or that needs one. */
export function useWorkflowView(
  info: WorkflowInfo,
  run: KnownRun | undefined,
  wanted: string | undefined,
  choose: (key: string) => void,
): WorkflowView {
  const outline = useMemo(() => toOutline(info.stepGraph), [info]);
  const steps = run?.steps ?? NO_STEPS;
  const progress = run?.progress ?? NO_PROGRESS;
  const status = run?.status;
  const states = useMemo(
    () => (status === undefined ? undefined : stepStates(outline, steps, status)),
    [outline, steps, status],
  );
  const [byPerson, setByPerson] = useState<ReadonlyMap<string, boolean>>(new Map());
  const chosen = wanted ?? (states && needsAttention(outline, states));
  const open = useMemo(() => openWorkflows(outline, chosen, byPerson), [outline, chosen, byPerson]);
  const toggle = useCallback(
    (key: string) => setByPerson((before) => new Map(before).set(key, !open.has(key))),
    [open],
  );
  return useMemo(
    () => ({ outline, states, steps, progress, open, toggle, chosen, choose }),
    [outline, states, steps, progress, open, toggle, chosen, choose],
  );
}

/** The innermost step that waits for a person, or that failed; "" for the run. */
function needsAttention(outline: Outline, states: ReadonlyMap<string, StepState>): string {
  let failed = "";
  for (const step of allStepsOf(outline)) {
    const state = states.get(step.key);
    const isInner = step.kind === "sleep" || step.steps === undefined;
    if (state === "suspended" && isInner) return step.key;
    if (state === "failed" && (isInner || failed === "")) failed = step.key;
  }
  return failed;
}
