import type { SerializedStepGraph, WorkflowStepResult } from "@selvedge/protocol";
import { describe, expect, it } from "vitest";
import { toOutline } from "./outline.ts";
import { stepStates } from "./step-state.ts";

const GRAPH: SerializedStepGraph = [
  { type: "step", step: { id: "ask" } },
  {
    type: "conditional",
    steps: [
      { type: "step", step: { id: "yes" } },
      {
        type: "step",
        step: { id: "no", serializedStepFlow: [{ type: "step", step: { id: "why" } }] },
      },
    ],
    serializedConditions: [],
  },
  { type: "step", step: { id: "end" } },
];

const result = (status: string): WorkflowStepResult =>
  ({ status, payload: {}, startedAt: 1 }) as WorkflowStepResult;

function statesOf(
  steps: Record<string, string>,
  run: Parameters<typeof stepStates>[2],
): Record<string, string> {
  const results = Object.fromEntries(
    Object.entries(steps).map(([key, status]) => [key, result(status)] as const),
  );
  return Object.fromEntries(stepStates(toOutline(GRAPH), results, run));
}

describe("the states of steps", () => {
  it("says before the first step that nothing has started", () => {
    expect(new Set(Object.values(statesOf({}, "pending")))).toEqual(new Set(["idle"]));
  });

  it("says that the other ways of a branch do not run once one is taken, with what is in them", () => {
    expect(statesOf({ ask: "success", yes: "running" }, "running")).toEqual({
      ask: "success",
      yes: "running",
      no: "unused",
      "no.why": "unused",
      end: "idle",
    });
  });

  it("takes a workflow that has not ended for what its steps are", () => {
    const steps = { ask: "success", "no.why": "suspended" };
    expect(statesOf(steps, "suspended")).toMatchObject({
      yes: "unused",
      no: "suspended",
      "no.why": "suspended",
    });
    expect(statesOf({ ...steps, "no.why": "success" }, "running")).toMatchObject({ no: "running" });
    expect(statesOf({ ...steps, no: "success" }, "running")).toMatchObject({ no: "success" });
  });

  it("says after the end that what has no result did not run", () => {
    expect(statesOf({ ask: "failed" }, "failed")).toMatchObject({
      ask: "failed",
      yes: "unused",
      end: "unused",
    });
  });

  it("does not leave steps of a canceled run waiting", () => {
    expect(statesOf({ ask: "suspended" }, "canceled")).toMatchObject({ ask: "canceled", end: "unused" });
    expect(statesOf({ ask: "success" }, "canceled")).toMatchObject({ ask: "success" });
  });
});
