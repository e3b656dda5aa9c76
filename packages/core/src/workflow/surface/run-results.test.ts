import { Agent } from "@selvedge/core/agent";
import { createStep, createWorkflow, createWorkflowStateReader } from "@selvedge/core/workflows";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { any, asking, flow, PLACES, start, step } from "./__fixtures__/rig.ts";

const time = expect.any(Number) as number;

describe.each(PLACES)("the result of a run, %s:", (place) => {
  it("success: the result, the input, the steps and their order, and nothing else", async () => {
    const { result } = await start(
      place,
      flow()
        .then(step("a"))
        .then(step("b", () => 2))
        .commit(),
    );
    expect(result).toEqual({
      status: "success",
      input: "in",
      result: 2,
      stepExecutionPath: ["a", "b"],
      steps: {
        a: { status: "success", payload: "in", output: "in", startedAt: time, endedAt: time },
        b: { status: "success", payload: "in", output: 2, startedAt: time, endedAt: time },
      },
    });
  });

  it("failed: the error that the step threw, as an Error", async () => {
    class Refused extends Error {
      readonly code = "E_REFUSED";
    }
    const failing = step("a", () => Promise.reject(new Refused("not today")));
    const { result } = await start(place, flow().then(failing).commit());
    expect(result).toMatchObject({
      status: "failed",
      error: { message: "not today", code: "E_REFUSED" },
      steps: { a: { status: "failed", error: { message: "not today" }, endedAt: time } },
    });
    expect(result.status === "failed" && result.error).toBeInstanceOf(Error);
  });

  it("suspended: a path has the ids of the steps, also if they contain dots", async () => {
    const inner = createWorkflow({ id: "in.ner", ...any })
      .then(asking("x.y"))
      .commit();
    const workflow = flow()
      .parallel([asking("a.b"), inner])
      .commit();
    const { run, result, system } = await start(place, workflow);
    const paths = [["a.b"], ["in.ner", "x.y"]];
    expect(result).toMatchObject({ status: "suspended", suspended: paths });
    const reader = createWorkflowStateReader((await workflow.getWorkflowRunById(run.runId))!);
    expect(reader.getSuspendedSteps().map(({ path, step }) => [path, step?.id])).toEqual([
      [["a.b"], "a.b"],
      [["in.ner", "x.y"], "x.y"],
    ]);
    for (const step of paths.slice(0, 1)) await system.until(run.resume({ step, resumeData: "ok" }));
    expect(await system.until(run.resume({ step: paths[1]!, resumeData: "ok" }))).toMatchObject({
      status: "success",
      result: { "a.b": "ok", "in.ner": "ok" },
    });
  });

  it("suspended: paths that resume() takes, and payloads by step", async () => {
    const inner = createWorkflow({ id: "inner", ...any })
      .then(asking("gate"))
      .commit();
    const { result, run, system } = await start(
      place,
      flow()
        .parallel([asking("a"), inner])
        .commit(),
    );
    expect(result).toMatchObject({
      status: "suspended",
      suspended: [["a"], ["inner", "gate"]],
      suspendPayload: { a: { ask: "a" }, "inner.gate": { ask: "gate" } },
      steps: { a: { status: "suspended", suspendPayload: { ask: "a" }, suspendedAt: time } },
    });
    if (result.status !== "suspended") return;
    for (const path of result.suspended) await system.until(run.resume({ step: path, resumeData: "ok" }));
    expect(run.workflowRunStatus).toBe("success");
  });

  it("a resumed step: what it asked and what it was answered, with times", async () => {
    const { run, system } = await start(place, flow().then(asking("gate")).commit());
    const { steps } = await system.until(run.resume({ resumeData: "ok" }));
    expect(steps["gate"]).toEqual({
      status: "success",
      payload: "in",
      output: "ok",
      startedAt: time,
      endedAt: time,
      suspendPayload: { ask: "gate" },
      suspendedAt: time,
      resumePayload: "ok",
      resumedAt: time,
    });
  });

  it("a resumed step and its workflow: they started before the suspension, and ended after it", async () => {
    const inner = createWorkflow({ id: "inner", ...any })
      .then(asking("gate"))
      .commit();
    const { run, system } = await start(place, flow().then(inner).commit());
    await system.advance(5_000);
    const { steps } = await system.until(run.resume({ resumeData: "ok" }));
    const gate = steps["inner.gate"] as { startedAt: number; resumedAt: number; suspendedAt: number };
    expect(gate.resumedAt - gate.startedAt).toBeGreaterThanOrEqual(5_000);
    expect(gate.suspendedAt).toBeLessThan(gate.startedAt + 5_000);
    expect(gate.startedAt).toBeLessThanOrEqual(gate.suspendedAt);
    const outer = steps["inner"] as { startedAt: number; endedAt: number };
    expect(outer.startedAt).toBeLessThanOrEqual(gate.startedAt);
    expect(outer.endedAt).toBeGreaterThanOrEqual(gate.resumedAt);
  });

  it("tripwire: the reason of the processor that stopped the agent", async () => {
    const strict = {
      id: "strict",
      processInput: ({ abort }: { abort(reason: string, options: object): never }) =>
        abort("no politics", { metadata: { rule: 7 }, retry: false }),
    };
    const agent = new Agent({
      id: "poet",
      name: "Poet",
      instructions: "",
      model: scriptedModel([{ text: "never" }]),
      inputProcessors: [strict as never],
    });
    const workflow = flow().then(createStep(agent)).then(step("after")).commit();
    const { result } = await start(place, workflow, { prompt: "vote" });
    expect(result).toMatchObject({
      status: "tripwire",
      tripwire: { reason: "no politics", metadata: { rule: 7 }, processorId: "strict" },
      steps: { poet: { status: "failed", tripwire: { reason: "no politics" } } },
    });
    expect(result.steps).not.toHaveProperty("after");
  });

  it("paused and canceled: only what is always there", async () => {
    const paused = await start(place, flow().then(step("a")).then(step("b")).commit(), "in", {
      perStep: true,
    });
    expect(Object.keys(paused.result).sort()).toEqual(["input", "status", "stepExecutionPath", "steps"]);
    expect(paused.result.status).toBe("paused");
    const stopped = await start(
      place,
      flow()
        .then(step("a", ({ abort }) => abort()))
        .commit(),
    );
    expect(Object.keys(stopped.result).sort()).toEqual(["input", "status", "stepExecutionPath", "steps"]);
    expect(stopped.result.status).toBe("canceled");
  });

  it("a foreach has a list of outputs, also while some of it waits", async () => {
    const item = step("i", ({ inputData, resumeData, suspend }) =>
      inputData === 2 && resumeData === undefined ? suspend({ ask: 2 }) : `${String(inputData)}!`,
    );
    const { result, run, system } = await start(place, flow().foreach(item).commit(), [1, 2, 3]);
    expect(result.steps["i"]).toMatchObject({
      status: "suspended",
      output: ["1!", undefined, "3!"],
      suspendPayload: { ask: 2 },
    });
    expect((await system.until(run.resume({ resumeData: 1 }))).steps["i"]).toMatchObject({
      status: "success",
      output: ["1!", "2!", "3!"],
    });
  });

  it("getWorkflowRunExecutionResult: the same later, and null for one that is unknown or under way", async () => {
    const { run, result, workflow } = await start(place, flow().then(step("a")).commit());
    expect(await workflow.getWorkflowRunExecutionResult(run.runId)).toEqual(result);
    expect(await workflow.getWorkflowRunExecutionResult("nobody")).toBeNull();
    const slow = await start(place, flow().then(asking("gate")).commit());
    expect(await slow.workflow.getWorkflowRunExecutionResult(slow.run.runId)).toMatchObject({
      status: "suspended",
    });
  });
});
