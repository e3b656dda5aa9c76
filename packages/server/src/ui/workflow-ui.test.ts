import type { WorkflowChunk } from "@selvedge/protocol";
import { describe, expect, it } from "vitest";
import type { UiChunk } from "./ui-chunks.ts";
import { WorkflowUi } from "./workflow-ui.ts";

const base = { runId: "r", from: "WORKFLOW" } as const;

function start(id: string): WorkflowChunk {
  const payload = { id, stepCallId: `${id}-call`, status: "running", payload: 1, startedAt: 1 } as const;
  return { ...base, type: "workflow-step-start", payload };
}

function wrote(id: string, output: unknown): WorkflowChunk {
  const payload = { output, stepName: id, stepCallId: `${id}-call`, runId: "r" };
  return { ...base, type: "workflow-step-output", payload };
}

function ended(id: string): WorkflowChunk {
  const payload = { id, stepCallId: `${id}-call`, status: "success", payload: 1, output: 2 } as const;
  return { ...base, type: "workflow-step-result", payload };
}

const said = (type: string, payload: object) => ({ type, runId: "agent-run", from: "AGENT", payload });

function partsOf(...chunks: WorkflowChunk[]): UiChunk[] {
  const ui = new WorkflowUi("w");
  return chunks.flatMap((chunk) => ui.take(chunk).parts);
}

describe("a workflow in the UI message stream", () => {
  it("is one part with its steps", () => {
    const ui = new WorkflowUi("refund");
    expect(ui.take(start("a"))).toEqual({ parts: [], changed: true });
    ui.take(ended("a"));
    ui.take(start("b"));
    expect(ui.part("r")).toEqual({
      type: "data-workflow",
      id: "r",
      data: {
        name: "refund",
        status: "running",
        output: null,
        steps: {
          a: expect.objectContaining({ name: "a", status: "success", input: 1, output: 2 }) as unknown,
          b: expect.objectContaining({ name: "b", status: "running", input: 1 }) as unknown,
        },
      },
    });
  });

  it("has the text of agents, apart for steps that run together", () => {
    const hello = (text: string) => said("text-delta", { id: "t", text });
    const parts = partsOf(
      start("a"),
      start("b"),
      wrote("a", said("start", {})),
      wrote("a", said("text-start", { id: "t" })),
      wrote("b", said("text-start", { id: "t" })),
      wrote("a", hello("Hel")),
      wrote("b", hello("Bon")),
      wrote("a", said("text-end", { id: "t" })),
      wrote("a", said("finish", { stepResult: { reason: "stop" } })),
    );
    expect(parts).toEqual([
      { type: "text-start", id: "a-call:t" },
      { type: "text-start", id: "b-call:t" },
      { type: "text-delta", id: "a-call:t", delta: "Hel" },
      { type: "text-delta", id: "b-call:t", delta: "Bon" },
      { type: "text-end", id: "a-call:t" },
    ]);
  });

  it("has text that a step writes itself, closed when the step ends", () => {
    expect(partsOf(start("a"), wrote("a", "x"), wrote("a", "y"), ended("a"))).toEqual([
      { type: "text-start", id: "a-call" },
      { type: "text-delta", id: "a-call", delta: "x" },
      { type: "text-delta", id: "a-call", delta: "y" },
      { type: "text-end", id: "a-call" },
    ]);
  });

  it("passes on the app's own events, and no other value that a step writes", () => {
    const own: WorkflowChunk = { ...base, type: "data-price", data: 7, id: "p", transient: true };
    expect(partsOf(start("a"), own, wrote("a", { n: 1 }), wrote("a", null))).toEqual([
      { type: "data-price", data: 7, id: "p", transient: true },
    ]);
  });
});
