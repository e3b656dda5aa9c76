import { describe, expect, it } from "vitest";
import { foldWorkflow, type WorkflowProgress } from "./fold-workflow.ts";
import type { WorkflowChunk, WorkflowChunkPayloads } from "./workflow.ts";

function chunk<Type extends keyof WorkflowChunkPayloads>(
  type: Type,
  payload: WorkflowChunkPayloads[Type],
): WorkflowChunk {
  return { type, runId: "r", from: "WORKFLOW", payload } as WorkflowChunk;
}

function fold(...chunks: WorkflowChunk[]): WorkflowProgress {
  const run: WorkflowProgress = { status: "pending", steps: {}, progress: {} };
  for (const each of chunks) foldWorkflow(run, each);
  return run;
}

const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
const finish = (workflowStatus: "success" | "suspended") =>
  chunk("workflow-finish", { workflowStatus, output: { usage }, metadata: {} });
const start = (id: string, resumePayload?: unknown) =>
  chunk("workflow-step-start", {
    id,
    stepCallId: `${id}-call`,
    status: "running",
    payload: { n: 1 },
    startedAt: 5,
    ...(resumePayload !== undefined && { resumePayload }),
  });
const suspended = chunk("workflow-step-suspended", {
  id: "approve",
  stepCallId: "approve-call",
  status: "suspended",
  payload: { n: 1 },
  suspendPayload: { ask: "ok?" },
});
const result = (id: string) =>
  chunk("workflow-step-result", {
    id,
    stepCallId: `${id}-call`,
    status: "success",
    payload: { n: 1 },
    output: { n: 2 },
  });

describe("foldWorkflow", () => {
  it("has the status of the run and of each step", () => {
    expect(fold(chunk("workflow-start", { workflowId: "w" }), start("a"))).toMatchObject({
      status: "running",
      steps: { a: { status: "running", payload: { n: 1 }, startedAt: 5 } },
    });
    expect(fold(start("a"), result("a"), finish("success"))).toMatchObject({
      status: "success",
      steps: { a: { status: "success", output: { n: 2 }, startedAt: 5 } },
    });
  });

  it("keeps what a resumed step was suspended with", () => {
    const waiting = fold(start("approve"), suspended, finish("suspended"));
    expect(waiting).toMatchObject({ status: "suspended", steps: { approve: { status: "suspended" } } });
    const running = fold(start("approve"), suspended, finish("suspended"), start("approve", { ok: true }));
    expect(running).toMatchObject({
      status: "running",
      steps: {
        approve: { status: "running", suspendPayload: { ask: "ok?" }, resumePayload: { ok: true } },
      },
    });
  });

  it("starts a step afresh when it is executed again from its beginning", () => {
    const run = fold(start("a"), result("a"), start("a"));
    expect(run.steps["a"]).toEqual({ status: "running", payload: { n: 1 }, startedAt: 5 });
  });

  it("has the end of a step, and that of a list when its last item has ended", () => {
    const ended = (id: string, endedAt: number) => {
      const event = result(id) as WorkflowChunk & { payload: object };
      return { ...event, payload: { ...event.payload, endedAt } } as WorkflowChunk;
    };
    expect(fold(start("a"), ended("a", 9)).steps["a"]).toMatchObject({ startedAt: 5, endedAt: 9 });
    const done = (completedCount: number) =>
      chunk("workflow-step-progress", {
        id: "each",
        completedCount,
        totalCount: 2,
        currentIndex: completedCount - 1,
        iterationStatus: "success",
      });
    const half = [start("each"), start("each"), ended("each", 7), done(1)];
    expect(fold(...half).steps["each"]).not.toHaveProperty("endedAt");
    expect(fold(...half, ended("each", 8), done(2)).steps["each"]).toMatchObject({ endedAt: 8 });
  });

  it("leaves the objects of other steps alone", () => {
    const run = fold(start("a"), result("a"), start("b"));
    const before = run.steps["a"];
    foldWorkflow(run, result("b"));
    expect(run.steps["a"]).toBe(before);
  });

  it("counts the items of a foreach, which runs until the last is done", () => {
    const done = (completedCount: number) =>
      chunk("workflow-step-progress", {
        id: "each",
        completedCount,
        totalCount: 2,
        currentIndex: completedCount - 1,
        iterationStatus: "success",
      });
    const first = [start("each"), start("each"), result("each"), done(1)];
    const half = fold(...first);
    expect(half.progress).toEqual({ each: { completedCount: 1, totalCount: 2 } });
    expect(half.steps["each"]).toMatchObject({ status: "running" });
    expect(half.steps["each"]).not.toHaveProperty("output");
    expect(fold(...first, result("each")).steps["each"]?.status).toBe("running");
    expect(fold(...first, result("each"), done(2)).steps["each"]?.status).toBe("success");
    // Executed again, it starts from nothing.
    const again = fold(...first, result("each"), done(2), start("each"));
    expect(again).toMatchObject({ progress: {}, steps: { each: { status: "running", payload: { n: 1 } } } });
  });

  it("has the workflows that a nested step is in", () => {
    const inner = fold(start("outer.inner.a"));
    expect(inner.steps).toMatchObject({
      outer: { status: "running", startedAt: 5 },
      "outer.inner": { status: "running" },
      "outer.inner.a": { status: "running" },
    });
    const waits = fold(
      start("outer.approve"),
      chunk("workflow-step-suspended", {
        id: "outer.approve",
        stepCallId: "c",
        status: "suspended",
        payload: 1,
        suspendPayload: 2,
      }),
    );
    expect(waits.steps).toMatchObject({ outer: { status: "suspended", suspendPayload: 2 } });
  });

  it("has what the events of a nested workflow say: its input, its output, and that it starts again", () => {
    const input = { n: 1 };
    const inside = fold(start("outer"), start("outer.a"), result("outer.a"));
    expect(inside.steps["outer"]).toEqual({ status: "running", payload: input, startedAt: 5 });
    foldWorkflow(inside, result("outer"));
    expect(inside.steps["outer"]).toMatchObject({ status: "success", payload: input, output: { n: 2 } });
    foldWorkflow(inside, start("outer"));
    expect(inside.steps["outer"]).toEqual({ status: "running", payload: input, startedAt: 5 });
  });

  it("counts the items of a foreach that are nested workflows", () => {
    const item = (completedCount: number) => [
      start("each"),
      start("each.a"),
      result("each.a"),
      result("each"),
      chunk("workflow-step-progress", {
        id: "each",
        completedCount,
        totalCount: 2,
        currentIndex: completedCount - 1,
        iterationStatus: "success",
      }),
    ];
    expect(fold(...item(1)).steps["each"]).toMatchObject({ status: "running" });
    expect(fold(...item(1), start("each")).steps["each"]).toMatchObject({ status: "running" });
    expect(fold(...item(1), ...item(2)).steps["each"]).toMatchObject({ status: "success" });
  });

  it("ignores what steps write", () => {
    const run = fold(start("a"));
    const before = structuredClone(run);
    foldWorkflow(run, { type: "data-mine", runId: "r", from: "WORKFLOW", data: 1 });
    foldWorkflow(
      run,
      chunk("workflow-step-output", { output: "x", stepName: "a", stepCallId: "c", runId: "r" }),
    );
    expect(run).toEqual(before);
  });
});
