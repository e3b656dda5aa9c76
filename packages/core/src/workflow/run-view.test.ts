import { describe, expect, it } from "vitest";
import { z } from "zod";
import { silentLogger } from "../logger.ts";
import { Mastra } from "../mastra/mastra.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createStep } from "./create-step.ts";
import type { ExecuteParams } from "./step.ts";
import { createWorkflow, type Workflow } from "./workflow.ts";

const any = z.any();
type AnyWorkflow = Workflow<any, any, any, any, any>;

const step = (id: string, execute: (params: ExecuteParams) => unknown = ({ inputData }) => inputData) =>
  createStep({ id, inputSchema: any, outputSchema: any, execute: async (params) => execute(params) });
const flow = (id = "w"): AnyWorkflow => createWorkflow({ id, inputSchema: any, outputSchema: any });
const ask = (id: string) =>
  step(id, ({ inputData, resumeData, suspend }) =>
    resumeData === undefined ? suspend({ about: inputData as unknown }) : resumeData,
  );

describe.each(["in memory", "in a store"])("what readers see of a run %s", (where) => {
  const create = async (workflow: AnyWorkflow) => {
    const storage = where === "in memory" ? {} : { storage: new InMemoryStorage() };
    new Mastra({ ...storage, logger: silentLogger, workflows: { w: workflow } });
    return workflow.createRun();
  };

  it("shows a foreach over workflows as suspended when one of them is", async () => {
    const inner = flow("inner").then(ask("ask")).commit();
    const run = await create(flow().foreach(inner).commit());
    const before = Date.now();
    const { steps } = await run.start({ inputData: [1, 2] });
    expect(steps["inner"]).toMatchObject({ status: "suspended", payload: [1, 2] });
    expect(steps["inner"]!.startedAt).toBeGreaterThanOrEqual(before);
    expect(steps["inner"]!.startedAt).toBeLessThanOrEqual(Date.now());
  });

  it("shows a workflow in a loop as what its newest iteration is", async () => {
    const inner = flow("inner").then(ask("ask")).commit();
    const run = await create(
      flow()
        .dountil(inner, async () => false)
        .commit(),
    );
    await run.start({ inputData: 1 });
    const { steps } = await run.resume({ resumeData: 2 });
    expect(steps["inner"]).toMatchObject({ status: "suspended", payload: 2, suspendPayload: { about: 2 } });
    expect(steps["inner"]).not.toHaveProperty("output");
  });

  it("has an empty list as the result of a foreach without items", async () => {
    const after = step("after", ({ getStepResult }) => getStepResult("each") as unknown);
    const run = await create(flow().foreach(step("each")).then(after).commit());
    const before = Date.now();
    const result = await run.start({ inputData: [] });
    expect(result).toMatchObject({ status: "success", result: [] });
    const { startedAt, endedAt } = result.steps["each"] as { startedAt: number; endedAt: number };
    expect(startedAt).toBeGreaterThanOrEqual(before);
    expect(startedAt).toBeLessThanOrEqual(endedAt);
  });

  it("shows a foreach that bailed as done", async () => {
    const run = await create(
      flow()
        .foreach(step("each", ({ bail }) => bail("enough")))
        .commit(),
    );
    const result = await run.start({ inputData: [1, 2] });
    expect(result).toMatchObject({ result: "enough", steps: { each: { status: "success" } } });
  });

  it("makes nothing up for a step with a dot in its id", async () => {
    const workflow = flow().then(step("v1.check")).then(ask("a/b")).commit();
    const run = await create(workflow);
    const { steps } = await run.start({ inputData: 1 });
    expect(Object.keys(steps)).toEqual(["v1.check", "a/b"]);
    expect(await workflow.getWorkflowRunById(run.runId)).toMatchObject({ suspendedPaths: { "a/b": [1] } });
  });

  it("shows steps that are being executed, also in nested workflows", async () => {
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const slow = step("slow", async () => {
      begun.resolve();
      await gate.promise;
    });
    const inner = flow("inner").then(slow).commit();
    const workflow = flow()
      .then(step("a"))
      .parallel([inner, step("b")])
      .commit();
    const run = await create(workflow);
    const end = run.start({ inputData: 1 });
    await begun.promise;
    await expect
      .poll(async () => (await workflow.getWorkflowRunById(run.runId))?.steps)
      .toMatchObject({
        a: { status: "success" },
        b: { status: "success" },
        inner: { status: "running", payload: 1 },
        "inner.slow": { status: "running", payload: 1 },
      });
    const { runs } = await workflow.listActiveWorkflowRuns();
    expect(runs[0]?.snapshot.activeStepsPath).toEqual({ "inner.slow": [1] });
    gate.resolve();
    expect((await end).steps["inner.slow"]?.status).toBe("success");
  });

  it("announces the items of a foreach once, also when the run continues later", async () => {
    const run = await create(flow().foreach(step("each")).then(ask("ask")).commit());
    await run.start({ inputData: [1, 2] });
    await run.resume({ resumeData: 1 });
    const indices: number[] = [];
    for await (const chunk of run.observeStream())
      if (chunk.type === "workflow-step-progress") indices.push(chunk.payload.currentIndex);
    expect(indices).toEqual([0, 1]);
  });

  it("passes the request context of a resume to the steps", async () => {
    const who = step("who", ({ resumeData, suspend, requestContext }) =>
      resumeData === undefined ? suspend() : requestContext.get("user"),
    );
    const run = await create(flow().then(who).commit());
    await run.start({ inputData: 1, requestContext: new RequestContext([["user", "ann"]]) });
    const requestContext = new RequestContext([["user", "bob"]]);
    expect(await run.resume({ resumeData: 1, requestContext })).toMatchObject({ result: "bob" });
  });

  it("pauses after one step, also if the run slept before it", async () => {
    const run = await create(flow().sleep(1).then(step("a")).then(step("b")).commit());
    const result = await run.start({ inputData: 1, perStep: true });
    expect(result).toMatchObject({ status: "paused" });
    expect(result.steps).not.toHaveProperty("b");
  });

  it.each(["suspended", "over"])(
    "travels to a step with data to resume it, when the run is %s",
    async (state) => {
      const run = await create(flow().then(step("a")).then(ask("ask")).commit());
      await run.start({ inputData: 1 });
      if (state === "over") await run.resume({ resumeData: 2 });
      expect(await run.timeTravel({ step: "ask", resumeData: 3 })).toMatchObject({
        status: "success",
        result: 3,
      });
    },
  );

  it("refuses a page or a date that is none", async () => {
    const workflow = flow().then(step("a")).commit();
    await create(workflow);
    for (const options of [{ page: -1 }, { page: 0.5 }, { fromDate: new Date("never") }])
      await expect(workflow.listWorkflowRuns(options)).rejects.toMatchObject({ code: "invalid-argument" });
  });

  it("knows the item of a label in a foreach, and none in a loop", async () => {
    const labelled = step("ask", ({ inputData, resumeData, suspend }) =>
      resumeData === undefined ? suspend({}, { resumeLabel: `about-${String(inputData)}` }) : resumeData,
    );
    const inner = flow("inner")
      .dountil(labelled, async () => true)
      .commit();
    const run = await create(flow().foreach(inner, { concurrency: 2 }).commit());
    const options = { outputOptions: { includeResumeLabels: true } };
    expect((await run.start({ inputData: ["x", "y"], ...options })).resumeLabels).toEqual({
      "about-x": { stepId: "inner.ask", forEachIndex: 0 },
      "about-y": { stepId: "inner.ask", forEachIndex: 1 },
    });
    const { steps } = await run.resume({ step: "inner.ask", forEachIndex: 0, resumeData: "yes" });
    expect(steps["inner"]).toMatchObject({ output: ["yes", undefined] });
    const loop = await create(
      flow()
        .dountil(labelled, async () => true)
        .commit(),
    );
    const { resumeLabels } = await loop.start({ inputData: "z", ...options });
    expect(resumeLabels).toEqual({ "about-z": { stepId: "ask" } });
  });

  it("replays a run that was continued to where it is now", async () => {
    const run = await create(flow().then(ask("one")).then(ask("two")).commit());
    await run.start({ inputData: 1 });
    await run.resume({ resumeData: 1 });
    const waits = async () => {
      const types: string[] = [];
      for await (const { type } of run.resumeStream().fullStream) types.push(type);
      return types.filter((type) => type === "workflow-finish").length;
    };
    expect(await waits()).toBe(2);
    await run.resume({ resumeData: 2 });
    expect(await waits()).toBe(3);
  });

  it("observes a run beyond its pauses", async () => {
    const run = await create(flow().then(step("a")).then(step("b")).commit());
    await run.start({ inputData: 1, perStep: true });
    await run.resume({});
    const types: string[] = [];
    for await (const { type } of run.observeStream()) types.push(type);
    expect(types).toContain("workflow-paused");
    expect(types.at(-1)).toBe("workflow-finish");
  });

  it("gives a known run its status and its resource", async () => {
    const workflow = flow().then(ask("ask")).commit();
    await create(workflow);
    const run = await workflow.createRun({ resourceId: "ann" });
    await run.start({ inputData: 1 });
    const again = await workflow.createRun({ runId: run.runId });
    expect(again).toMatchObject({ workflowRunStatus: "suspended", resourceId: "ann" });
  });

  it("does not call onStart for a run that was started before", async () => {
    let calls = 0;
    const options = { onStart: () => void calls++ };
    const workflow = createWorkflow({ id: "w", inputSchema: any, outputSchema: any, options });
    const run = await create(workflow.then(step("a")).commit());
    await run.start({ inputData: 1 });
    await expect(run.start({ inputData: 1 })).rejects.toMatchObject({ code: "conflict" });
    expect(calls).toBe(1);
  });

  it("refuses a custom chunk that looks like an event of the run", async () => {
    const write = step("write", ({ writer }) => writer.custom({ type: "workflow-finish" } as never));
    const run = await create(flow().then(write).commit());
    expect(await run.start({ inputData: 1 })).toMatchObject({
      status: "failed",
      error: { code: "invalid-argument" },
    });
  });

  it("says what was thrown if it is not an error", async () => {
    const odd = step("odd", () => {
      // oxlint-disable-next-line typescript/only-throw-error -- steps of apps do
      throw { reason: "late" };
    });
    const run = await create(flow().then(odd).commit());
    expect((await run.start({ inputData: 1 })).steps["odd"]).toMatchObject({
      error: { message: '{"reason":"late"}' },
    });
  });
});
