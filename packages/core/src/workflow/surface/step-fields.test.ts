import { RequestContext } from "@selvedge/core/request-context";
import { cloneStep, createStep } from "@selvedge/core/workflows";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { any, asking, flow, PLACES, start, step } from "./__fixtures__/rig.ts";

describe.each(PLACES)("the fields of a step, %s:", (place) => {
  it("description and metadata are in the graph, metadata with the result, too", async () => {
    const told = step("a", undefined, { description: "Greets", metadata: { team: "sales" } });
    const { workflow, result } = await start(place, flow().then(told).commit());
    expect(workflow.serializedStepGraph).toEqual([
      { type: "step", step: { id: "a", description: "Greets", metadata: { team: "sales" } } },
    ]);
    expect(result.steps["a"]).toMatchObject({ status: "success", metadata: { team: "sales" } });
  });

  it("inputSchema parses the input: defaults and changes count", async () => {
    const inputSchema = z.object({ n: z.coerce.number(), unit: z.string().default("kg") });
    const { result } = await start(
      place,
      flow()
        .then(step("a", undefined, { inputSchema }))
        .commit(),
      {
        n: "3",
      },
    );
    expect(result).toMatchObject({ result: { n: 3, unit: "kg" } });
  });

  it("any schema of the standard is accepted, and JSON Schema", async () => {
    const inputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const workflow = () =>
      flow()
        .then(step("a", undefined, { inputSchema }))
        .commit();
    expect((await start(place, workflow(), { n: 1 })).result.status).toBe("success");
    expect((await start(place, workflow(), { n: "x" })).result).toMatchObject({
      status: "failed",
      error: { code: "invalid-argument" },
    });
  });

  it("suspendSchema is checked: a payload that does not fit fails the step", async () => {
    const gate = asking("gate", { suspendSchema: z.object({ amount: z.number() }) });
    const { result } = await start(place, flow().then(gate).commit());
    expect(result).toMatchObject({
      status: "failed",
      steps: {
        gate: {
          status: "failed",
          error: { message: expect.stringMatching(/^Invalid suspend payload: amount/) },
        },
      },
    });
  });

  it("resumeSchema is checked: what does not fit is refused, and the run is as it was", async () => {
    const gate = asking("gate", { resumeSchema: z.object({ ok: z.boolean() }) });
    const { run, system, workflow } = await start(place, flow().then(gate).commit());
    const before = await workflow.getWorkflowRunById(run.runId);
    await expect(run.resume({ resumeData: { ok: "yes" } })).rejects.toMatchObject({
      code: "invalid-argument",
      message: expect.stringMatching(/^Invalid resume data: ok: /),
      details: { id: "WORKFLOW_SCHEMA_VALIDATION_FAILED" },
    });
    expect(await workflow.getWorkflowRunById(run.runId)).toEqual(before);
    expect(await system.until(run.resume({ resumeData: { ok: true } }))).toMatchObject({
      result: { ok: true },
    });
  });

  it("requestContextSchema is checked before execute: a mismatch fails the step", async () => {
    let executed = 0;
    const guarded = () =>
      flow()
        .then(step("a", () => ++executed, { requestContextSchema: z.object({ tenant: z.string() }) }))
        .commit();
    expect((await start(place, guarded())).result).toMatchObject({
      status: "failed",
      steps: { a: { error: { message: expect.stringMatching(/^Invalid request context: tenant/) } } },
    });
    expect(executed).toBe(0);
    const requestContext = new RequestContext([["tenant", "acme"]]);
    expect((await start(place, guarded(), "", { requestContext })).result.status).toBe("success");
  });

  it("retries of the step count before retryConfig of the workflow, also 0", async () => {
    const tried: Record<string, number> = {};
    const failing = (id: string, more: object = {}) =>
      step(
        id,
        () => {
          tried[id] = (tried[id] ?? 0) + 1;
          throw new Error("no");
        },
        more,
      );
    const config = { retryConfig: { attempts: 2 } };
    await start(
      place,
      flow(config)
        .then(failing("own", { retries: 1 }))
        .commit(),
    );
    await start(
      place,
      flow(config)
        .then(failing("never", { retries: 0 }))
        .commit(),
    );
    await start(place, flow(config).then(failing("workflow")).commit());
    await start(place, flow().then(failing("none")).commit());
    expect(tried).toEqual({ own: 2, never: 1, workflow: 3, none: 1 });
  });

  it("scorers run after success, not in its way: an object, or a function of the request context", async () => {
    const scored: unknown[] = [];
    const scorer = (name: string, run: (args: object) => unknown) => ({ [name]: { scorer: { run } } });
    const one = step("one", () => 1, {
      scorers: {
        ...scorer("throws", () => {
          throw new Error("bad scorer");
        }),
        ...scorer("plain", (args) => scored.push(args)),
      },
    });
    const two = step("two", () => 2, {
      scorers: ({ requestContext }: { requestContext: RequestContext }) =>
        scorer("late", () => scored.push(requestContext.get("user"))),
    });
    const failing = step("fails", () => Promise.reject(new Error("no")), {
      scorers: scorer("failed", () => scored.push("never")),
    });
    const requestContext = new RequestContext([["user", "ada"]]);
    const { result, run } = await start(place, flow().then(one).then(two).then(failing).commit(), "in", {
      requestContext,
    });
    expect(result.status).toBe("failed");
    await expect.poll(() => scored).toHaveLength(2);
    // Steps are scored beside each other, in any order.
    expect(scored).toContain("ada");
    expect(scored).toContainEqual(
      expect.objectContaining({ runId: run.runId, stepId: "one", input: "in", output: 1 }),
    );
  });

  it("scorers are left out of a run with disableScorers", async () => {
    const scored: unknown[] = [];
    const one = step("one", () => 1, { scorers: { s: { scorer: { run: () => scored.push("scored") } } } });
    const workflow = flow().then(one).commit();
    expect(Object.keys(workflow.listScorers())).toEqual(["s"]);
    await start(place, workflow, "in", {}, { run: { disableScorers: true } });
    await Promise.resolve();
    expect(scored).toEqual([]);
  });
});

const execute = async (): Promise<number> => 1;

describe("a step that cannot be created", () => {
  it.each([
    ["no id", { ...any, execute }, "id of a step"],
    ["an empty id", { id: "", ...any, execute }, "id of a step"],
    ["no inputSchema", { id: "a", outputSchema: z.any(), execute }, 'Step "a" needs inputSchema'],
    ["no outputSchema", { id: "a", inputSchema: z.any(), execute }, 'Step "a" needs outputSchema'],
    ["no execute", { id: "a", ...any }, 'Step "a" needs execute, got undefined'],
    ["retries below 0", { id: "a", ...any, execute, retries: -1 }, "got -1"],
    ["nothing", undefined, "id of a step"],
  ])("has %s, and the error says so", (_, config, message) => {
    expect(() => createStep(config as never)).toThrow(
      expect.objectContaining({ code: "invalid-argument", message: expect.stringContaining(message) }),
    );
  });

  it("is a clone without an id", () => {
    expect(() => cloneStep(step("a"), { id: "" })).toThrow(
      expect.objectContaining({ code: "invalid-argument" }),
    );
  });
});
