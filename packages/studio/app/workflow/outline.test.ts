import type { SerializedStepGraph } from "@selvedge/protocol";
import { describe, expect, it } from "vitest";
import { allStepsOf, shortCondition, toOutline } from "./outline.ts";

describe("the outline of a workflow", () => {
  it("names steps as a run does, also in nested workflows", () => {
    const graph: SerializedStepGraph = [
      { type: "step", step: { id: "first", component: "AGENT" } },
      {
        type: "step",
        step: {
          id: "inner",
          component: "WORKFLOW",
          serializedStepFlow: [
            { type: "sleep", id: "sleep_1", duration: 1500 },
            { type: "sleep", id: "sleep_2", duration: 3 * 86_400_000 },
            { type: "foreach", step: { id: "each" }, opts: { concurrency: 2 } },
          ],
        },
      },
    ];
    const outline = toOutline(graph);
    expect([...allStepsOf(outline)].map(({ key }) => key)).toEqual([
      "first",
      "inner",
      "inner.sleep_1",
      "inner.sleep_2",
      "inner.each",
    ]);
    expect(outline[0]).toMatchObject({ kind: "step", of: "agent" });
    expect(outline[1]).toMatchObject({
      of: "workflow",
      steps: [
        { kind: "sleep", label: "sleep 1.50 s" },
        { kind: "sleep", label: "sleep 3 d" },
        { kind: "foreach", label: "for each item, 2 at a time" },
      ],
    });
  });

  it("gives every way of a branch its condition", () => {
    const outline = toOutline([
      {
        type: "conditional",
        steps: [
          { type: "step", step: { id: "yes" } },
          { type: "step", step: { id: "no" } },
        ],
        serializedConditions: [
          { id: "1", fn: "async ({ inputData }) => inputData.approved" },
          { id: "2", fn: "({ inputData: { approved } }) => {\n  return !approved;\n}" },
        ],
      },
    ]);
    expect(outline).toMatchObject([
      {
        kind: "branch",
        members: [
          { step: { key: "yes" }, condition: "inputData.approved" },
          { step: { key: "no" }, condition: "!approved" },
        ],
      },
    ]);
  });

  it("does not show the names that mappings get by themselves", () => {
    const outline = toOutline([
      { type: "step", step: { id: "mapping_5f2c-11", component: "MAP" } },
      { type: "step", step: { id: "to-prompt", component: "MAP" } },
    ]);
    expect(outline.map(({ label }) => label)).toEqual(["map", "to-prompt"]);
  });

  it("leaves a condition that is no arrow function as it is, up to a length", () => {
    expect(shortCondition("initData.total > 5")).toBe("initData.total > 5");
    expect(shortCondition("x".repeat(200))).toHaveLength(81);
  });
});
