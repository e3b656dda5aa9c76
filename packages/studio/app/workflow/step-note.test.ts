import type { WorkflowStepResult } from "@selvedge/protocol";
import { describe, expect, it } from "vitest";
import type { OutlineStep } from "./outline.ts";
import { stepNote } from "./step-note.ts";

const step: OutlineStep = { kind: "step", key: "s", label: "s", of: "step" };
const done: WorkflowStepResult = {
  status: "success",
  payload: {},
  output: {},
  startedAt: 1000,
  endedAt: 2200,
};

describe("what is said beside the state of a step", () => {
  it("is nothing before it starts, and how long it took after its end", () => {
    expect(stepNote(step, undefined, undefined)).toBe("");
    expect(stepNote(step, { status: "running", payload: {}, startedAt: 1 }, undefined)).toBe("");
    expect(stepNote(step, done, undefined)).toBe("1.20 s");
    expect(stepNote(step, { ...done, suspendedAt: 1100, resumedAt: 2000 }, undefined)).toBe("200 ms");
  });

  it("is how many items are done, from the events or from the store", () => {
    const each: OutlineStep = { ...step, perItem: true };
    const running: WorkflowStepResult = {
      status: "running",
      payload: [1, 2, 3],
      output: ["a", null, null],
      startedAt: 1,
    };
    expect(stepNote(each, running, undefined)).toBe("1 of 3");
    expect(stepNote(each, running, { completedCount: 2, totalCount: 3 })).toBe("2 of 3");
    expect(stepNote(each, { ...done, output: ["a", "b", "c"] }, undefined)).toBe("3 of 3 · 1.20 s");
    expect(stepNote(step, { ...done, output: ["a list"] }, undefined)).toBe("1.20 s");
  });
});
