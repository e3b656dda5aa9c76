import { RequestContext } from "@selvedge/core/request-context";
import { type WorkflowOptions, createWorkflow } from "@selvedge/core/workflows";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { any, asking, flow, PLACES, rig, start, step } from "./__fixtures__/rig.ts";

const options = (given: WorkflowOptions) => ({ options: given });
const fails = () => step("fails", () => Promise.reject(new Error("no")));

describe.each(PLACES)("the fields of a workflow, %s:", (place) => {
  it("are members of it, with defaults", () => {
    const inputSchema = z.object({ n: z.number() });
    const outputSchema = z.object({ m: z.number() });
    const stateSchema = z.object({ s: z.string() });
    const workflow = createWorkflow({
      id: "order",
      description: "Takes an order",
      metadata: { team: "sales" },
      inputSchema,
      outputSchema,
      stateSchema,
    });
    expect(workflow).toMatchObject({
      id: "order",
      description: "Takes an order",
      metadata: { team: "sales" },
      committed: false,
      retryConfig: { attempts: 0, delay: 0 },
    });
    expect([workflow.inputSchema, workflow.outputSchema, workflow.stateSchema]).toEqual([
      inputSchema,
      outputSchema,
      stateSchema,
    ]);
    expect(flow().then(step("a")).commit().committed).toBe(true);
  });

  it("inputSchema applies defaults before the first step", async () => {
    const workflow = flow({ inputSchema: z.object({ n: z.number().default(7) }) })
      .then(step("a"))
      .commit();
    expect((await start(place, workflow, {})).result).toMatchObject({ input: { n: 7 }, result: { n: 7 } });
  });

  it("requestContextSchema is checked at the start: nothing runs and nothing is stored", async () => {
    const workflow = flow({ requestContextSchema: z.object({ tenant: z.string() }) })
      .then(step("a"))
      .commit();
    rig(place, [workflow]);
    const run = await workflow.createRun();
    await expect(
      run.start({ inputData: 1, requestContext: new RequestContext([["tenant", 5]]) }),
    ).rejects.toMatchObject({
      code: "invalid-argument",
      message: expect.stringMatching(/^Invalid request context: tenant/),
    });
    expect(await workflow.getWorkflowRunById(run.runId)).toBeNull();
  });

  it("retryConfig.delay passes between attempts", async () => {
    const times: number[] = [];
    let now = (): number => 0;
    const workflow = flow({ retryConfig: { attempts: 2, delay: 500 } })
      .then(
        step("a", () => {
          times.push(now());
          throw new Error("no");
        }),
      )
      .commit();
    const { system } = rig(place, [workflow]);
    now = () => system.now();
    await system.until((await workflow.createRun()).start({ inputData: 1 }));
    expect(times).toHaveLength(3);
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(500);
    expect(times[2]! - times[1]!).toBeGreaterThanOrEqual(500);
  });

  it("validateInputs: false lets through what does not fit, at start, resume and in steps", async () => {
    const text = z.string();
    const gate = asking("gate", { inputSchema: text, resumeSchema: text });
    const workflow = flow({ inputSchema: text, ...options({ validateInputs: false }) })
      .then(gate)
      .commit();
    const { result, run, system } = await start(place, workflow, 5);
    expect(result).toMatchObject({ status: "suspended", input: 5 });
    expect(await system.until(run.resume({ resumeData: 6 }))).toMatchObject({ result: 6 });
  });

  it("onStart, onFinish and onError get what they need", async () => {
    const calls: [string, Record<string, any>][] = [];
    const hooks = options({
      onStart: (info) => void calls.push(["start", info]),
      onFinish: (info) => void calls.push(["finish", info]),
      onError: (info) => void calls.push(["error", info]),
    });
    const requestContext = new RequestContext([["k", 1]]);
    const workflow = flow(hooks).then(step("a")).then(fails()).commit();
    const { run, mastra } = await start(
      place,
      workflow,
      "in",
      { requestContext, initialState: { s: 1 } },
      { run: { resourceId: "ada" } },
    );
    expect(calls.map(([name]) => name)).toEqual(["start", "finish", "error"]);
    for (const [, info] of calls) {
      expect(info).toMatchObject({ runId: run.runId, workflowId: "w", resourceId: "ada", state: { s: 1 } });
      expect(info["getInitData"]()).toBe("in");
      expect(info["requestContext"].get("k")).toBe(1);
      expect(info["mastra"]).toBe(mastra);
      expect(info["logger"].error).toBeTypeOf("function");
    }
    expect(calls[1]![1]).toMatchObject({
      status: "failed",
      steps: { a: { status: "success" }, fails: { status: "failed" } },
      error: { message: "no" },
    });
  });

  it("onFinish is called when a run suspends, is cancelled and succeeds; what it throws changes nothing", async () => {
    const statuses: string[] = [];
    const hooks = options({
      onFinish: ({ status }) => {
        statuses.push(status);
        throw new Error("ignored");
      },
    });
    const first = await start(place, flow(hooks).then(asking("gate")).commit());
    expect(await first.system.until(first.run.resume({ resumeData: 1 }))).toMatchObject({
      status: "success",
    });
    const second = await start(place, flow(hooks).then(asking("gate")).commit());
    await second.run.cancel();
    await second.system.advance(10);
    expect(statuses).toEqual(["suspended", "success", "suspended", "canceled"]);
  });

  it("onStart is awaited before the first step", async () => {
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const workflow = flow(
      options({
        onStart: async () => {
          await gate.promise;
          order.push("onStart");
        },
      }),
    )
      .then(step("a", () => order.push("step")))
      .commit();
    const { system } = rig(place, [workflow]);
    const result = (await workflow.createRun()).start({ inputData: 1 });
    await system.advance(1_000);
    expect(order).toEqual([]);
    gate.resolve();
    await system.until(result);
    expect(order).toEqual(["onStart", "step"]);
  });

  it("pruneSnapshot decides what readers see of a run", async () => {
    const workflow = flow(
      options({
        pruneSnapshot: ({ snapshot, workflowStatus }) =>
          workflowStatus === "success"
            ? { ...snapshot, context: { input: "hidden", a: snapshot.context["a"] } }
            : snapshot,
      }),
    )
      .then(step("a"))
      .then(step("b"))
      .commit();
    const { run } = await start(place, workflow);
    const state = await workflow.getWorkflowRunById(run.runId);
    expect(state).toMatchObject({ status: "success", payload: "hidden" });
    expect(Object.keys(state!.steps!)).toEqual(["a"]);
    const { runs } = await workflow.listWorkflowRuns();
    expect(runs[0]!.snapshot.context).not.toHaveProperty("b");
  });

  it("shouldPersistSnapshot is asked with the results, and decides whether a run is kept", async () => {
    const asked: unknown[] = [];
    const workflow = flow(
      options({
        shouldPersistSnapshot: ({ stepResults, workflowStatus }) => {
          asked.push([Object.keys(stepResults), workflowStatus]);
          return workflowStatus !== "success";
        },
      }),
    )
      .then(step("a"))
      .commit();
    const { run, system } = await start(place, workflow);
    await system.advance(1_000);
    if (place === "in a store") {
      expect(await workflow.getWorkflowRunById(run.runId)).toBeNull();
      expect(asked).toContainEqual([["a"], "success"]);
    }
  });
});

describe("a workflow that cannot be created", () => {
  it.each([
    ["no id", { ...any }, "id of a workflow"],
    ["no inputSchema", { id: "w", outputSchema: z.any() }, 'Workflow "w" needs inputSchema'],
    ["no outputSchema", { id: "w", inputSchema: z.any() }, 'Workflow "w" needs outputSchema'],
    ["attempts below 0", { id: "w", ...any, retryConfig: { attempts: -1 } }, "retryConfig.attempts"],
    ["a delay that is not a number", { id: "w", ...any, retryConfig: { delay: "1s" } }, 'got "1s"'],
    ["a bad cron pattern", { id: "w", ...any, schedule: { cron: "every day" } }, "every day"],
    [
      "a bad time zone",
      { id: "w", ...any, schedule: { cron: "0 9 * * *", timezone: "Mars/Base" } },
      "Mars/Base",
    ],
    ["a list of schedules without ids", { id: "w", ...any, schedule: [{ cron: "0 9 * * *" }] }, "id"],
    ["half a limit of iterations", { id: "w", ...any, options: { maxIterations: 0.5 } }, "got 0.5"],
    ["half an attempt", { id: "w", ...any, retryConfig: { attempts: 0.5 } }, "got 0.5"],
    [
      "a hook that is a text",
      { id: "w", ...any, options: { onFinish: "log" } },
      'options.onFinish of workflow "w"',
    ],
    ["a list of options", { id: "w", ...any, options: [] }, "got []"],
    ["nothing", undefined, "id of a workflow"],
  ])("has %s, and the error says so", (_, config, message) => {
    expect(() => createWorkflow(config as never)).toThrow(
      expect.objectContaining({ code: "invalid-argument", message: expect.stringContaining(message) }),
    );
  });
});
