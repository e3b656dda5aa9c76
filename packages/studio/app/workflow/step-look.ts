import type { Tone } from "../ui/badge.tsx";
import type { IconName } from "../ui/icon.tsx";
import type { OutlineSleep, OutlineStep } from "./outline.ts";
import { STEP_LOOK, type StepState } from "./step-state.ts";

/** What a box and a row say about a step: its state in a run, or what it is. */
export function stepLook(
  node: OutlineStep | OutlineSleep,
  state: StepState | undefined,
): { text: string; icon?: IconName; tone?: Tone } {
  return state === undefined ? { text: node.kind === "sleep" ? "sleep" : node.of } : STEP_LOOK[state];
}
