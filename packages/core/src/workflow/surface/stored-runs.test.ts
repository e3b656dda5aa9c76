import {
  createWorkflow,
  createWorkflowStateReader,
  getWorkflowResumeLabel,
  getWorkflowResumeLabels,
  getWorkflowStepOutput,
  getWorkflowStepPayload,
  getWorkflowSuspendedStep,
  getWorkflowSuspendedSteps,
} from "@selvedge/core/workflows";
import { RequestContext } from "@selvedge/core/request-context";
import { describe, expect, it } from "vitest";
import { any, asking, flow, PLACES, rig, start, step } from "./__fixtures__/rig.ts";

describe.each(PLACES)("reading runs, %s:", (place) => {
  const labelled = step(
    "gate",
    ({ resumeData, suspend }) => resumeData ?? suspend({ ask: 1 }, { resumeLabel: "manager" }),
  );

  it("getWorkflowRunById: every field, the last two only when named", async () => {
    const workflow = flow().then(step("a")).then(labelled).commit();
    const requestContext = new RequestContext([["plan", "gold"]]);
    const { run } = await start(
      place,
      workflow,
      "in",
      { requestContext },
      { run: { resourceId: "ada" }, host: { durableContextKeys: ["plan"] } },
    );
    const state = await workflow.getWorkflowRunById(run.runId);
    expect(state).toMatchObject({
      runId: run.runId,
      workflowName: "w",
      resourceId: "ada",
      createdAt: expect.any(Date),
      updatedAt: expect.any(Date),
      status: "suspended",
      payload: "in",
      steps: { a: { status: "success" }, gate: { status: "suspended" } },
      activeStepsPath: {},
      serializedStepGraph: workflow.serializedStepGraph,
      suspendedPaths: { gate: [1] },
      resumeLabels: { manager: { stepId: "gate" } },
      waitingPaths: {},
    });
    expect(state).not.toHaveProperty("requestContext");
    expect(state).not.toHaveProperty("tracingContext");
    const named = await workflow.getWorkflowRunById(run.runId, {
      fields: ["requestContext", "tracingContext"],
    });
    expect(Object.keys(named!).sort()).toEqual(
      [
        "createdAt",
        "requestContext",
        "resourceId",
        "runId",
        "status",
        "tracingContext",
        "updatedAt",
        "workflowName",
      ].sort(),
    );
    expect(await workflow.getWorkflowRunById("nobody")).toBeNull();
  });

  it("getWorkflowRunById: without nested steps if asked to", async () => {
    const inner = createWorkflow({ id: "inner", ...any })
      .then(step("x"))
      .commit();
    const { run, workflow } = await start(place, flow().then(inner).commit());
    const whole = await workflow.getWorkflowRunById(run.runId);
    expect(Object.keys(whole!.steps!).sort()).toEqual(["inner", "inner.x"]);
    const flat = await workflow.getWorkflowRunById(run.runId, { withNestedWorkflows: false });
    expect(Object.keys(flat!.steps!)).toEqual(["inner"]);
  });

  it("a state reader and its functions say the same", async () => {
    const workflow = flow()
      .then(step("a", () => 1))
      .then(labelled)
      .commit();
    const { run, system } = await start(place, workflow);
    const state = (await workflow.getWorkflowRunById(run.runId))!;
    const reader = createWorkflowStateReader(state);
    const waits = {
      stepId: "gate",
      path: ["gate"],
      executionPath: [1],
      step: { id: "gate" },
      payload: 1,
      suspendPayload: { ask: 1 },
      resumeLabels: ["manager"],
    };
    expect(reader.getStatus()).toBe("suspended");
    expect(reader.getStepOutput("a")).toBe(1);
    expect(reader.getStepOutput("none")).toBeUndefined();
    expect(reader.getStepPayload("gate")).toBe(1);
    expect(reader.getSuspendedStep()).toMatchObject(waits);
    expect(reader.getSuspendedSteps()).toMatchObject([waits]);
    expect(reader.getResumeLabel("manager")).toEqual({ stepId: "gate" });
    expect(reader.getResumeLabels()).toEqual({ manager: { stepId: "gate" } });
    expect(getWorkflowStepOutput(state, "a")).toBe(1);
    expect(getWorkflowStepPayload(state, "gate")).toBe(1);
    expect(getWorkflowSuspendedStep(state)).toEqual(reader.getSuspendedStep());
    expect(getWorkflowSuspendedSteps(state)).toEqual(reader.getSuspendedSteps());
    expect(getWorkflowResumeLabel(state, "manager")).toEqual({ stepId: "gate" });
    expect(getWorkflowResumeLabel(state, "toString")).toBeUndefined();
    expect(getWorkflowResumeLabels(state)).toEqual(reader.getResumeLabels());
    await system.until(run.resume({ resumeData: "ok" }));
    const done = createWorkflowStateReader((await workflow.getWorkflowRunById(run.runId))!);
    expect([done.getResult(), done.getError(), done.getSuspendedStep()]).toEqual([
      "ok",
      undefined,
      undefined,
    ]);
    const failed = await start(
      place,
      flow()
        .then(step("a", () => Promise.reject(new Error("no"))))
        .commit(),
    );
    const failure = createWorkflowStateReader((await failed.workflow.getWorkflowRunById(failed.run.runId))!);
    expect(failure.getError()).toMatchObject({ message: "no" });
  });

  it("listWorkflowRuns: by date, resource and status, in pages, newest first", async () => {
    const workflow = flow()
      .then(step("a", ({ inputData, suspend }) => (inputData === "ask" ? suspend({}) : 1)))
      .commit();
    const { system } = rig(place, [workflow]);
    for (const [runId, resourceId, inputData] of [
      ["r1", "ada", "go"],
      ["r2", "bob", "ask"],
      ["r3", "ada", "ask"],
    ] as const) {
      await system.until((await workflow.createRun({ runId, resourceId })).start({ inputData }));
      await system.advance(60_000);
    }
    const ids = async (options: object = {}) => {
      const { runs, total } = await workflow.listWorkflowRuns(options);
      return [runs.map(({ runId }) => runId), total];
    };
    expect(await ids()).toEqual([["r3", "r2", "r1"], 3]);
    expect(await ids({ resourceId: "ada" })).toEqual([["r3", "r1"], 2]);
    expect(await ids({ status: "suspended" })).toEqual([["r3", "r2"], 2]);
    expect(await ids({ status: "suspended", resourceId: "ada" })).toEqual([["r3"], 1]);
    expect(await ids({ perPage: 2, page: 1 })).toEqual([["r1"], 3]);
    const middle = (await workflow.getWorkflowRunById("r2"))!.createdAt;
    expect(await ids({ fromDate: middle })).toEqual([["r3", "r2"], 2]);
    expect(await ids({ toDate: middle })).toEqual([["r2", "r1"], 2]);
    await expect(ids({ status: "done" })).rejects.toThrow(
      /^status must be one of pending, running, .*, got "done"\.$/,
    );
    expect((await workflow.listWorkflowRuns()).runs[0]).toMatchObject({
      runId: "r3",
      workflowName: "w",
      resourceId: "ada",
      snapshot: { status: "suspended", context: { input: "ask", a: { status: "suspended" } } },
    });
  });

  it("listActiveWorkflowRuns: those that run or sleep", async () => {
    const workflow = flow()
      .branch([
        [
          async ({ inputData }) => inputData === "sleep",
          createWorkflow({ id: "nap", ...any })
            .sleep(60_000)
            .commit(),
        ],
        [async ({ inputData }) => inputData === "ask", asking("gate")],
        [async ({ inputData }) => inputData === "run", step("slow", () => new Promise(() => {}))],
      ])
      .commit();
    const { system } = rig(place, [workflow]);
    for (const inputData of ["sleep", "ask", "run", "nothing"])
      await (await workflow.createRun({ runId: inputData })).startAsync({ inputData });
    await system.advance(1_000);
    const { runs, total } = await workflow.listActiveWorkflowRuns();
    expect([runs.map(({ runId }) => runId).sort(), total]).toEqual([["run", "sleep"], 2]);
    for (const { runId } of runs) await (await workflow.createRun({ runId })).cancel();
    await system.advance(1_000);
    expect((await workflow.listActiveWorkflowRuns()).total).toBe(0);
  });

  it("deleteWorkflowRunById: the run is gone; one that is unknown is not an error", async () => {
    const { run, workflow } = await start(place, flow().then(step("a")).commit());
    await workflow.deleteWorkflowRunById(run.runId);
    expect(await workflow.getWorkflowRunById(run.runId)).toBeNull();
    expect((await workflow.listWorkflowRuns()).total).toBe(0);
    await workflow.deleteWorkflowRunById("nobody");
  });
});

describe("the store's view of runs", () => {
  it("has snapshots, lists and deletes them", async () => {
    const workflow = flow()
      .then(step("a", ({ setState }) => setState({ seen: true })))
      .then(asking("gate"))
      .commit();
    const { run, mastra } = await start("in a store", workflow);
    const store = (await mastra.getStorage()!.getStore("workflows"))!;
    const address = { runId: run.runId, workflowName: "w" };
    const snapshot = (await store.loadWorkflowSnapshot(address))!;
    expect(snapshot).toMatchObject({
      runId: run.runId,
      status: "suspended",
      value: { seen: true },
      context: { input: "in", a: { status: "success" }, gate: { status: "suspended" } },
      suspendedPaths: { gate: [1] },
      resumeLabels: {},
      waitingPaths: {},
      activePaths: [],
      serializedStepGraph: workflow.serializedStepGraph,
      timestamp: expect.any(Number),
    });
    expect(await store.getWorkflowRunById(address)).toMatchObject({
      ...address,
      snapshot: { status: "suspended" },
    });
    expect(await store.listWorkflowRuns({ workflowName: "w", status: "suspended" })).toMatchObject({
      total: 1,
    });
    await store.persistWorkflowSnapshot({
      runId: "imported",
      workflowName: "w",
      resourceId: "ada",
      snapshot: { ...snapshot, runId: "imported", status: "success", result: 5 },
    });
    expect(await workflow.getWorkflowRunById("imported")).toMatchObject({
      status: "success",
      result: 5,
      resourceId: "ada",
    });
    await store.deleteWorkflowRunById(address);
    expect(await store.loadWorkflowSnapshot(address)).toBeNull();
    expect(await store.loadWorkflowSnapshot({ runId: "imported", workflowName: "other" })).toBeNull();
  });
});

describe("the host", () => {
  it("knows workflows by key and by id, and says which there are", async () => {
    const workflow = flow().then(step("a")).commit();
    const { mastra } = rig("in a store", [], { workflows: { key: workflow } });
    expect(mastra.getWorkflow("key")).toBe(workflow);
    expect(mastra.getWorkflowById("w")).toBe(workflow);
    expect(mastra.listWorkflows()).toEqual({ key: workflow });
    expect(() => mastra.getWorkflow("nope")).toThrow(
      expect.objectContaining({ code: "not-found", message: expect.stringContaining("key") }),
    );
    expect(() => mastra.getWorkflowById("nope")).toThrow(expect.objectContaining({ code: "not-found" }));
    await mastra.restartAllActiveWorkflowRuns();
    expect(mastra.schedules).toBeDefined();
  });
});
