import { silentLogger } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { RequestContext } from "@selvedge/core/request-context";
import type { ExecuteParams } from "@selvedge/core/workflows";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { any, asking, collect, flow, PLACES, rig, start, step } from "./__fixtures__/rig.ts";
import { createWorkflow } from "@selvedge/core/workflows";

describe.each(PLACES)("what execute() receives, %s:", (place) => {
  it("who it works for: run, workflow, resource, host, request context", async () => {
    let seen: ExecuteParams | undefined;
    const requestContext = new RequestContext([["k", 1]]);
    const workflow = flow()
      .then(step("a", (params) => void (seen = params)))
      .commit();
    const { run, mastra } = await start(
      place,
      workflow,
      "in",
      { requestContext },
      { run: { resourceId: "ada" } },
    );
    expect(seen).toMatchObject({ runId: run.runId, workflowId: "w", resourceId: "ada", inputData: "in" });
    expect(seen!.mastra).toBe(mastra);
    expect(seen!.requestContext.get("k")).toBe(1);
    expect(seen!.retryCount).toBe(0);
    expect(seen).not.toHaveProperty("resumeData");
    expect(seen).not.toHaveProperty("suspendData");
    expect(seen).not.toHaveProperty("restart");
  });

  it("in a nested workflow: the id and input of that workflow", async () => {
    let seen: unknown;
    const inner = createWorkflow({ id: "inner", ...any })
      .then(step("a", ({ workflowId, getInitData }) => void (seen = [workflowId, getInitData()])))
      .commit();
    await start(
      place,
      flow()
        .then(step("first", () => "given"))
        .then(inner)
        .commit(),
    );
    expect(seen).toEqual(["inner", "given"]);
  });

  it("getStepResult: the output of a step that succeeded, by id or step, otherwise null", async () => {
    const done = step("done", () => ({ n: 1 }));
    const never = step("never");
    const ask = step("ask", ({ getStepResult }) => [
      getStepResult("done"),
      getStepResult(done),
      getStepResult(never),
      getStepResult("ask"),
      getStepResult("nowhere"),
    ]);
    const workflow = flow()
      .then(done)
      .branch([
        [async () => false, never],
        [async () => true, ask],
      ])
      .commit();
    expect((await start(place, workflow)).result).toMatchObject({
      result: { ask: [{ n: 1 }, { n: 1 }, null, null, null] },
    });
  });

  it("suspend: nothing after it counts, neither a result nor an error, with one label or several", async () => {
    for (const after of [() => "late", () => Promise.reject(new Error("late"))]) {
      const gate = step("gate", async ({ suspend, resumeData }) => {
        if (resumeData) return resumeData;
        await suspend({ ask: 1 }, { resumeLabel: ["left", "right"] });
        return after();
      });
      const { result, run, system } = await start(place, flow().then(gate).commit(), "in", {
        outputOptions: { includeResumeLabels: true },
      });
      expect(result).toMatchObject({
        status: "suspended",
        suspendPayload: { gate: { ask: 1 } },
        resumeLabels: { left: { stepId: "gate" }, right: { stepId: "gate" } },
      });
      expect(await system.until(run.resume({ label: "right", resumeData: "ok" }))).toMatchObject({
        result: "ok",
      });
    }
  });

  it("bail: ends the workflow with success, from inside a block too, and later steps do not run", async () => {
    const ran: string[] = [];
    const workflow = flow()
      .parallel([step("stops", ({ bail }) => bail({ early: true })), step("beside")])
      .then(step("after", () => ran.push("after")))
      .commit();
    const { result, run } = await start(place, workflow);
    expect(result).toMatchObject({
      status: "success",
      result: { early: true },
      steps: { stops: { status: "success", output: { early: true } } },
    });
    expect(ran).toEqual([]);
    expect(await workflow.getWorkflowRunById(run.runId)).toMatchObject({ status: "success" });
  });

  it("abortSignal: aborted when the run is cancelled", async () => {
    let signal: AbortSignal | undefined;
    const slow = step("slow", ({ abortSignal }) => {
      signal = abortSignal;
      return new Promise((_, reject) => {
        abortSignal.addEventListener("abort", () => reject(abortSignal.reason as Error));
      });
    });
    const workflow = flow().then(slow).commit();
    const { system } = rig(place, [workflow]);
    const run = await workflow.createRun();
    const result = run.start({ inputData: 1 });
    await system.advance(10);
    expect(signal?.aborted).toBe(false);
    await run.cancel();
    expect(await system.until(result)).toMatchObject({ status: "canceled" });
    expect(signal?.aborted).toBe(true);
  });

  it("writer: a stream that values are written and piped to, and events of the app as they are", async () => {
    const writing = step("a", async ({ writer }) => {
      await writer.write("one");
      await writer.custom({ type: "data-note", data: { n: 2 } });
      await ReadableStream.from(["three", "four"]).pipeTo(writer);
    });
    const workflow = flow().then(writing).commit();
    const { system } = rig(place, [workflow]);
    const run = await workflow.createRun();
    const chunks = await system.until(collect(run.stream({ inputData: 1 }).fullStream));
    const written = chunks.flatMap((chunk) =>
      chunk.type === "workflow-step-output"
        ? [chunk.payload.output]
        : chunk.type === "data-note"
          ? [chunk.data]
          : [],
    );
    expect(written).toEqual(["one", { n: 2 }, "three", "four"]);
  });

  it("writer: the streams of several agents are piped to it, together and one after the other", async () => {
    const agent = new Agent({
      id: "a",
      name: "a",
      instructions: "",
      model: scriptedModel(() => "hi"),
      logger: silentLogger,
    });
    const asks = step("a", async ({ writer }) => {
      const both = await Promise.all([agent.stream("1"), agent.stream("2")]);
      await Promise.all(both.map(({ fullStream }) => fullStream.pipeTo(writer)));
      await (await agent.stream("3")).textStream.pipeTo(writer);
      await writer.write("end");
    });
    const workflow = flow().then(asks).commit();
    const { system } = rig(place, [workflow]);
    const output = (await workflow.createRun()).stream({ inputData: 1 });
    const chunks = await system.until(collect(output.fullStream));
    expect(await output.result).toMatchObject({ status: "success" });
    const written = chunks.flatMap((chunk) =>
      chunk.type === "workflow-step-output" ? [chunk.payload.output as { type?: string } | string] : [],
    );
    expect(written.filter((one) => typeof one === "object" && one.type === "finish")).toHaveLength(2);
    expect(written.slice(-2)).toEqual(["hi", "end"]);
  });

  it("setState: seen by the step at once, by others when it is done; refused if it is not an object", async () => {
    const workflow = flow()
      .then(
        step("a", async ({ state, setState }) => {
          await setState({ count: state.count + 1 });
          return state.count as unknown;
        }),
      )
      .then(step("b", ({ state, inputData }) => [inputData, state.count]))
      .commit();
    const { result } = await start(place, workflow, "in", { initialState: { count: 1 } });
    expect(result).toMatchObject({ result: [2, 2] });
    const bad = flow()
      .then(step("a", ({ setState }) => setState(3 as never)))
      .commit();
    expect((await start(place, bad)).result).toMatchObject({
      status: "failed",
      error: { code: "invalid-argument", message: expect.stringContaining("got 3") },
    });
  });

  it("state of a step that fails is not kept", async () => {
    const workflow = flow()
      .then(
        step("a", async ({ setState }) => {
          await setState({ touched: true });
          throw new Error("no");
        }),
      )
      .commit();
    const { result } = await start(place, workflow, "in", { outputOptions: { includeState: true } });
    expect(result).toMatchObject({ status: "failed", state: {} });
    expect(result.state).not.toHaveProperty("touched");
  });

  it("resumeData and suspendData: only for the execution that continues a suspension", async () => {
    const seen: unknown[] = [];
    const gate = step("gate", ({ resumeData, suspendData, suspend }) => {
      seen.push([resumeData, suspendData]);
      return resumeData === undefined ? suspend({ q: 1 }) : "fresh";
    });
    const workflow = flow()
      .dountil(gate, async ({ iterationCount }) => iterationCount >= 2)
      .commit();
    const { run, system } = await start(place, workflow);
    await system.until(run.resume({ resumeData: "first" }));
    await system.until(run.resume({ resumeData: "second" }));
    expect(seen).toEqual([
      [undefined, undefined],
      ["first", { q: 1 }],
      [undefined, undefined],
      ["second", { q: 1 }],
    ]);
  });

  it("a condition gets the same values, without setState and suspend", async () => {
    let seen: Record<string, unknown> = {};
    const condition = (params: object) => {
      seen = { ...params };
      return true;
    };
    const workflow = flow()
      .branch([[condition, asking("gate")]])
      .commit();
    const { run } = await start(place, workflow, "in", { initialState: { s: 1 } });
    expect(seen).toMatchObject({ inputData: "in", state: { s: 1 }, runId: run.runId, workflowId: "w" });
    for (const name of ["getInitData", "getStepResult", "abort"]) expect(seen[name]).toBeTypeOf("function");
    for (const name of ["setState", "suspend", "once"]) expect(seen).not.toHaveProperty(name);
  });
});
