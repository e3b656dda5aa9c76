import { Agent } from "@selvedge/core/agent";
import { createWorkflow, type Workflow } from "@selvedge/core/workflows";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { any, asking, collect, flow, PLACES, rig, step } from "./__fixtures__/rig.ts";

const time = expect.any(Number) as number;
const callId = expect.any(String) as string;

describe.each(PLACES)("the events of a run, %s:", (place) => {
  /** The payloads of each type, and a check that every event has the envelope. */
  const eventsOf = async (
    workflow: Workflow<any, any, any, any, any>,
    inputData: unknown,
    options: object = {},
  ) => {
    const { system } = rig(place, [workflow]);
    const run = await workflow.createRun();
    const chunks = await system.until(collect(run.stream({ inputData, ...options }).fullStream));
    for (const [index, chunk] of chunks.entries())
      expect(chunk).toMatchObject({ seq: index + 1, runId: run.runId, from: "WORKFLOW" });
    const of = (type: string): unknown[] =>
      chunks.flatMap((chunk) => (chunk.type === type && "payload" in chunk ? [chunk.payload] : []));
    return { of, types: chunks.map(({ type }) => type), run, system };
  };

  it("workflow-start, workflow-step-start, -result, -finish and workflow-finish", async () => {
    const told = step("a", () => 2, { metadata: { team: "sales" } });
    const { of } = await eventsOf(flow().then(told).commit(), 1);
    expect(of("workflow-start")).toEqual([{ workflowId: "w" }]);
    expect(of("workflow-step-start")).toEqual([
      { id: "a", stepCallId: callId, status: "running", payload: 1, startedAt: time },
    ]);
    expect(of("workflow-step-result")).toEqual([
      { id: "a", stepCallId: callId, status: "success", payload: 1, output: 2, endedAt: time },
    ]);
    expect(of("workflow-step-finish")).toEqual([{ id: "a", metadata: { team: "sales" } }]);
    expect(of("workflow-finish")).toEqual([
      {
        workflowStatus: "success",
        finalWorkflowResult: 2,
        output: { usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } },
        metadata: {},
      },
    ]);
  });

  it("workflow-step-result of a step that fails has the error", async () => {
    const { of } = await eventsOf(
      flow()
        .then(step("a", () => Promise.reject(new Error("no"))))
        .commit(),
      1,
    );
    expect(of("workflow-step-result")).toMatchObject([
      { id: "a", status: "failed", error: { message: "no" } },
    ]);
    expect(of("workflow-finish")).toMatchObject([{ workflowStatus: "failed" }]);
  });

  it("workflow-step-output: what a step writes, an agent's chunks with its usage", async () => {
    const agent = new Agent({
      id: "poet",
      name: "Poet",
      instructions: "",
      model: scriptedModel([{ text: "roses", usage: { inputTokens: 3, outputTokens: 4 } }]),
    });
    const { of } = await eventsOf(flow().then(agent).commit(), { prompt: "Rhyme" });
    const outputs = of("workflow-step-output") as { output: { type: string }; stepName: string }[];
    expect(outputs.map(({ output }) => output.type)).toContain("text-delta");
    for (const one of outputs) expect(one).toMatchObject({ stepName: "poet", stepCallId: callId });
    expect(of("workflow-finish")).toMatchObject([
      { output: { usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } } },
    ]);
  });

  it("workflow-step-progress: each item of a foreach", async () => {
    const item = step("i", ({ inputData }) => `${String(inputData)}!`);
    const { of } = await eventsOf(flow().foreach(item).commit(), ["x", "y"]);
    expect(of("workflow-step-progress")).toEqual([
      {
        id: "i",
        completedCount: 1,
        totalCount: 2,
        currentIndex: 0,
        iterationStatus: "success",
        iterationOutput: "x!",
      },
      {
        id: "i",
        completedCount: 2,
        totalCount: 2,
        currentIndex: 1,
        iterationStatus: "success",
        iterationOutput: "y!",
      },
    ]);
  });

  it("workflow-step-suspended, and workflow-step-start with the answer", async () => {
    const { of, run, system } = await eventsOf(flow().then(asking("gate")).commit(), 1);
    expect(of("workflow-step-suspended")).toEqual([
      {
        id: "gate",
        stepCallId: callId,
        status: "suspended",
        suspendPayload: { ask: "gate" },
        payload: 1,
        suspendedAt: time,
      },
    ]);
    const more = await system.until(collect(run.resumeStream({ resumeData: "ok" }).fullStream));
    expect(more.find(({ type }) => type === "workflow-step-start")).toMatchObject({
      payload: { id: "gate", payload: 1, resumePayload: "ok" },
    });
  });

  it("workflow-step-waiting: a sleep, which ends as steps do", async () => {
    const { of } = await eventsOf(flow().sleep(1_000).commit(), "kept");
    expect(of("workflow-step-waiting")).toEqual([
      { id: "sleep_input", payload: "kept", startedAt: time, status: "waiting" },
    ]);
    expect(of("workflow-step-result")).toMatchObject([
      { id: "sleep_input", status: "success", output: "kept" },
    ]);
    expect(of("workflow-step-finish")).toEqual([{ id: "sleep_input", metadata: {} }]);
  });

  it("workflow-paused and workflow-canceled", async () => {
    const paused = await eventsOf(flow().then(step("a")).then(step("b")).commit(), 1, { perStep: true });
    expect(paused.of("workflow-paused")).toEqual([{}]);
    const canceled = await eventsOf(
      flow()
        .then(step("a", ({ abort }) => abort()))
        .commit(),
      1,
    );
    expect(canceled.of("workflow-canceled")).toEqual([{}]);
    expect(canceled.of("workflow-finish")).toMatchObject([{ workflowStatus: "canceled" }]);
  });

  it("steps, sleeps and suspensions of nested workflows, with the fields of others", async () => {
    const inner = createWorkflow({ id: "inner", ...any })
      .then(step("x", () => 2, { metadata: { team: "sales" } }))
      .map(async ({ inputData }) => (inputData as number) + 1)
      .sleep(1_000)
      .then(asking("gate"))
      .commit();
    const { of } = await eventsOf(flow().then(inner).commit(), 1);
    // It is entered again after the sleep, and has started once.
    expect(of("workflow-step-start")).toEqual([
      { id: "inner", stepCallId: callId, status: "running", payload: 1, startedAt: time },
      { id: "inner.x", stepCallId: callId, status: "running", payload: 1, startedAt: time },
      { id: "inner.mapping_x", stepCallId: callId, status: "running", payload: 2, startedAt: time },
      { id: "inner.gate", stepCallId: callId, status: "running", payload: 3, startedAt: time },
    ]);
    expect(of("workflow-step-finish")).toContainEqual({ id: "inner.x", metadata: { team: "sales" } });
    const id = expect.stringMatching(/^inner\.sleep_/) as string;
    expect(of("workflow-step-waiting")).toEqual([{ id, payload: 3, startedAt: time, status: "waiting" }]);
    expect(of("workflow-step-result")).toEqual([
      { id: "inner.x", stepCallId: callId, status: "success", payload: 1, output: 2, endedAt: time },
      { id: "inner.mapping_x", stepCallId: callId, status: "success", payload: 2, output: 3, endedAt: time },
      { id, stepCallId: callId, status: "success", payload: 3, output: 3, endedAt: time },
    ]);
    expect(of("workflow-step-suspended")).toEqual([
      {
        id: "inner.gate",
        stepCallId: callId,
        status: "suspended",
        suspendPayload: { ask: "gate" },
        payload: 3,
        suspendedAt: time,
      },
    ]);
  });

  it("the start, result and finish of nested workflows and mappings, in order", async () => {
    const nest = (id: string, inner: Workflow<any, any, any, any, any> | ReturnType<typeof step>) =>
      createWorkflow({ id, ...any })
        .then(inner as never)
        .commit();
    const fails = step("x", () => Promise.reject(new Error("no")));
    const mapping = createWorkflow({ id: "maps", ...any })
      .map(({ inputData }) => Number(inputData) + 1)
      .commit();
    const { types, of } = await eventsOf(
      flow()
        .then(mapping)
        .then(nest("around", nest("broken", fails)))
        .commit(),
      1,
    );
    const ids = (type: string) => of(type).map((payload) => (payload as { id: string }).id);
    expect(ids("workflow-step-start")).toEqual([
      "maps",
      "maps.mapping_input",
      "around",
      "around.broken",
      "around.broken.x",
    ]);
    const ends = ["maps.mapping_input", "maps", "around.broken.x", "around.broken", "around"];
    expect(ids("workflow-step-result")).toEqual(ends);
    expect(ids("workflow-step-finish")).toEqual(ends);
    expect(of("workflow-step-result")).toContainEqual({
      id: "maps",
      stepCallId: callId,
      status: "success",
      payload: 1,
      output: 2,
      endedAt: time,
    });
    expect(of("workflow-step-result").at(-1)).toMatchObject({ id: "around", status: "failed", payload: 2 });
    expect(types.slice(0, 3)).toEqual(["workflow-start", "workflow-step-start", "workflow-step-start"]);
    expect(types.at(-1)).toBe("workflow-finish");
  });

  it("one result of a nested workflow in which two steps fail", async () => {
    const fail = () => Promise.reject(new Error("no"));
    const inner = createWorkflow({ id: "inner", ...any })
      .parallel([step("x", fail), step("y", fail)])
      .commit();
    const { of } = await eventsOf(flow().then(inner).commit(), 1);
    const ids = of("workflow-step-result").map((payload) => (payload as { id: string }).id);
    expect(ids).toEqual(["inner.x", "inner.y", "inner"]);
  });

  it("workflow-step-result of a mapping that fails has its input and the error", async () => {
    const { of } = await eventsOf(
      flow()
        .map(async () => Promise.reject(new Error("no")))
        .commit(),
      1,
    );
    expect(of("workflow-step-result")).toEqual([
      {
        id: expect.any(String) as string,
        stepCallId: callId,
        status: "failed",
        payload: 1,
        error: expect.objectContaining({ message: "no" }) as unknown,
        endedAt: time,
      },
    ]);
  });

  it("steps of nested workflows by their path", async () => {
    const inner = createWorkflow({ id: "inner", ...any })
      .then(step("x"))
      .commit();
    const { of } = await eventsOf(flow().then(inner).commit(), 1);
    expect(of("workflow-step-start")).toContainEqual(expect.objectContaining({ id: "inner.x" }));
  });
});
