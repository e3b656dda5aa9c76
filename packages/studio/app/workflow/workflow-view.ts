import type { StepProgresses } from "./step-note.ts";
import type { StepResults, StepState } from "./step-state.ts";
import type { Outline } from "./outline.ts";

/** What the graph and the list draw: a workflow, and what is known of a run of it. */
export interface WorkflowView {
  outline: Outline;
  /** Of a run. Without one, a step is only what it is. */
  states: ReadonlyMap<string, StepState> | undefined;
  steps: StepResults;
  /** How far the steps of `foreach` are. */
  progress: StepProgresses;
  /** Nested workflows whose steps are shown. */
  open: ReadonlySet<string>;
  toggle(key: string): void;
  /** The chosen step; "" is the run itself. */
  chosen: string | undefined;
  choose(key: string): void;
}
