import { RequestContext } from "@selvedge/core/request-context";
import { createWorkflow, type Run } from "@selvedge/core/workflows";
import { describe, expect, it } from "vitest";
import { any, asking, collect, flow, PLACES, rig, start, step } from "./__fixtures__/rig.ts";

describe.each(PLACES)("the methods of a run, %s:", (place) => {
  const created = async (workflow: ReturnType<typeof flow>, options: object = {}) => {
    const { system } = rig(place, [workflow]);
    return { system, run: await workflow.createRun(options) };
  };

  it("createRun: pending until it is started, with a given or a new id", async () => {
    const workflow = flow().then(step("a")).commit();
    const { run } = await created(workflow, { runId: "mine", resourceId: "ada" });
    expect(run).toMatchObject({
      runId: "mine",
      resourceId: "ada",
      workflowId: "w",
      workflowRunStatus: "pending",
    });
    expect(run.abortController).toBeInstanceOf(AbortController);
    const other = await workflow.createRun();
    expect(other.runId).not.toBe(run.runId);
    expect(other.resourceId).toBeUndefined();
  });

  it("startAsync: answers at once with the id", async () => {
    const gate = Promise.withResolvers<void>();
    const workflow = flow()
      .then(step("a", () => gate.promise))
      .commit();
    const { run, system } = await created(workflow);
    expect(await system.until(run.startAsync({ inputData: 1 }))).toEqual({ runId: run.runId });
    expect(await workflow.getWorkflowRunById(run.runId)).toMatchObject({ status: "running" });
    gate.resolve();
    await system.advance(1_000);
    expect(await workflow.getWorkflowRunById(run.runId)).toMatchObject({ status: "success" });
  });

  it("workflowRunStatus: follows a run that no one waits for, also while it sleeps", async () => {
    const workflow = flow().sleep(1_000).then(asking("gate")).commit();
    const { run, system } = await created(workflow, { runId: "r" });
    await run.startAsync({ inputData: 1 });
    await system.advance(100);
    expect(run.workflowRunStatus).toBe("waiting");
    await system.advance(2_000);
    expect(run.workflowRunStatus).toBe("suspended");
    await run.resumeAsync({ resumeData: "ok" });
    await system.advance(100);
    expect(run.workflowRunStatus).toBe("success");
  });

  it("workflowRunStatus: of a run that was canceled, also before its start", async () => {
    const { run, system } = await created(flow().sleep(1_000).commit(), { runId: "r" });
    await run.cancel();
    await run.startAsync({ inputData: 1 });
    expect(run.workflowRunStatus).toBe("canceled");
    const asleep = await created(flow().sleep(1_000).commit(), { runId: "s" });
    await asleep.run.startAsync({ inputData: 1 });
    await asleep.system.advance(100);
    await asleep.run.cancel();
    await system.advance(2_000);
    expect(asleep.run.workflowRunStatus).toBe("canceled");
  });

  it("stream: iterable, with result, usage, status and the id; closes when the run suspends", async () => {
    const { run, system } = await created(flow().then(asking("gate")).commit());
    const output = run.stream({ inputData: 1 });
    const chunks = await system.until(collect(output));
    expect(chunks.at(-1)).toMatchObject({
      type: "workflow-finish",
      payload: { workflowStatus: "suspended" },
    });
    expect(output.runId).toBe(run.runId);
    expect(output.status).toBe("suspended");
    expect(await output.result).toMatchObject({ status: "suspended" });
    expect(await output.usage).toEqual({ inputTokens: 0, outputTokens: 0, totalTokens: 0 });
  });

  it("stream: with closeOnSuspend false it goes on until the run is over", async () => {
    const { run, system } = await created(flow().then(asking("gate")).commit());
    const chunks = collect(run.stream({ inputData: 1, closeOnSuspend: false }).fullStream);
    await system.advance(100);
    await system.until(run.resume({ resumeData: "ok" }));
    const finishes = (await system.until(chunks)).filter(({ type }) => type === "workflow-finish");
    expect(finishes).toMatchObject([
      { payload: { workflowStatus: "suspended" } },
      { payload: { workflowStatus: "success", finalWorkflowResult: "ok" } },
    ]);
  });

  it("stream: rejects its result and its stream with what is wrong, and nothing is left unhandled", async () => {
    const workflow = flow({ inputSchema: { type: "string" } })
      .then(step("a"))
      .commit();
    const { run } = await created(workflow);
    const output = run.stream({ inputData: 1 });
    await expect(output.result).rejects.toMatchObject({ code: "invalid-argument" });
    await expect(collect(output.fullStream)).rejects.toMatchObject({ code: "invalid-argument" });
  });

  it("resumeAsync and resumeStream: the same resume, answered at once or as events", async () => {
    const workflow = flow().then(asking("one")).then(asking("two")).commit();
    const { run, system } = await created(workflow);
    await system.until(run.start({ inputData: 1 }));
    expect(await system.until(run.resumeAsync({ resumeData: 1 }))).toEqual({ runId: run.runId });
    await system.advance(1_000);
    const output = run.resumeStream({ resumeData: 2 });
    const types = (await system.until(collect(output.fullStream))).map(({ type }) => type);
    expect(types).toEqual([
      "workflow-start",
      "workflow-step-start",
      "workflow-step-result",
      "workflow-step-finish",
      "workflow-finish",
    ]);
    expect(await output.result).toMatchObject({ status: "success", result: 2 });
  });

  it("resumeStream: without data it re-attaches", async () => {
    const { run, system } = await created(flow().then(asking("gate")).commit());
    await system.until(run.start({ inputData: 1 }));
    const chunks = await system.until(collect(run.resumeStream().fullStream));
    expect(chunks[0]).toMatchObject({ type: "workflow-start", seq: 1 });
    expect(chunks.at(-1)).toMatchObject({ payload: { workflowStatus: "suspended" } });
    expect(run.workflowRunStatus).toBe("suspended");
  });

  const inner = createWorkflow({ id: "inner", ...any })
    .then(asking("gate"))
    .commit();
  it.each<[string, unknown]>([
    ["its id with dots", "inner.gate"],
    ["a list of ids", ["inner", "gate"]],
    ["a list of steps", [inner, asking("gate")]],
    ["the workflow around it", "inner"],
    ["nothing, if there is one", undefined],
  ])("resume: a nested step by %s", async (_, named) => {
    const { run, system } = await start(place, flow().then(inner).commit());
    const more = named === undefined ? {} : { step: named as string };
    expect(await system.until(run.resume({ ...more, resumeData: "ok" }))).toMatchObject({ result: "ok" });
  });

  it("observeStream: from the first event or after one, of a run that is under way", async () => {
    const gate = Promise.withResolvers<void>();
    const workflow = flow()
      .then(step("a"))
      .then(step("b", () => gate.promise))
      .commit();
    const { run, system } = await created(workflow);
    await run.startAsync({ inputData: 1 });
    await system.advance(100);
    const all = collect(run.observeStream());
    const some = collect(run.observeStream({ offset: 2 }));
    gate.resolve();
    const seen = await system.until(all);
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index + 1));
    expect(await system.until(some)).toEqual(seen.slice(2));
  });

  it("watch: every event until it is stopped", async () => {
    const { run, system } = await created(flow().then(asking("gate")).commit());
    const types: string[] = [];
    const stop = run.watch(({ type }) => types.push(type));
    await system.until(run.start({ inputData: 1 }));
    expect(types).toEqual([
      "workflow-start",
      "workflow-step-start",
      "workflow-step-suspended",
      "workflow-finish",
    ]);
    stop();
    await system.until(run.resume({ resumeData: 1 }));
    expect(types).toHaveLength(4);
  });

  it("outputWriter: gets the events of the call", async () => {
    const { run, system } = await created(flow().then(asking("gate")).commit());
    const types: string[] = [];
    const outputWriter = ({ type }: { type: string }) => types.push(type);
    await system.until(run.start({ inputData: 1, outputWriter }));
    await system.advance(10);
    expect(types.at(-1)).toBe("workflow-finish");
    types.length = 0;
    await system.until(run.resume({ resumeData: 1, outputWriter }));
    await system.advance(10);
    expect(types[0]).toBe("workflow-start");
    expect(types.at(-1)).toBe("workflow-finish");
  });

  it("abortController: aborting it cancels the run", async () => {
    const { run, system } = await created(
      flow()
        .then(step("slow", () => new Promise(() => {})))
        .commit(),
    );
    const result = run.start({ inputData: 1 });
    await system.advance(10);
    run.abortController.abort();
    expect(await system.until(result)).toMatchObject({ status: "canceled" });
  });

  it("cancel: of a paused run, and without effect on one that is over", async () => {
    const paused = await created(flow().then(step("a")).then(step("b")).commit());
    await paused.system.until(paused.run.start({ inputData: 1, perStep: true }));
    await paused.run.cancel();
    await paused.system.advance(10);
    expect(paused.run.workflowRunStatus).toBe("canceled");
    const over = await start(place, flow().then(step("a")).commit());
    expect(await over.run.cancel()).toEqual({ message: "Workflow run canceled" });
    expect(await over.workflow.getWorkflowRunById(over.run.runId)).toMatchObject({ status: "success" });
  });

  it("restart: waits for a run that is being carried out", async () => {
    const gate = Promise.withResolvers<string>();
    const { run, system } = await created(
      flow()
        .then(step("a", () => gate.promise))
        .commit(),
    );
    await run.startAsync({ inputData: 1 });
    const result = run.restart();
    gate.resolve("done");
    expect(await system.until(result)).toMatchObject({ status: "success", result: "done" });
  });

  it("restart: a run that sleeps wakes up with the request context", async () => {
    const { run, system } = await created(
      flow()
        .sleep(1_000)
        .then(step("a", ({ requestContext }) => requestContext.all))
        .commit(),
    );
    const requestContext = new RequestContext([["key", "old"]]);
    await run.startAsync({ inputData: 1, requestContext });
    await system.advance(100);
    const result = run.restart({ requestContext: new RequestContext([["tier", "gold"]]) });
    expect(await system.until(result)).toMatchObject({ result: { key: "old", tier: "gold" } });
  });

  it("timeTravelStream: the events of the new execution", async () => {
    const workflow = flow()
      .then(step("a"))
      .then(step("b", ({ inputData }) => `${String(inputData)}!`))
      .commit();
    const { run, system } = await start(place, workflow);
    const output = run.timeTravelStream({ step: "b", inputData: "new" });
    const chunks = await system.until(collect(output.fullStream));
    expect(
      chunks.flatMap((chunk) => (chunk.type === "workflow-step-start" ? [chunk.payload.id] : [])),
    ).toEqual(["b"]);
    expect(await output.result).toMatchObject({ status: "success", result: "new!" });
    expect(await workflow.getWorkflowRunById(run.runId)).toMatchObject({ result: "new!" });
  });

  it("timeTravel: resumeData, initialState and nestedStepsContext", async () => {
    const nested = createWorkflow({ id: "inner", ...any })
      .then(step("x"))
      .then(
        step("y", ({ inputData, state, resumeData }) => ({
          input: inputData as unknown,
          s: state.s as unknown,
          resumed: resumeData as unknown,
        })),
      )
      .commit();
    const workflow = flow().then(step("a")).then(nested).commit();
    const { run, system } = await created(workflow);
    const result = run.timeTravel({
      step: ["inner", "y"],
      context: { a: { output: "given" } },
      nestedStepsContext: { inner: { x: { output: "from x" } } },
      initialState: { s: 1 },
      resumeData: "answer",
    });
    expect(await system.until(result)).toMatchObject({
      status: "success",
      result: { input: "from x", s: 1, resumed: "answer" },
    });
  });

  it("timeTravel: an input and an answer together", async () => {
    const gate = step("gate", ({ inputData, resumeData, suspend }) =>
      resumeData === undefined ? suspend({}) : [inputData, resumeData],
    );
    const { run, system } = await start(place, flow().then(gate).commit());
    const travel = run.timeTravel({ step: "gate", inputData: "new", resumeData: "answer" });
    expect(await system.until(travel)).toMatchObject({ result: ["new", "answer"] });
  });

  it("timeTravel: steps beside the target that failed are executed again, and those that succeeded are not", async () => {
    let isBroken = true;
    const calls: string[] = [];
    const inner = createWorkflow({ id: "inner", ...any })
      .then(step("x", () => calls.push("x")))
      .then(
        step("y", () => {
          calls.push("y");
          if (isBroken) throw new Error("broken");
        }),
      )
      .commit();
    const workflow = flow()
      .parallel([step("fine", () => calls.push("fine")), inner, step("target", () => calls.push("target"))])
      .commit();
    const { run, system } = await created(workflow);
    expect(await system.until(run.start({ inputData: 1 }))).toMatchObject({ status: "failed" });
    expect(calls.splice(0).sort()).toEqual(["fine", "target", "x", "y"]);
    expect(await system.until(run.timeTravel({ step: "target" }))).toMatchObject({ status: "failed" });
    expect(calls.splice(0).sort()).toEqual(["target", "y"]);
    isBroken = false;
    expect(await system.until(run.timeTravel({ step: "target" }))).toMatchObject({ status: "success" });
    expect(calls.sort()).toEqual(["target", "y"]);
  });

  it("timeTravel: results of maps and sleeps can be given, too", async () => {
    const workflow = flow()
      .then(step("a"))
      .map(async () => "mapped", { id: "m" })
      .sleep(60_000)
      .then(step("b", ({ inputData }) => `${String(inputData)}!`))
      .commit();
    const { run, system } = await created(workflow);
    const context = { a: { output: 1 }, m: { output: "given" }, sleep_m: { output: "slept" } };
    const began = system.now();
    expect(await system.until(run.timeTravel({ step: "b", context }))).toMatchObject({ result: "slept!" });
    expect(system.now() - began).toBeLessThan(60_000);
  });

  it("outputOptions: state and labels only when asked for", async () => {
    const { run, system } = await created(flow().then(asking("gate")).commit());
    const bare = await system.until(run.start({ inputData: 1, initialState: { s: 1 } }));
    expect(bare).not.toHaveProperty("state");
    expect(bare).not.toHaveProperty("resumeLabels");
    const full = await system.until(
      run.resume({ resumeData: 1, outputOptions: { includeState: true, includeResumeLabels: true } }),
    );
    expect(full).toMatchObject({ state: { s: 1 }, resumeLabels: {} });
  });

  it("requestContext of a resume reaches the steps", async () => {
    const workflow = flow()
      .then(asking("gate"))
      .then(step("who", ({ requestContext }) => requestContext.get("user") as unknown))
      .commit();
    const { run, system } = await start(place, workflow);
    const requestContext = new RequestContext([["user", "bob"]]);
    expect(await system.until(run.resume({ resumeData: 1, requestContext }))).toMatchObject({
      result: "bob",
    });
  });

  it("a known runId gives that run: it can be resumed by another object", async () => {
    const { run, system, workflow } = await start(place, flow().then(asking("gate")).commit());
    const same: Run = await workflow.createRun({ runId: run.runId });
    expect(same.workflowRunStatus).toBe("suspended");
    expect(await system.until(same.resume({ resumeData: "ok" }))).toMatchObject({ result: "ok" });
  });

  it("a run can be started once", async () => {
    const { run, workflow } = await start(place, flow().then(step("a")).commit());
    await expect(run.start({ inputData: 2 })).rejects.toMatchObject({ code: "conflict" });
    expect(await workflow.getWorkflowRunById(run.runId)).toMatchObject({ payload: "in" });
  });
});
