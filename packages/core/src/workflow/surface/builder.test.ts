import { Agent } from "@selvedge/core/agent";
import { RequestContext } from "@selvedge/core/request-context";
import { createTool } from "@selvedge/core/tools";
import { cloneStep, cloneWorkflow, createWorkflow, mapVariable } from "@selvedge/core/workflows";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { any, asking, flow, PLACES, rig, start, step } from "./__fixtures__/rig.ts";

const inner = (id = "inner") =>
  createWorkflow({ id, ...any })
    .then(step("x", ({ inputData }) => `${String(inputData)}x`))
    .commit();
const double = createTool({
  id: "double",
  description: "Doubles",
  inputSchema: z.object({ n: z.number() }),
  outputSchema: z.object({ n: z.number() }),
  execute: async ({ context }) => ({ n: context.n * 2 }),
});
const agent = () =>
  new Agent({ id: "poet", name: "Poet", instructions: "Rhyme.", model: scriptedModel([{ text: "roses" }]) });

describe.each(PLACES)("the builder, %s:", (place) => {
  it("then: steps, tools, agents and workflows", async () => {
    const workflow = flow()
      .then(double)
      .map(async ({ inputData }) => ({ prompt: `Say ${inputData.n}` }))
      .then(agent())
      .then(inner())
      .commit();
    const { result } = await start(place, workflow, { n: 2 });
    expect(result).toMatchObject({
      status: "success",
      steps: {
        double: { output: { n: 4 } },
        poet: { payload: { prompt: "Say 4" }, output: { text: "roses" } },
      },
    });
    expect(workflow.serializedStepGraph.map((entry) => "step" in entry && entry.step.component)).toEqual([
      "TOOL",
      "MAP",
      "AGENT",
      "WORKFLOW",
    ]);
  });

  it("agent and tool: by id in the host, under another id, and with retries", async () => {
    let calls = 0;
    const flaky = createTool({
      id: "flaky",
      description: "",
      inputSchema: z.any(),
      execute: async () => {
        if (++calls === 1) throw new Error("not yet");
        return { prompt: "Go" };
      },
    });
    const workflow = flow()
      .tool("named", { retries: 1 }, { id: "first" })
      .agent("poet", {}, { id: "second" })
      .commit();
    const { result } = await start(
      place,
      workflow,
      {},
      {},
      { host: { agents: { a: agent() }, tools: { named: flaky } } },
    );
    expect(result).toMatchObject({
      result: { text: "roses" },
      steps: { first: { attempt: 2 }, second: { output: { text: "roses" } } },
    });
  });

  it("agent and tool: an id that the host does not have fails the run and names it", async () => {
    expect((await start(place, flow().agent("nobody").commit(), { prompt: "" })).result).toMatchObject({
      status: "failed",
      error: { code: "not-found", message: expect.stringContaining("nobody") },
    });
    expect((await start(place, flow().tool("nothing").commit(), {})).result).toMatchObject({
      status: "failed",
      error: { code: "not-found", message: expect.stringContaining("nothing") },
    });
  });

  it("parallel: one failure fails the block when the others are done, and the next step does not run", async () => {
    const ran: string[] = [];
    const workflow = flow()
      .parallel([
        step("bad", () => Promise.reject(new Error("broken"))),
        step("good", async () => {
          await Promise.resolve();
          ran.push("good");
        }),
      ])
      .then(step("after", () => ran.push("after")))
      .commit();
    const { result } = await start(place, workflow);
    expect(result).toMatchObject({
      status: "failed",
      error: { message: "broken" },
      steps: { bad: { status: "failed" }, good: { status: "success" } },
    });
    expect(ran).toEqual(["good"]);
  });

  it("parallel, branch, loops and foreach take workflows and tools", async () => {
    const workflow = flow()
      .parallel([inner("p1"), inner("p2")])
      .map(async ({ inputData }) => inputData.p1 as string)
      .branch([[async () => true, inner("b1")]])
      .map(async ({ inputData }) => inputData.b1 as string)
      .dountil(inner("l1"), async ({ inputData }) => String(inputData).length > 6)
      .map(async ({ inputData }) => [{ n: String(inputData).length }, { n: 1 }])
      .foreach(double)
      .commit();
    expect((await start(place, workflow, "in")).result).toMatchObject({ result: [{ n: 14 }, { n: 2 }] });
  });

  it("branch: conditions are evaluated once, also over a suspension", async () => {
    let asked = 0;
    const workflow = flow()
      .branch([[async () => ++asked === 1, asking("gate")]])
      .commit();
    const { run, system } = await start(place, workflow);
    expect(await system.until(run.resume({ resumeData: "ok" }))).toMatchObject({ result: { gate: "ok" } });
    expect(asked).toBe(1);
  });

  it("foreach: concurrency from a function, which gets the items and the input of the workflow", async () => {
    let seen: unknown;
    let most = 0;
    let running = 0;
    const item = step("i", async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
    });
    const concurrency = (args: { inputData: readonly unknown[]; getInitData(): unknown }) => {
      seen = [args.inputData, args.getInitData()];
      return 3;
    };
    const workflow = flow()
      .map(async () => [1, 2, 3, 4, 5])
      .foreach(item, { concurrency })
      .commit();
    await start(place, workflow, "in");
    expect([seen, most]).toEqual([[[1, 2, 3, 4, 5], "in"], 3]);
  });

  it("foreach: one item at a time by default", async () => {
    let most = 0;
    let running = 0;
    const item = step("i", async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
    });
    await start(place, flow().foreach(item).commit(), [1, 2, 3]);
    expect(most).toBe(1);
  });

  it("map: of several steps the first with a result, which is what a branch left", async () => {
    const left = step("left", () => ({ from: "left" }));
    const right = step("right", () => ({ from: "right" }));
    const workflow = flow()
      .branch([
        [async ({ inputData }) => inputData === "l", left],
        [async ({ inputData }) => inputData === "r", right],
      ])
      .map({ who: mapVariable({ step: [left, right], path: "from" }) })
      .commit();
    expect((await start(place, workflow, "r")).result).toMatchObject({ result: { who: "right" } });
  });

  it("map: a path that leads nowhere gives undefined, a mapping that throws fails the run and is named", async () => {
    const a = step("a", () => ({ deep: null }));
    const nowhere = flow()
      .then(a)
      .map({ x: mapVariable({ step: a, path: "deep.er" }), user: { requestContextPath: "user.id" } })
      .commit();
    const requestContext = new RequestContext([["user", "ada"]]);
    expect((await start(place, nowhere, "", { requestContext })).result).toMatchObject({
      status: "success",
      result: { x: undefined, user: undefined },
    });
    const throws = flow()
      .then(a)
      .map(() => {
        throw new Error("no such key");
      })
      .commit();
    expect((await start(place, throws)).result).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("no such key") },
      steps: { mapping_a: { status: "failed" } },
    });
  });

  it("sleep and sleepUntil: the run is waiting, and passes its value on", async () => {
    const workflow = flow().sleep(60_000).sleepUntil(new Date(0)).then(step("a")).commit();
    const { system } = rig(place, [workflow]);
    const run = await workflow.createRun();
    const result = run.start({ inputData: "kept" });
    await system.advance(1_000);
    expect(await workflow.getWorkflowRunById(run.runId)).toMatchObject({
      status: "waiting",
      waitingPaths: { sleep_input: [0] },
    });
    expect(await system.until(result)).toMatchObject({ status: "success", result: "kept" });
  });

  it.each([
    ["sleep", () => flow().sleep((async () => "soon") as never), 'got "soon"'],
    ["sleepUntil", () => flow().sleepUntil((async () => 5) as never), "got 5"],
  ])("%s: a function that returns something else fails the run", async (_, build, message) => {
    expect((await start(place, build().then(step("a")).commit())).result).toMatchObject({
      status: "failed",
      error: { code: "invalid-argument", message: expect.stringContaining(message) },
    });
  });

  it("a clone of a step or a workflow is the same under another id", async () => {
    const a = step("a", ({ inputData }) => `${String(inputData)}!`);
    const workflow = flow()
      .then(a)
      .then(cloneStep(a, { id: "a2" }))
      .then(inner())
      .then(cloneWorkflow(inner(), { id: "again" }))
      .commit();
    expect((await start(place, workflow)).result).toMatchObject({
      result: "in!!xx",
      steps: { a2: { output: "in!!" }, "again.x": { output: "in!!xx" } },
    });
  });

  it("a workflow is a step: its members are those of one, and execute() runs it", async () => {
    const nested = inner();
    const workflow = flow()
      .then(step("a"))
      .parallel([nested, step("b")])
      .commit();
    rig(place, [workflow, nested]);
    expect(Object.keys(workflow.steps)).toEqual(["a", "inner", "b"]);
    expect(workflow.steps["inner"]).toBe(nested);
    expect(workflow.stepGraph).toHaveLength(2);
    expect(await nested.execute({ inputData: "in" })).toBe("inx");
  });
});

describe("what the builder refuses", () => {
  const a = step("a");
  it.each<[string, () => unknown, string]>([
    ["two steps with one id", () => flow().then(a).then(a), 'two steps with the id "a"'],
    ["two members with one id", () => flow().parallel([a, a]), 'two steps with the id "a"'],
    ["a step and a workflow with one id", () => flow().then(inner("a")).then(a), 'two steps with the id "a"'],
    ["a list for branch that has no pairs", () => flow().branch([a] as never), "branch()"],
    ["no list for parallel", () => flow().parallel(a as never), "parallel() needs a list"],
    ["a condition that is a text", () => flow().branch([["yes", a]] as never), '"yes"'],
    ["a loop without a condition", () => flow().dountil(a, undefined as never), "dountil()"],
    ["a concurrency that is a text", () => flow().foreach(a, { concurrency: "2" as never }), 'got "2"'],
    ["a mapping that is a text", () => flow().map("x" as never), 'got "x"'],
    ["a source without a path", () => flow().map({ x: { step: a } as never }), '"x"'],
    ["a source without a step", () => flow().map({ x: { step: undefined, path: "." } as never }), '"x"'],
    ["an unknown source", () => flow().map({ x: { from: 1 } as never }), '"x"'],
    ["a date that is not valid", () => flow().sleepUntil(new Date("x")), "valid Date"],
    ["a sleep that is a text", () => flow().sleep("1s" as never), 'got "1s"'],
    ["nothing as a step", () => flow().then(undefined as never), "got undefined"],
    ["an empty id of an agent", () => flow().agent(""), "id of an agent"],
    [
      "a workflow that is not committed",
      () => flow().then(createWorkflow({ id: "open", ...any }).then(a)),
      '"open" is not committed',
    ],
    ["an empty workflow", () => flow().commit(), "has no steps"],
  ])("%s", (_, build, message) => {
    expect(build).toThrow(
      expect.objectContaining({ code: "invalid-argument", message: expect.stringContaining(message) }),
    );
  });
});
