import type { SerializedStepEntry } from "@selvedge/protocol";
import { describe, expect, it } from "vitest";
import { openWorkflows } from "./open-workflows.ts";
import { toOutline } from "./outline.ts";

const workflow = (id: string, steps: number): SerializedStepEntry => ({
  type: "step",
  step: {
    id,
    serializedStepFlow: Array.from({ length: steps }, (_, index) => ({
      type: "step",
      step: { id: `s${index}` },
    })),
  },
});
const NOTHING: ReadonlyMap<string, boolean> = new Map();

describe("nested workflows", () => {
  it("are open where all steps fit", () => {
    expect(openWorkflows(toOutline([workflow("a", 3), workflow("b", 3)]), undefined, NOTHING)).toEqual(
      new Set(["a", "b"]),
    );
  });

  it("are open around the chosen step where there are many", () => {
    const outline = toOutline([workflow("a", 50), workflow("ab", 50)]);
    expect(openWorkflows(outline, undefined, NOTHING)).toEqual(new Set());
    expect(openWorkflows(outline, "ab.s1", NOTHING)).toEqual(new Set(["ab"]));
  });

  it("stay as a person left them", () => {
    const outline = toOutline([workflow("a", 3), workflow("b", 50)]);
    const byPerson = new Map([
      ["a", true],
      ["b", false],
    ]);
    expect(openWorkflows(outline, "b.s1", byPerson)).toEqual(new Set(["a"]));
  });
});
