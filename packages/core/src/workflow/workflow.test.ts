import { virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { silentLogger } from "../logger.ts";
import { Mastra } from "../mastra/mastra.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";
import { cloneStep, createStep } from "./create-step.ts";
import { mapVariable } from "./map-source.ts";
import type { ExecuteParams } from "./step.ts";
import { cloneWorkflow, createWorkflow, type Workflow } from "./workflow.ts";
import type { WorkflowOptions } from "./workflow-config.ts";

const any = z.any();
type Execute = (params: ExecuteParams) => unknown;

/** A step from a function; without one it adds its id to the text. */
const step = (
  id: string,
  execute: Execute = ({ inputData }) => `${String(inputData)}${id}`,
  more: object = {},
) =>
  createStep({
    id,
    inputSchema: any,
    outputSchema: any,
    execute: async (params) => execute(params),
    ...more,
  });

const flow = (options?: WorkflowOptions, more: object = {}) =>
  createWorkflow({ id: "w", inputSchema: any, outputSchema: any, ...(options && { options }), ...more });

const suspending = (id: string, payload: unknown = { ask: id }) =>
  step(id, ({ resumeData, suspend }) => (resumeData === undefined ? suspend(payload) : resumeData));

describe.each(["in memory", "in a store"])("a workflow %s", (where) => {
  const host = (...workflows: Workflow<any, any, any, any, any>[]) => {
    const system = virtualSystem();
    const storage = where === "in memory" ? {} : { storage: new InMemoryStorage({ system }) };
    const named = Object.fromEntries(workflows.map((workflow) => [workflow.id, workflow]));
    const mastra = new Mastra({ ...storage, system, logger: silentLogger, workflows: named });
    return { system, mastra };
  };
  /** Runs a workflow to its rest. */
  const start = async (
    workflow: Workflow<any, any, any, any, any>,
    inputData: unknown = "",
    more: object = {},
  ) => {
    const { system, mastra } = host(workflow);
    const run = await workflow.createRun();
    const result = await system.until(run.start({ inputData, ...more }));
    const resume = (options: object) => system.until(run.resume(options));
    return { run, result, system, mastra, resume };
  };

  it("passes each output to the next step", async () => {
    const { result } = await start(flow().then(step("a")).then(step("b")).commit(), ">");
    expect(result).toMatchObject({
      status: "success",
      result: ">ab",
      input: ">",
      steps: { a: { status: "success", payload: ">", output: ">a" }, b: { payload: ">a", output: ">ab" } },
      stepExecutionPath: ["a", "b"],
    });
  });

  it("runs steps together and gives their outputs by id", async () => {
    const workflow = flow()
      .parallel([step("a"), step("b")])
      .commit();
    expect((await start(workflow, ">")).result).toMatchObject({ result: { a: ">a", b: ">b" } });
  });

  it("runs every branch whose condition is true, or none", async () => {
    const workflow = flow()
      .branch([
        [async ({ inputData }) => inputData > 1, step("big")],
        [async ({ inputData }) => inputData > 2, step("bigger")],
        [({ inputData }) => inputData < 0, step("negative")],
      ])
      .commit();
    expect((await start(workflow, 3)).result).toMatchObject({ result: { big: "3big", bigger: "3bigger" } });
    expect((await start(cloneWorkflow(workflow, { id: "v" }), 1)).result).toMatchObject({ result: {} });
  });

  it("fails when a condition throws, and names the place", async () => {
    const condition = () => {
      throw new Error("no data");
    };
    const { result } = await start(
      flow()
        .branch([[condition, step("a")]])
        .commit(),
    );
    expect(result).toMatchObject({
      status: "failed",
      error: { message: 'The condition of branch "a" failed: no data' },
    });
  });

  it("repeats a step with its own output, while or until a condition", async () => {
    const counts: number[] = [];
    const more = step("more", ({ inputData }) => inputData + 1);
    const until = flow().dountil(more, async ({ inputData, iterationCount }) => {
      counts.push(iterationCount);
      return inputData >= 3;
    });
    expect((await start(until.commit(), 0)).result).toMatchObject({ result: 3 });
    expect(counts).toEqual([1, 2, 3]);
    const whilst = flow().dowhile(more, async ({ inputData }) => inputData < 3);
    expect((await start(whilst.commit(), 0)).result).toMatchObject({
      result: 3,
      steps: { more: { output: 3 } },
    });
  });

  it("stops an endless loop", async () => {
    const endless = flow({ maxIterations: 7 }).dowhile(step("a"), async () => true);
    expect((await start(endless.commit())).result).toMatchObject({
      status: "failed",
      error: { code: "limit-exceeded", message: expect.stringContaining("7 times") },
    });
  });

  it("executes a step per item, in order, with a slot for the next as soon as one is free", async () => {
    let most = 0;
    let running = 0;
    const item = step("i", async ({ inputData }) => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
      return inputData * 2;
    });
    const { result } = await start(flow().foreach(item, { concurrency: 2 }).commit(), [1, 2, 3, 4]);
    expect(result).toMatchObject({
      result: [2, 4, 6, 8],
      steps: { i: { status: "success", output: [2, 4, 6, 8], payload: [1, 2, 3, 4] } },
    });
    expect(most).toBe(2);
    expect((await start(flow().foreach(item).commit(), [])).result).toMatchObject({ result: [] });
  });

  it.each([
    ["not an array", "text", {}, "needs an array"],
    ["a bad concurrency", [1], { concurrency: () => 0 }, "must be an integer of 1 or more, got 0"],
  ])("fails a foreach over %s", async (_, input, options, message) => {
    const { result } = await start(flow().foreach(step("i"), options).commit(), input);
    expect(result).toMatchObject({ status: "failed", error: { message: expect.stringContaining(message) } });
  });

  it("maps values from functions, steps, the input, the request context and constants", async () => {
    const a = step("a", () => ({ deep: { x: 1 } }));
    const inner = flow();
    const workflow = inner
      .then(a)
      .map({
        x: mapVariable({ step: a, path: "deep.x" }),
        first: mapVariable({ step: [step("none"), a], path: "." }),
        init: mapVariable({ initData: inner, path: "." }),
        fixed: { value: 5 },
        user: { requestContextPath: "user.name" },
        sum: { fn: async ({ inputData }) => inputData.deep.x + 1 },
      })
      .map(async ({ inputData }) => ({ ...inputData, more: true }))
      .commit();
    const requestContext = new RequestContext([["user", { name: "Ada" }]]);
    expect((await start(workflow, "in", { requestContext })).result).toMatchObject({
      result: { x: 1, first: { deep: { x: 1 } }, init: "in", fixed: 5, user: "Ada", sum: 2, more: true },
    });
  });

  it("sleeps for a time, until a moment, and as long as a function says", async () => {
    const { system, mastra } = host(
      flow()
        .sleep(1_000)
        .sleepUntil(async () => new Date(system.now() + 1_000))
        .sleep(async ({ inputData }) => inputData)
        .then(step("a", ({ inputData }) => inputData))
        .commit(),
    );
    const began = system.now();
    const run = await mastra.getWorkflow("w").createRun();
    const result = run.start({ inputData: 1_000 });
    await system.advance(500);
    expect(await mastra.getWorkflow("w").getWorkflowRunById(run.runId)).toMatchObject({ status: "waiting" });
    expect(await system.until(result)).toMatchObject({ status: "success", result: 1_000 });
    expect(system.now() - began).toBeGreaterThanOrEqual(3_000);
  });

  it("wakes a sleeping branch while another one runs", async () => {
    const events: string[] = [];
    const nap = createWorkflow({ id: "nap", inputSchema: any, outputSchema: any })
      .sleep(1_000)
      .then(step("woken", () => events.push("woken")))
      .commit();
    const { system } = host(flow().then(step("unused")).commit());
    const long = step("long", async () => {
      await new Promise<void>((resolve) => void system.setTimer(5_000, resolve));
      events.push("long");
    });
    const workflow = flow().parallel([long, nap]).commit();
    workflow.useHost(host(workflow).mastra);
    const own = new Mastra({ system, logger: silentLogger, workflows: { workflow } });
    const run = await own.getWorkflow("workflow").createRun();
    await system.until(run.start({ inputData: 1 }));
    expect(events).toEqual(["woken", "long"]);
  });

  it("nests: steps of a workflow are steps of the run, with its input as their initial data", async () => {
    const inner = createWorkflow({ id: "inner", inputSchema: any, outputSchema: any })
      .then(step("a", ({ inputData, getInitData }) => `${inputData}/${String(getInitData())}`))
      .commit();
    const workflow = flow()
      .then(step("z"))
      .then(inner)
      .then(
        step("b", ({ inputData, getStepResult }) => [
          inputData,
          getStepResult("inner.a"),
          getStepResult(inner),
        ]),
      )
      .commit();
    const { result } = await start(workflow, ">");
    expect(result).toMatchObject({
      result: [">z/>z", ">z/>z", ">z/>z"],
      steps: { inner: { status: "success", output: ">z/>z", payload: ">z" }, "inner.a": { output: ">z/>z" } },
    });
  });

  it("suspends, and resumes the step with its stored input, the data and what it had asked", async () => {
    const seen: unknown[] = [];
    const gate = step("gate", ({ inputData, resumeData, suspendData, suspend }) => {
      seen.push([inputData, resumeData, suspendData]);
      return resumeData === undefined ? suspend({ ask: 1 }, { resumeLabel: "gate-label" }) : `${inputData}!`;
    });
    const inner = createWorkflow({ id: "inner", inputSchema: any, outputSchema: any }).then(gate).commit();
    const { result, resume } = await start(flow().then(step("a")).then(inner).then(step("z")).commit(), ">", {
      outputOptions: { includeResumeLabels: true },
    });
    expect(result).toMatchObject({
      status: "suspended",
      suspended: [["inner", "gate"]],
      suspendPayload: { "inner.gate": { ask: 1 } },
      resumeLabels: { "gate-label": { stepId: "inner.gate" } },
      steps: { inner: { status: "suspended" }, a: { status: "success" } },
    });
    expect(await resume({ step: ["inner", "gate"], resumeData: "ok" })).toMatchObject({
      status: "success",
      result: ">a!z",
      steps: { "inner.gate": { resumePayload: "ok", suspendPayload: { ask: 1 } } },
    });
    expect(seen).toEqual([
      [">a", undefined, undefined],
      [">a", "ok", { ask: 1 }],
    ]);
  });

  it("resumes members of a block on their own, and says which when it is not clear", async () => {
    const workflow = flow()
      .parallel([suspending("a"), suspending("b"), step("c")])
      .then(step("z", ({ inputData }) => inputData))
      .commit();
    const { run, resume, result } = await start(workflow, ">");
    expect(result).toMatchObject({ suspended: [["a"], ["b"]], steps: { c: { status: "success" } } });
    await expect(run.resume({ resumeData: 1 })).rejects.toMatchObject({
      code: "ambiguous",
      message: expect.stringContaining("a, b"),
    });
    await expect(run.resume({ step: "c", resumeData: 1 })).rejects.toMatchObject({ code: "conflict" });
    expect(await resume({ step: "b", resumeData: 2 })).toMatchObject({
      status: "suspended",
      suspended: [["a"]],
    });
    expect(await resume({ resumeData: 1 })).toMatchObject({ result: { a: 1, b: 2, c: ">c" } });
    await expect(run.resume({ resumeData: 1 })).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("This workflow run was not suspended"),
    });
  });

  it("resumes items together, one by one, or by label, and none is lost when one suspends again", async () => {
    const item = step("i", ({ inputData, resumeData, suspend }) => {
      if (resumeData === undefined) return suspend({ item: inputData }, { resumeLabel: `item-${inputData}` });
      return resumeData === "again" ? suspend({ again: inputData }) : `${inputData}${resumeData}`;
    });
    const { resume, result } = await start(flow().foreach(item).commit(), ["x", "y", "z"]);
    expect(result).toMatchObject({ status: "suspended", suspended: [["i"]] });
    expect(await resume({ forEachIndex: 1, resumeData: "again" })).toMatchObject({ status: "suspended" });
    expect(await resume({ label: "item-z", resumeData: 3 })).toMatchObject({ status: "suspended" });
    expect(await resume({ resumeData: "!" })).toMatchObject({
      status: "success",
      result: ["x!", "y!", "z3"],
    });
  });

  it("takes one of two resumes", async () => {
    let executed = 0;
    const gate = step("a", ({ resumeData, suspend }) =>
      resumeData === undefined ? suspend({}) : ++executed,
    );
    const { run, system } = await start(flow().then(gate).commit());
    const both = await system.until(
      Promise.allSettled([run.resume({ resumeData: 1 }), run.resume({ resumeData: 2 })]),
    );
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const refused = both.find((one) => one.status === "rejected")!;
    expect(["already-decided", "conflict"]).toContain((refused.reason as { code: string }).code);
    expect(executed).toBe(1);
  });

  it("checks input, initial state, resume data, suspend payloads and step inputs", async () => {
    const text = z.object({ s: z.string(), d: z.number().default(7) });
    const gate = createStep({
      id: "gate",
      inputSchema: text,
      outputSchema: any,
      resumeSchema: z.object({ ok: z.boolean() }),
      execute: async ({ inputData, resumeData, suspend }) => (resumeData ? inputData.d : suspend({})),
    });
    const workflow = createWorkflow({
      id: "w",
      inputSchema: text,
      outputSchema: any,
      stateSchema: z.object({ count: z.number() }),
    })
      .then(gate)
      .commit();
    const { run, resume } = await start(workflow, { s: "x" });
    const fresh = await workflow.createRun();
    await expect(fresh.start({ inputData: { s: 1 } as never })).rejects.toMatchObject({
      code: "invalid-argument",
      message: expect.stringMatching(/^Invalid input data: s: /),
      details: { id: "WORKFLOW_SCHEMA_VALIDATION_FAILED" },
    });
    await expect(
      fresh.start({ inputData: { s: "x" }, initialState: { count: "x" } as never }),
    ).rejects.toMatchObject({
      message: expect.stringContaining("Invalid initial state"),
    });
    await expect(run.resume({ resumeData: { ok: 1 } as never })).rejects.toMatchObject({
      message: expect.stringContaining("Invalid resume data"),
    });
    expect(await resume({ resumeData: { ok: true } })).toMatchObject({ status: "success", result: 7 });
    const bad = flow()
      .map(async () => ({ s: 1 }))
      .then(cloneStep(gate, { id: "g2" }) as never)
      .commit();
    expect((await start(bad)).result).toMatchObject({
      status: "failed",
      steps: { g2: { status: "failed", error: { message: expect.stringContaining("Invalid input data") } } },
    });
  });

  it("retries a step that fails, and says how often it was tried", async () => {
    const counts: number[] = [];
    const flaky = step("a", ({ retryCount }) => {
      counts.push(retryCount);
      if (retryCount < 2) throw new Error("not yet");
      return "done";
    });
    const workflow = flow(undefined, { retryConfig: { attempts: 3, delay: 100 } })
      .then(flaky)
      .commit();
    expect((await start(workflow)).result).toMatchObject({ status: "success", result: "done" });
    expect(counts).toEqual([0, 1, 2]);
    const failing = step("b", () => Promise.reject(new Error("no")), { retries: 1 });
    const { result } = await start(flow().then(failing).then(step("z")).commit());
    expect(result).toMatchObject({
      status: "failed",
      error: { message: "no" },
      steps: { b: { status: "failed" } },
    });
    expect(result.steps).not.toHaveProperty("z");
  });

  it("runs what once() guards once, over retries and resumes", async () => {
    const charges: string[] = [];
    const pay = step(
      "pay",
      async ({ once, retryCount, resumeData, suspend }) => {
        const receipt = await once("charge", () => {
          charges.push("charged");
          return { id: charges.length, at: new Date(5) };
        });
        if (retryCount === 0 && resumeData === undefined) throw new Error("flaky");
        return resumeData === undefined ? suspend({}) : receipt;
      },
      { retries: 1 },
    );
    const { resume } = await start(flow().then(pay).commit());
    expect(await resume({ resumeData: 1 })).toMatchObject({ result: { id: 1, at: new Date(5) } });
    expect(charges).toEqual(["charged"]);
  });

  it("shares state: merged by key, removed by undefined, kept over a suspension, passed into nested workflows", async () => {
    const inner = createWorkflow({ id: "inner", inputSchema: any, outputSchema: any })
      .then(step("n", async ({ state, setState }) => setState({ nested: state.left })))
      .commit();
    const workflow = flow()
      .parallel([
        step("l", async ({ setState }) => setState({ left: 1 })),
        step("r", async ({ setState }) => setState({ right: 2, gone: undefined })),
      ])
      .then(suspending("gate"))
      .then(inner)
      .then(step("z", ({ state }) => state))
      .commit();
    const { resume } = await start(workflow, "", { initialState: { gone: true, kept: true } });
    expect(await resume({ resumeData: 1, outputOptions: { includeState: true } })).toMatchObject({
      result: { left: 1, right: 2, kept: true, nested: 1 },
      state: { left: 1, right: 2, kept: true, nested: 1 },
    });
  });

  it("ends early with bail(), and the step shows its result", async () => {
    const workflow = flow()
      .then(step("a", ({ bail }) => bail("early")))
      .then(step("z"))
      .commit();
    expect((await start(workflow)).result).toMatchObject({
      status: "success",
      result: "early",
      steps: { a: { status: "success", output: "early" } },
    });
  });

  it("is cancelled while it runs, sleeps or waits: nothing more starts", async () => {
    const started: string[] = [];
    let aborted = false;
    const slow = step("slow", ({ abortSignal }) => {
      abortSignal.addEventListener("abort", () => (aborted = true));
      return new Promise(() => {});
    });
    const next = step("next", () => started.push("next"));
    for (const before of [slow, suspending("gate"), undefined]) {
      const workflow = (before ? flow().then(before) : flow().sleep(60_000)).then(next).commit();
      const { system } = host(workflow);
      const run = await workflow.createRun();
      const result = run.start({ inputData: 1 });
      await system.advance(100);
      expect(await run.cancel()).toEqual({ message: "Workflow run canceled" });
      await system.advance(100);
      if (before !== undefined && before.id === "gate") await system.until(result);
      else expect(await system.until(result)).toMatchObject({ status: "canceled" });
      expect(await workflow.getWorkflowRunById(run.runId)).toMatchObject({ status: "canceled" });
      await system.advance(120_000);
    }
    expect([started, aborted]).toEqual([[], true]);
  });

  it.each(["stored", "in memory"])(
    "is cancelled before its start, which then finds it over: %s",
    async (where) => {
      const began: string[] = [];
      const workflow = createWorkflow({
        id: "w",
        inputSchema: any,
        outputSchema: any,
        options: { onStart: () => void began.push("onStart") },
      })
        .then(step("a", () => began.push("a")))
        .commit();
      if (where === "stored") host(workflow);
      const run = await workflow.createRun({ runId: "r" });
      expect(await run.cancel()).toEqual({ message: "Workflow run canceled" });
      expect(await run.cancel()).toEqual({ message: "Workflow run canceled" });
      expect(await run.start({ inputData: 1 })).toMatchObject({ status: "canceled", steps: {} });
      const again = await workflow.createRun({ runId: "r" });
      expect(again.workflowRunStatus).toBe("canceled");
      const output = again.stream({ inputData: 1 });
      const types: string[] = [];
      for await (const { type } of output.fullStream) types.push(type);
      expect(types).toEqual(["workflow-canceled", "workflow-finish"]);
      expect(await output.result).toMatchObject({ status: "canceled" });
      expect(await workflow.getWorkflowRunById("r")).toMatchObject({ status: "canceled" });
      await expect(again.timeTravel({ step: "a", inputData: 1 })).rejects.toMatchObject({ code: "conflict" });
      expect(began).toEqual([]);
    },
  );

  it("can be cancelled from inside", async () => {
    const workflow = flow()
      .then(step("a", ({ abort }) => abort()))
      .then(step("z"))
      .commit();
    expect((await start(workflow)).result).toMatchObject({ status: "canceled" });
  });

  it("executes one step at a time with perStep", async () => {
    const { result, resume } = await start(
      flow().then(step("a")).then(step("b")).then(step("c")).commit(),
      ">",
      {
        perStep: true,
      },
    );
    expect(result).toMatchObject({ status: "paused", steps: { a: { output: ">a" } } });
    expect(await resume({ perStep: true })).toMatchObject({
      status: "paused",
      steps: { b: { output: ">ab" } },
    });
    expect(await resume({})).toMatchObject({ status: "success", result: ">abc" });
  });

  it("travels back to a step, with stored or given results of those before it", async () => {
    const executed: string[] = [];
    const logged = (id: string) =>
      step(id, ({ inputData }) => {
        executed.push(id);
        return `${inputData}${id}`;
      });
    const workflow = flow()
      .then(logged("a"))
      .parallel([logged("b"), logged("c")])
      .then(step("d", ({ inputData }) => inputData))
      .commit();
    const { run, system } = await start(workflow, ">");
    executed.length = 0;
    expect(await system.until(run.timeTravel({ step: "b", inputData: "new" }))).toMatchObject({
      result: { b: "newb", c: ">ac" },
    });
    expect(executed).toEqual(["b"]);
    await expect(run.timeTravel({ step: "nowhere" })).rejects.toMatchObject({ code: "not-found" });
    const fresh = await workflow.createRun();
    await expect(fresh.timeTravel({ step: "b", context: {} })).rejects.toMatchObject({
      message: expect.stringContaining('Step "a" comes before'),
    });
    const given = fresh.timeTravel({ step: "b", context: { a: { output: "given" } } });
    expect(await system.until(given)).toMatchObject({ result: { b: "givenb", c: "givenc" } });
  });

  it("begins in the middle of a run that was never started, given an input", async () => {
    const workflow = flow()
      .then(step("a", () => "never"))
      .map(async () => ["never"])
      .foreach(step("each", () => "never"))
      .parallel([
        step("b", ({ inputData }) => `${inputData}b`),
        step("c", ({ inputData }) => `${inputData}c`),
      ])
      .then(step("d", ({ inputData, getStepResult }) => ({ ...inputData, a: getStepResult("a") })))
      .commit();
    const { system } = await start(
      flow()
        .then(step("x", () => 1))
        .commit(),
      ">",
    );
    const run = await workflow.createRun();
    const result = await system.until(run.timeTravel({ step: "b", inputData: "new" }));
    expect(result).toMatchObject({
      result: { b: "newb", c: "newc", a: null },
      steps: { a: { status: "skipped" }, b: { payload: "new" } },
    });
  });

  it("begins inside a nested workflow of a run that was never started, given an input", async () => {
    const n = z.object({ n: z.number() });
    const add = (id: string) =>
      createStep({
        id,
        inputSchema: n,
        outputSchema: n,
        execute: async ({ inputData, getInitData }) => ({
          n: inputData.n + (getInitData<{ n: number }>()?.n ?? 100),
        }),
      });
    const inner = createWorkflow({ id: "inner", inputSchema: n, outputSchema: n })
      .then(add("a"))
      .then(add("b"))
      .commit();
    const workflow = createWorkflow({ id: "w", inputSchema: n, outputSchema: n })
      .then(add("first"))
      .then(inner)
      .then(
        createStep({
          id: "last",
          inputSchema: n,
          outputSchema: n,
          execute: async ({ inputData }) => inputData,
        }),
      )
      .commit();
    const { system } = await start(workflow, { n: 1 });
    const travel = async (step: string) =>
      system.until((await workflow.createRun()).timeTravel({ step, inputData: { n: 1 } }));
    expect(await travel("inner.a")).toMatchObject({
      status: "success",
      result: { n: 3 },
      steps: { first: { status: "skipped" }, inner: { payload: { n: 1 } } },
    });
    // What the workflow got is not known.
    expect(await travel("inner.b")).toMatchObject({ status: "success", result: { n: 101 } });
  });

  it("remembers that a step ended the workflow while another one runs", async () => {
    const gate = Promise.withResolvers<void>();
    const executed: string[] = [];
    const workflow = flow()
      .parallel([
        step("ends", ({ bail }) => bail("over") as never),
        step("slow", async () => {
          await gate.promise;
          return 1;
        }),
      ])
      .then(step("later", () => executed.push("later")))
      .commit();
    const { system } = await start(
      flow()
        .then(step("x", () => 1))
        .commit(),
      ">",
    );
    const run = await workflow.createRun();
    const events: string[] = [];
    run.watch(({ type }) => void events.push(type));
    const ends = run.start({ inputData: 1 });
    gate.resolve();
    expect(await system.until(ends)).toMatchObject({ status: "success", result: "over" });
    expect(executed).toEqual([]);
    expect(events.at(-1)).toBe("workflow-finish");
  });

  it("calls back at the start and at the end", async () => {
    const calls: unknown[] = [];
    const hooks: WorkflowOptions = {
      onStart: ({ runId, getInitData }) => void calls.push(["start", runId, getInitData()]),
      onFinish: ({ status, result }) => void calls.push(["finish", status, result]),
      onError: ({ status, error }) => {
        calls.push(["error", status, (error as Error).message]);
        throw new Error("logged");
      },
    };
    const { run } = await start(flow(hooks).then(step("a")).commit(), ">");
    const failing = step("a", () => Promise.reject(new Error("no")));
    await start(flow(hooks).then(failing).commit(), ">");
    expect(calls).toEqual([
      ["start", run.runId, ">"],
      ["finish", "success", ">a"],
      ["start", expect.any(String), ">"],
      ["finish", "failed", undefined],
      ["error", "failed", "no"],
    ]);
  });

  it("does not begin if onStart throws", async () => {
    const onStart = (): never => {
      throw new Error("closed today");
    };
    const workflow = flow({ onStart }).then(step("a")).commit();
    host(workflow);
    const run = await workflow.createRun();
    await expect(run.start({ inputData: 1 })).rejects.toThrow("closed today");
    expect(await workflow.getWorkflowRunById(run.runId)).toBeNull();
  });

  it("streams numbered events, from the first, also after the run", async () => {
    const writing = step("a", async ({ writer, inputData }) => {
      await writer.write({ half: true });
      await writer.custom({ type: "data-note", data: 1 });
      return inputData;
    });
    const workflow = flow().then(writing).foreach(step("i")).commit();
    const { system } = host(workflow);
    const run = await workflow.createRun();
    const output = run.stream({ inputData: [1] });
    const types: string[] = [];
    const reading = (async () => {
      for await (const chunk of output.fullStream) types.push(chunk.type);
    })();
    await system.until(reading);
    expect(types).toEqual([
      "workflow-start",
      "workflow-step-start",
      "workflow-step-output",
      "data-note",
      "workflow-step-result",
      "workflow-step-finish",
      "workflow-step-start",
      "workflow-step-result",
      "workflow-step-finish",
      "workflow-step-progress",
      "workflow-finish",
    ]);
    expect(await output.result).toMatchObject({ status: "success" });
    const later: unknown[] = [];
    const observing = (async () => {
      for await (const chunk of run.observeStream({ offset: 9 })) later.push(chunk);
    })();
    await system.until(observing);
    expect(later).toMatchObject([
      {
        seq: 10,
        type: "workflow-step-progress",
        payload: { id: "i", completedCount: 1, iterationOutput: "1i" },
      },
      {
        seq: 11,
        type: "workflow-finish",
        payload: { workflowStatus: "success", finalWorkflowResult: ["1i"] },
      },
    ]);
  });

  it("keeps values that JSON does not have, and names what cannot be kept", async () => {
    const value = {
      at: new Date(5),
      map: new Map([["k", new Set([1n])]]),
      none: undefined,
      url: new URL("http://a/"),
    };
    const workflow = flow()
      .then(step("a", () => value))
      .then(suspending("gate"))
      .then(step("z", ({ getStepResult }) => getStepResult("a")))
      .commit();
    const { resume } = await start(workflow);
    expect(await resume({ resumeData: null })).toMatchObject({ status: "success", result: value });
    const bad = flow()
      .then(step("a", () => ({ list: [() => 1] })))
      .commit();
    expect((await start(bad)).result).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("output.list[0] cannot be stored: it is a function") },
    });
  });

  it("runs tools as steps, also those that suspend, by their name in the host", async () => {
    const tool = createTool({
      id: "add",
      description: "",
      inputSchema: z.object({ n: z.number() }),
      execute: async ({ context }, { suspend, resumeData }) => {
        if (resumeData === undefined) return suspend({ n: context.n });
        return { n: context.n + resumeData };
      },
    });
    const workflow = flow().tool("adder", undefined, { id: "first" }).then(tool).commit();
    const system = virtualSystem();
    const storage = where === "in memory" ? {} : { storage: new InMemoryStorage({ system }) };
    void new Mastra({
      ...storage,
      system,
      logger: silentLogger,
      workflows: { workflow },
      tools: { adder: tool },
    });
    const run = await workflow.createRun();
    expect(await system.until(run.start({ inputData: { n: 1 } }))).toMatchObject({
      suspendPayload: { first: { n: 1 } },
    });
    await system.until(run.resume({ resumeData: 10 }));
    expect(await system.until(run.resume({ step: "add", resumeData: 100 }))).toMatchObject({
      result: { n: 111 },
    });
  });

  it("has an id of its own for each execution, the same when it is executed again", async () => {
    const keys: string[] = [];
    const item = step("i", ({ idempotencyKey, resumeData, suspend }) => {
      keys.push(idempotencyKey);
      return resumeData ?? suspend({});
    });
    const { resume } = await start(flow().foreach(item).commit(), [1, 2]);
    await resume({ resumeData: 1 });
    expect(new Set(keys).size).toBe(2);
    expect(keys).toHaveLength(4);
  });

  it("lists, shows and deletes its runs", async () => {
    const { system, mastra, run } = await start(flow().then(step("a")).commit(), ">");
    const workflow = mastra.getWorkflow("w");
    await system.until((await workflow.createRun()).start({ inputData: "x" }));
    expect(await workflow.listWorkflowRuns({ perPage: 1 })).toMatchObject({
      total: 2,
      runs: [{ workflowName: "w" }],
    });
    const state = await workflow.getWorkflowRunById(run.runId, { fields: ["result", "steps"] });
    expect(state).toMatchObject({ status: "success", result: ">a", steps: { a: { output: ">a" } } });
    expect(state).not.toHaveProperty("payload");
    await workflow.deleteWorkflowRunById(run.runId);
    expect(await workflow.getWorkflowRunById(run.runId)).toBeNull();
  });
});

describe("a workflow that cannot be run", () => {
  it.each([
    ["an empty one", () => flow().commit(), "has no steps"],
    ["two steps with one id", () => flow().then(step("a")).then(step("a")), 'two steps with the id "a"'],
    ["a concurrency below 1", () => flow().foreach(step("a"), { concurrency: 0 }), "1 or more, got 0"],
    [
      "something that is no step",
      () => flow().then({ id: "x" } as never),
      "needs steps made by createStep()",
    ],
    ["steps after commit()", () => flow().then(step("a")).commit().then(step("b")), "is committed"],
    ["an empty block", () => flow().parallel([]), "needs at least one step"],
    ["a negative sleep", () => flow().sleep(-1), "got -1"],
  ])("says why: %s", (_, build, message) => {
    expect(build).toThrow(message);
  });

  it("says that it is not committed", async () => {
    await expect(flow().then(step("a")).createRun()).rejects.toThrow("is not committed");
  });
});

describe("values that are traps", () => {
  const any = { inputSchema: z.any(), outputSchema: z.any() };

  it.each(["__proto__", "constructor"])("%s is a step id and a label like any other", async (id) => {
    const ask = createStep({
      id,
      ...any,
      execute: async ({ resumeData, suspend }) =>
        (resumeData as unknown) ?? suspend({ ask: id }, { resumeLabel: id }),
    });
    const inner = createWorkflow({ id, ...any })
      .then(ask)
      .commit();
    const run = await createWorkflow({ id: "outer", ...any })
      .then(inner)
      .commit()
      .createRun();
    const waits = await run.start({ inputData: 1, outputOptions: { includeResumeLabels: true } });
    expect(Object.keys(waits.steps)).toEqual([`${id}.${id}`, id]);
    expect(Object.entries(waits.steps).at(-1)![1].status).toBe("suspended");
    expect(Object.keys(waits.resumeLabels!)).toEqual([id]);
    expect(await run.resume({ label: id, resumeData: 2 })).toMatchObject({ status: "success", result: 2 });
  });

  it("fails a run that would sleep beyond all times, and does not repeat it", async () => {
    const workflow = createWorkflow({ id: "long", ...any })
      .sleep(1e300)
      .commit();
    const result = await (await workflow.createRun()).start({ inputData: 1 });
    expect(result).toMatchObject({ status: "failed", error: { message: expect.stringContaining("1e+300") } });
  });
});
