import type { WorkflowChunk } from "@selvedge/protocol";
import { describe, expect, it } from "vitest";
import { StepOutputs } from "./step-outputs.ts";

const wrote = (stepName: string, output: unknown): WorkflowChunk => ({
  type: "workflow-step-output",
  runId: "r",
  from: "WORKFLOW",
  payload: { stepName, output, stepCallId: "c", runId: "r" },
});

describe("what steps write", () => {
  it("is the text of an agent, without its other chunks", () => {
    const outputs = new StepOutputs();
    outputs.take(wrote("a", { type: "start", payload: {} }));
    outputs.take(wrote("a", { type: "text-delta", payload: { text: "Warp " } }));
    outputs.take(wrote("b", { rows: 3 }));
    outputs.take(wrote("a", { type: "text-delta", payload: { text: "and weft" } }));
    expect([outputs.of("a"), outputs.of("b"), outputs.of("c")]).toEqual([
      "Warp and weft",
      '{"rows":3}\n',
      undefined,
    ]);
  });

  it("begins anew with the step, and is bounded", () => {
    const outputs = new StepOutputs();
    for (let line = 0; line < 10_000; line++) outputs.take(wrote("a", `line ${line}\n`));
    expect(outputs.of("a")!.length).toBeLessThanOrEqual(32 * 1024);
    expect(outputs.of("a")).toMatch(/line 9999\n$/);
    outputs.take({
      type: "workflow-step-start",
      runId: "r",
      from: "WORKFLOW",
      payload: { id: "a", stepCallId: "d", status: "running", payload: {}, startedAt: 1 },
    });
    expect(outputs.of("a")).toBeUndefined();
  });
});
