import { createWorkflow, type Workflow } from "@selvedge/core/workflows";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { any, asking, flow, PLACES, rig, start, step } from "./__fixtures__/rig.ts";

type Any = Workflow<any, any, any, any, any>;

describe.each(PLACES)("a request that is refused leaves the run as it was, %s:", (place) => {
  /** What of a run a reader or another process could see. */
  const seen = async (workflow: Any, runId: string) => [
    await workflow.getWorkflowRunById(runId, {
      fields: ["steps", "suspendedPaths", "resumeLabels", "result", "error", "payload", "requestContext"],
    }),
    (await workflow.listWorkflowRuns()).total,
  ];
  const refused = async (
    { workflow, run, system }: Awaited<ReturnType<typeof start>>,
    call: () => Promise<unknown>,
    error: object,
  ): Promise<void> => {
    const before = await seen(workflow, run.runId);
    await expect(system.until(call())).rejects.toMatchObject(error);
    await system.advance(1_000);
    expect(await seen(workflow, run.runId)).toEqual(before);
  };
  const text = (part: string) => expect.stringContaining(part) as string;
  const two = () =>
    start(
      place,
      flow()
        .parallel([asking("a"), asking("b"), step("c")])
        .commit(),
    );
  const one = (more: object = {}) => start(place, flow().then(asking("gate", more)).commit());

  it.each([
    ["input", { inputData: { n: "x" } }, /^Invalid input data: n: /],
    ["no input", {}, /^Invalid input data: /],
    ["initial state", { inputData: { n: 1 }, initialState: { s: 1 } }, /^Invalid initial state: s: /],
    [
      "a state that is a list",
      { inputData: { n: 1 }, initialState: [] },
      /initialState must be an object, got \[\]/,
    ],
    ["input that cannot be stored", { inputData: { n: 1, f: () => 1 } }, /inputData.f cannot be stored/],
    [
      "a request context that is plain data",
      { inputData: { n: 1 }, requestContext: { user: "Ada" } },
      /requestContext of start\(\) must be a RequestContext, got {"user":"Ada"}/,
    ],
    [
      "a writer that is not a function",
      { inputData: { n: 1 }, outputWriter: "x" },
      /outputWriter must be a function, got "x"/,
    ],
    ["output options that are not", { inputData: { n: 1 }, outputOptions: true }, /outputOptions must be/],
  ])("start with %s that does not fit", async (_, options, message) => {
    const workflow = flow({
      inputSchema: z.looseObject({ n: z.number() }),
      stateSchema: z.object({ s: z.string() }),
    })
      .then(step("a"))
      .commit();
    rig(place, [workflow]);
    const run = await workflow.createRun();
    await expect(run.start(options as never)).rejects.toMatchObject({
      code: "invalid-argument",
      message: expect.stringMatching(message),
    });
    expect(await workflow.getWorkflowRunById(run.runId)).toBeNull();
    expect((await workflow.listWorkflowRuns()).total).toBe(0);
    expect(run.workflowRunStatus).toBe("pending");
  });

  it("start without the input that a JSON Schema requires", async () => {
    const workflow = flow({ inputSchema: { type: "object", required: ["n"] } })
      .then(step("a"))
      .commit();
    rig(place, [workflow]);
    await expect((await workflow.createRun()).start()).rejects.toMatchObject({
      code: "invalid-argument",
      message: "Invalid input data: value: Required, but nothing was given",
    });
  });

  it("resume of nothing: unknown, finished, paused with data, running", async () => {
    const workflow = flow().then(step("a")).commit();
    rig(place, [workflow]);
    const unknown = await workflow.createRun({ runId: "unknown" });
    for (const call of [
      () => unknown.resume({ resumeData: 1 }),
      () => unknown.restart(),
      () => unknown.timeTravel({ step: "a" }),
    ])
      await expect(call()).rejects.toMatchObject({ code: "not-found", message: text('"unknown"') });
    const over = await start(place, flow().then(step("a")).commit());
    const notSuspended = { code: "conflict", message: text("This workflow run was not suspended") };
    await refused(over, () => over.run.resume({ resumeData: 1 }), notSuspended);
    const paused = await start(place, flow().then(step("a")).then(step("b")).commit(), 1, { perStep: true });
    await refused(paused, () => paused.run.resume({ resumeData: 1 }), notSuspended);
  });

  it("resume when several wait and none is named: it lists them", async () => {
    const given = await two();
    await refused(given, () => given.run.resume({ resumeData: 1 }), {
      code: "ambiguous",
      message: text("a, b"),
      details: { suspended: ["a", "b"] },
    });
  });

  it("resume of a step, label or item that does not wait: it names those that do", async () => {
    const given = await two();
    await refused(given, () => given.run.resume({ step: "c", resumeData: 1 }), {
      code: "conflict",
      message: text('Step "c"'),
      details: { suspended: ["a", "b"] },
    });
    await refused(given, () => given.run.resume({ step: "nowhere", resumeData: 1 }), {
      code: "conflict",
      message: text('"nowhere"'),
    });
    await refused(given, () => given.run.resume({ label: "unknown", resumeData: 1 }), {
      code: "conflict",
      message: text('"unknown"'),
    });
    await refused(given, () => given.run.resume({ step: "a", forEachIndex: 7, resumeData: 1 }), {
      code: "conflict",
      message: text("Item 7"),
    });
    await refused(given, () => given.run.resume({ step: 5, resumeData: 1 } as never), {
      code: "invalid-argument",
      message: text("got 5"),
    });
  });

  it("resume with data that does not fit, or cannot be stored", async () => {
    const given = await one({ resumeSchema: z.looseObject({ ok: z.boolean() }) });
    await refused(given, () => given.run.resume({ resumeData: { ok: "yes" } }), {
      code: "invalid-argument",
      message: text("Invalid resume data: ok: "),
    });
    await refused(given, () => given.run.resume({ resumeData: { ok: true, f: () => 1 } }), {
      code: "invalid-argument",
      message: text("resumeData.f cannot be stored"),
    });
    await refused(given, () => given.run.resume("ok" as never), {
      code: "invalid-argument",
      message: text('"ok"'),
    });
  });

  it("resume with a request context or a writer that is not one", async () => {
    const given = await one();
    for (const [options, part] of [
      [{ requestContext: { user: "Ada" } }, "requestContext of resume()"],
      [{ outputWriter: {} }, "outputWriter must be a function"],
    ] as const)
      await refused(given, () => given.run.resume({ resumeData: 1, ...options } as never), {
        code: "invalid-argument",
        message: text(part),
      });
  });

  it("reading from something that is not the number of an event", async () => {
    const given = await one();
    for (const offset of [-1, 0.5, Number.NaN, "2" as never])
      await refused(given, async () => given.run.observeStream({ offset }), {
        code: "invalid-argument",
        message: text(typeof offset === "number" ? `got ${offset}` : 'got "2"'),
      });
  });

  it("resume twice: one execution, and the other caller learns that it came second", async () => {
    let executed = 0;
    const gate = step("gate", async ({ resumeData, suspend }) => {
      if (resumeData === undefined) return suspend({});
      executed++;
      await Promise.resolve();
      return resumeData as unknown;
    });
    const { run, system, workflow } = await start(place, flow().then(gate).then(asking("next")).commit());
    const other = await workflow.createRun({ runId: run.runId });
    const both = await system.until(
      Promise.allSettled([
        run.resume({ step: "gate", resumeData: 1 }),
        other.resume({ step: "gate", resumeData: 2 }),
      ]),
    );
    const reasons = both.flatMap((one) =>
      one.status === "rejected" ? [one.reason as { code: string; details?: object }] : [],
    );
    expect(reasons).toHaveLength(1);
    expect(["already-decided", "conflict"]).toContain(reasons[0]!.code);
    expect(executed).toBe(1);
    const state = await workflow.getWorkflowRunById(run.runId);
    expect(state).toMatchObject({ status: "suspended", steps: { next: { status: "suspended" } } });
  });

  it("time travel of a running run, to an unknown step, past a step without a result", async () => {
    const workflow = flow().then(asking("gate")).then(step("b")).then(step("c")).commit();
    const given = await start(place, workflow);
    await refused(given, () => given.run.timeTravel({ step: "nowhere" }), {
      code: "not-found",
      message: text('There is no step "nowhere"'),
    });
    await refused(given, () => given.run.timeTravel({ step: "c", inputData: 1 }), {
      code: "conflict",
      message: text('Step "gate" comes before'),
    });
    await refused(given, () => given.run.timeTravel({ step: "gate", initialState: [] as never }), {
      code: "invalid-argument",
    });
    await refused(given, () => given.run.timeTravel({} as never), { code: "invalid-argument" });
    await refused(given, () => given.run.timeTravel(undefined as never), { code: "invalid-argument" });
    const slow = flow()
      .then(step("slow", () => new Promise(() => {})))
      .commit();
    const { system } = rig(place, [slow]);
    const run = await slow.createRun();
    await run.startAsync({ inputData: 1 });
    await system.advance(10);
    await expect(run.timeTravel({ step: "slow" })).rejects.toMatchObject({
      code: "conflict",
      message: text("is running"),
    });
    await run.cancel();
    await system.advance(10);
  });

  it("time travel past a nested step without a result: it says where to pass one", async () => {
    const inner = createWorkflow({ id: "inner", ...any })
      .then(asking("x"))
      .then(step("y"))
      .commit();
    const given = await start(place, flow().then(inner).commit());
    await refused(given, () => given.run.timeTravel({ step: "inner.y" }), {
      code: "conflict",
      message: text(
        'Step "inner.x" comes before the step to travel to and has no result. Pass one in nestedStepsContext: { "inner": { "x": { output } } }.',
      ),
    });
    const context = { nestedStepsContext: { inner: { x: { output: "given" } } } };
    expect(await given.system.until(given.run.timeTravel({ step: "inner.y", ...context }))).toMatchObject({
      status: "success",
      result: "given",
    });
  });

  it("waiting for a run that is deleted meanwhile", async () => {
    const workflow = flow().sleep(60_000).commit();
    const { system } = rig(place, [workflow]);
    const run = await workflow.createRun();
    const result = run.start({ inputData: 1 });
    const refusal = expect(result).rejects.toMatchObject({ code: "not-found", message: text(run.runId) });
    await system.advance(10);
    await workflow.deleteWorkflowRunById(run.runId);
    await refusal;
  });

  it("time travel with a context that is not one", async () => {
    const given = await start(place, flow().then(step("a")).then(step("b")).commit());
    for (const context of [5, { a: 5 }, { a: null }, []])
      await refused(given, () => given.run.timeTravel({ step: "b", context: context as never }), {
        code: "invalid-argument",
        message: text("context"),
      });
    const each = await start(place, flow().foreach(step("i")).then(step("b")).commit(), [1]);
    await refused(each, () => each.run.timeTravel({ step: "b", context: { i: { output: 5 } } }), {
      code: "invalid-argument",
      message: text("got 5"),
    });
  });

  it("a condition that throws fails the run and names the place", async () => {
    const boom = (): never => {
      throw new Error("boom");
    };
    const flows: [Any, string][] = [
      [
        flow()
          .branch([
            [async () => false, step("a")],
            [boom, step("b")],
          ])
          .commit(),
        'The condition of branch "b" failed: boom',
      ],
      [flow().dountil(step("l"), boom).commit(), 'The dountil condition of step "l" failed: boom'],
      [flow().dowhile(step("l"), boom).commit(), 'The dowhile condition of step "l" failed: boom'],
      [
        flow().foreach(step("i"), { concurrency: boom }).commit(),
        'The concurrency of foreach over step "i" failed: boom',
      ],
      [flow().sleep(boom).commit(), 'Sleep "sleep_input" failed: boom'],
    ];
    for (const [workflow, message] of flows)
      expect((await start(place, workflow, [1])).result).toMatchObject({
        status: "failed",
        error: { message },
      });
  });

  it("foreach over something that is not an array fails the run and shows the value", async () => {
    expect((await start(place, flow().foreach(step("i")).commit(), { n: 1 })).result).toMatchObject({
      status: "failed",
      error: { code: "invalid-argument", message: text('needs an array, got {"n":1}') },
    });
  });

  it("an endless loop stops at 10,000 iterations, or at the given limit, and says so", async () => {
    const count = step("n", ({ inputData }) => (inputData as number) + 1);
    const endless = flow({ options: { maxIterations: 50 } }).dowhile(count, async () => true);
    const { result } = await start(place, endless.commit(), 0);
    expect(result).toMatchObject({
      status: "failed",
      error: { code: "limit-exceeded", message: text("50 times") },
    });
    expect(result.steps["n"]).toMatchObject({ output: 50 });
  });

  it("a run of another workflow is not found", async () => {
    const { run, system } = await start(place, flow().then(asking("gate")).commit());
    const other = createWorkflow({ id: "other", ...any })
      .then(asking("gate"))
      .commit();
    other.useHost((await start(place, flow().then(step("a")).commit())).mastra as never);
    const same = await other.createRun({ runId: run.runId });
    await expect(same.resume({ resumeData: 1 })).rejects.toMatchObject({ code: "not-found" });
    expect(await other.getWorkflowRunById(run.runId)).toBeNull();
    expect(await system.until(run.resume({ resumeData: 1 }))).toMatchObject({ status: "success" });
  });
});
