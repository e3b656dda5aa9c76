import type { SerializedStep, SerializedStepGraph } from "@selvedge/protocol";
import { describe, expect, it } from "vitest";
import { type Layout, layOut } from "./layout.ts";
import { toOutline } from "./outline.ts";

const step = (id: string, inner?: SerializedStepGraph): { type: "step"; step: SerializedStep } => ({
  type: "step",
  step: { id, ...(inner && { component: "WORKFLOW", serializedStepFlow: inner }) },
});
const drawn = (graph: SerializedStepGraph, open: string[] = []): Layout =>
  layOut(toOutline(graph), new Set(open));
const boxOf = (layout: Layout, key: string): Layout["boxes"][number] =>
  layout.boxes.find(({ node }) => node.key === key)!;
const midOf = ({ y, height }: { y: number; height: number }): number => y + height / 2;

describe("the layout of a workflow", () => {
  it("puts steps from left to right on one line", () => {
    const layout = drawn([step("a"), step("b"), step("c")]);
    const [a, b, c] = layout.boxes;
    expect(a!.x + a!.width).toBeLessThan(b!.x);
    expect(b!.x + b!.width).toBeLessThan(c!.x);
    expect(new Set(layout.boxes.map(midOf)).size).toBe(1);
    expect(layout.edges.map(({ keys }) => keys)).toEqual([["b"], ["c"]]);
  });

  it("puts parallel steps above each other, between what comes before and after", () => {
    const layout = drawn([step("a"), { type: "parallel", steps: [step("b"), step("c")] }, step("d")]);
    const [a, b, c, d] = ["a", "b", "c", "d"].map((key) => boxOf(layout, key));
    expect(b!.x).toBe(c!.x);
    expect(b!.y + b!.height).toBeLessThan(c!.y);
    expect(a!.x + a!.width).toBeLessThan(b!.x);
    expect(b!.x + b!.width).toBeLessThan(d!.x);
    expect(midOf(a!)).toBe((midOf(b!) + midOf(c!)) / 2);
    expect(layout.frames.map(({ node }) => node.kind)).toEqual(["parallel"]);
  });

  it("opens a nested workflow in place", () => {
    const graph = [step("a"), step("inner", [step("x"), step("y")]), step("b")];
    const closed = drawn(graph);
    expect(closed.boxes.map(({ node }) => node.key)).toEqual(["a", "inner", "b"]);
    const opened = drawn(graph, ["inner"]);
    expect(opened.boxes.map(({ node }) => node.key)).toEqual(["a", "inner.x", "inner.y", "b"]);
    const frame = opened.frames[0]!;
    const inner = boxOf(opened, "inner.x");
    expect(frame.x).toBeLessThan(inner.x);
    expect(frame.x + frame.width).toBeGreaterThan(boxOf(opened, "inner.y").x + inner.width);
    expect(new Set(opened.boxes.map(midOf)).size).toBe(1);
  });

  it("shows conditions above their steps, and the way back of a loop", () => {
    const layout = drawn([
      {
        type: "conditional",
        steps: [step("yes"), step("no")],
        serializedConditions: [
          { id: "1", fn: "() => true" },
          { id: "2", fn: "() => false" },
        ],
      },
      {
        type: "loop",
        step: { id: "again" },
        serializedCondition: { id: "3", fn: "() => n > 3" },
        loopType: "dountil",
      },
    ]);
    expect(layout.conditions.map(({ key, text }) => [key, text])).toEqual([
      ["yes", "true"],
      ["no", "false"],
    ]);
    expect(layout.edges.filter(({ back }) => back).map(({ keys }) => keys)).toEqual([["again"]]);
    expect(layout.frames.map(({ node }) => node.label)).toEqual(["branch", "repeat until n > 3"]);
  });

  it("keeps everything inside, and no box over another", () => {
    const nested = (depth: number): SerializedStepGraph => [
      step("s"),
      {
        type: "parallel",
        steps: [step("p"), depth > 0 ? step("w", nested(depth - 1)) : step("q")],
      },
      { type: "foreach", step: { id: "f" }, opts: { concurrency: 1 } },
      { type: "sleep", id: "z", duration: 10 },
    ];
    const layout = drawn(nested(3), ["w", "w.w", "w.w.w"]);
    expect(layout.boxes).toHaveLength(5 + 3 * 4);
    for (const [index, box] of layout.boxes.entries()) {
      expect(box.x).toBeGreaterThanOrEqual(0);
      expect(box.x + box.width).toBeLessThanOrEqual(layout.width);
      expect(box.y + box.height).toBeLessThanOrEqual(layout.height);
      for (const other of layout.boxes.slice(index + 1)) {
        const apart =
          box.x + box.width <= other.x ||
          other.x + other.width <= box.x ||
          box.y + box.height <= other.y ||
          other.y + other.height <= box.y;
        expect(apart, `${box.node.key} and ${other.node.key}`).toBe(true);
      }
    }
  });

  it("draws nothing for a workflow without steps", () => {
    expect(drawn([])).toMatchObject({ boxes: [], edges: [], frames: [] });
  });

  it("has one edge for each step, however many there are", () => {
    const many = Array.from({ length: 200 }, (_, index) => step(`s${index}`));
    expect(drawn(many).edges).toHaveLength(199);
    expect(drawn([{ type: "parallel", steps: many }]).edges).toHaveLength(400);
  });
});
