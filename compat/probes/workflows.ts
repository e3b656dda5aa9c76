import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { cloneStep, cloneWorkflow, createStep, createWorkflow, mapVariable } from "@mastra/core/workflows";
import { z } from "zod";
import { scripted } from "../model.ts";
import { onPurpose, outcome, type Probes } from "../probe.ts";

const number = z.object({ n: z.number() });

function step(id: string, execute: (params: any) => unknown, more: Record<string, unknown> = {}) {
  return createStep({
    id,
    inputSchema: z.any(),
    outputSchema: z.any(),
    execute: execute as never,
    ...more,
  } as never) as any;
}

function workflow(id: string, more: Record<string, unknown> = {}): any {
  return createWorkflow({ id, inputSchema: z.any(), outputSchema: z.any(), ...more } as never);
}

/** A host with the workflow, which then has a store. */
function hosted(flow: any, more: Record<string, unknown> = {}): any {
  const mastra = new Mastra({
    workflows: { flow },
    storage: new InMemoryStore() as never,
    logger: false,
    ...more,
  } as never);
  return (mastra as any).getWorkflow("flow");
}

async function run(flow: any, inputData: unknown, more: Record<string, unknown> = {}): Promise<any> {
  const one = await flow.createRun();
  return one.start({ inputData, ...more });
}

/** The steps of a result, without the run's input. */
function stepsOf(result: any): string[] {
  return Object.keys(result.steps).filter((key) => key !== "input");
}

/** A result without times. */
function plain(value: any): any {
  return JSON.parse(
    JSON.stringify(value, (key, inner) =>
      [
        "startedAt",
        "endedAt",
        "suspendedAt",
        "resumedAt",
        "runId",
        "stepCallId",
        "traceId",
        "spanId",
        "stack",
      ].includes(key)
        ? undefined
        : inner,
    ) ?? "null",
  );
}

const inc = step("inc", async ({ inputData }) => ({ n: inputData.n + 1 }));
const double = step("double", async ({ inputData }) => ({ n: inputData.n * 2 }));
const boom = step("boom", async () => {
  throw new Error("went wrong");
});

function approval(id = "approve") {
  return step(
    id,
    async ({ inputData, resumeData, suspend }) => {
      if (!resumeData) return suspend({ ask: `n is ${inputData.n}` });
      return { n: inputData.n, ok: resumeData.ok };
    },
    { resumeSchema: z.object({ ok: z.boolean() }), suspendSchema: z.object({ ask: z.string() }) },
  );
}

export const probes: Probes = {
  "the input of the run among its steps": onPurpose(
    "Only as `result.input`, so that a step can be called `input`.",
    async () => "input" in (await run(workflow("w").then(inc).commit(), { n: 1 })).steps,
  ),
  "workflow-step-finish in the stream": onPurpose(
    "As documented, after every step. The reference sends it to `watch` only.",
    async () => {
      const one = await workflow("w").then(inc).commit().createRun();
      const types: string[] = [];
      for await (const chunk of one.stream({ inputData: { n: 1 } }).fullStream) types.push(chunk.type);
      return types.includes("workflow-step-finish");
    },
  ),
  "the error of a failed run is an Error": onPurpose(
    "As documented; the reference returns a plain object.",
    async () => (await run(workflow("w").then(boom).commit(), {})).error instanceof Error,
  ),
  "the steps of a nested workflow are in the result": onPurpose(
    "As documented: `<workflow>.<step>`. The reference has only the nested workflow.",
    async () => {
      const inner = workflow("inner").then(inc).commit();
      return stepsOf(await run(workflow("outer").then(inner).commit(), { n: 1 }));
    },
  ),
  "a step's result has its input": onPurpose(
    "As documented, in every result. The reference leaves it out of results that were not stored.",
    async () => (await run(workflow("w").then(inc).commit(), { n: 1 })).steps.inc.payload,
  ),
  "then passes outputs on": async () => {
    const result = await run(workflow("w").then(inc).then(double).commit(), { n: 1 });
    return {
      status: result.status,
      result: result.result,
      input: result.input,
      steps: stepsOf(result),
      output: result.steps.double.output,
    };
  },
  "a failed step fails the run": async () => {
    const result = await run(workflow("w").then(inc).then(boom).then(double).commit(), { n: 1 });
    return {
      status: result.status,
      error: result.error?.message,
      step: result.steps.boom.status,
      later: result.steps.double,
    };
  },
  "a failed step is retried": async () => {
    const seen: number[] = [];
    const flaky = step(
      "flaky",
      async ({ retryCount }) => {
        seen.push(retryCount);
        if (seen.length < 3) throw new Error("not yet");
        return { n: seen.length };
      },
      { retries: 3 },
    );
    const result = await run(workflow("w").then(flaky).commit(), {});
    return { status: result.status, result: result.result, seen };
  },
  "retryConfig of the workflow counts": async () => {
    let tries = 0;
    const flaky = step("flaky", async () => {
      tries++;
      if (tries < 3) throw new Error("not yet");
      return { tries };
    });
    const result = await run(
      workflow("w", { retryConfig: { attempts: 2, delay: 1 } })
        .then(flaky)
        .commit(),
      {},
    );
    return { status: result.status, tries };
  },
  "parallel returns outputs by step id": async () => {
    const result = await run(workflow("w").parallel([inc, double]).commit(), { n: 3 });
    return { status: result.status, result: result.result };
  },
  "one failure in parallel fails the run": async () => {
    const result = await run(workflow("w").parallel([inc, boom]).then(double).commit(), { n: 3 });
    return { status: result.status, error: result.error?.message, inc: result.steps.inc.status };
  },
  "branch runs every true condition": async () => {
    const flow = workflow("w")
      .branch([
        [async ({ inputData }: any) => inputData.n > 1, inc],
        [async ({ inputData }: any) => inputData.n > 2, double],
        [async ({ inputData }: any) => inputData.n > 100, step("never", async () => ({}))],
      ])
      .commit();
    return [(await run(flow, { n: 3 })).result, (await run(flow, { n: 2 })).result];
  },
  "branch without a true condition returns an empty object": async () => {
    const flow = workflow("w")
      .branch([[async () => false, inc]])
      .commit();
    const result = await run(flow, { n: 3 });
    return { status: result.status, result: result.result };
  },
  "dountil repeats until the condition holds": async () => {
    const counts: number[] = [];
    const flow = workflow("w")
      .dountil(inc, async ({ inputData, iterationCount }: any) => {
        counts.push(iterationCount);
        return inputData.n >= 5;
      })
      .commit();
    const result = await run(flow, { n: 1 });
    return { result: result.result, counts };
  },
  "dowhile repeats while the condition holds": async () => {
    const flow = workflow("w")
      .dowhile(inc, async ({ inputData }: any) => inputData.n < 5)
      .commit();
    return (await run(flow, { n: 1 })).result;
  },
  "foreach keeps the order of its input": async () => {
    const slow = step("slow", async ({ inputData }) => {
      await new Promise((resolve) => setTimeout(resolve, (4 - inputData) * 5));
      return inputData * 10;
    });
    const flow = workflow("w").foreach(slow, { concurrency: 2 }).commit();
    const result = await run(flow, [1, 2, 3]);
    return { status: result.status, result: result.result, output: result.steps.slow.output };
  },
  "foreach runs one at a time by default": async () => {
    let active = 0;
    let most = 0;
    const slow = step("slow", async ({ inputData }) => {
      most = Math.max(most, ++active);
      await new Promise((resolve) => setTimeout(resolve, 2));
      active--;
      return inputData;
    });
    await run(workflow("w").foreach(slow).commit(), [1, 2, 3]);
    return most;
  },
  "map with a function": async () => {
    const flow = workflow("w")
      .then(inc)
      .map(async ({ inputData, getInitData }: any) => ({ before: getInitData().n, after: inputData.n }))
      .commit();
    return (await run(flow, { n: 1 })).result;
  },
  "map with sources": async () => {
    const flow = workflow("w", { inputSchema: number });
    flow
      .then(inc)
      .then(double)
      .map({
        first: mapVariable({ step: inc, path: "n" }),
        whole: mapVariable({ step: double, path: "." }),
        start: mapVariable({ initData: flow, path: "n" }),
        fixed: { value: 42, schema: z.number() },
        computed: { fn: async ({ inputData }: any) => inputData.n + 1, schema: z.number() },
      })
      .commit();
    return (await run(flow, { n: 1 })).result;
  },
  "sleep waits": async () => {
    const flow = workflow("w").then(inc).sleep(5).then(double).commit();
    const result = await run(flow, { n: 1 });
    return { status: result.status, result: result.result };
  },
  "getStepResult and getInitData": async () => {
    const look = step("look", async ({ getStepResult, getInitData }) => ({
      byStep: getStepResult(inc),
      byId: getStepResult("inc"),
      absent: getStepResult("nothing"),
      init: getInitData(),
    }));
    return (await run(workflow("w").then(inc).then(look).commit(), { n: 1 })).result;
  },
  "bail ends the run with success": async () => {
    const stop = step("stop", async ({ bail }) => bail({ n: 99 }));
    const result = await run(workflow("w").then(stop).then(boom).commit(), {});
    return {
      status: result.status,
      result: result.result,
      step: result.steps.stop.status,
      boom: result.steps.boom,
    };
  },
  "state is shared, and setState merges by key": async () => {
    const a = step(
      "a",
      async ({ state, setState }) => {
        await setState({ ...state, seen: ["a"] });
        return {};
      },
      { stateSchema: z.object({ seen: z.array(z.string()), count: z.number() }) },
    );
    const b = step(
      "b",
      async ({ state, setState }) => {
        await setState({ ...state, count: state.count + 1 });
        return { state };
      },
      { stateSchema: z.object({ seen: z.array(z.string()), count: z.number() }) },
    );
    const flow = workflow("w", {
      stateSchema: z.object({ seen: z.array(z.string()), count: z.number() }),
    })
      .then(a)
      .then(b)
      .commit();
    const one = await flow.createRun();
    const result = await one.start({
      inputData: {},
      initialState: { seen: [], count: 1 },
      outputOptions: { includeState: true },
    });
    return { status: result.status, result: result.result, state: result.state };
  },
  "a nested workflow is a step": async () => {
    const inner = workflow("inner").then(inc).then(double).commit();
    const result = await run(workflow("outer").then(inner).then(inc).commit(), { n: 1 });
    return {
      status: result.status,
      result: result.result,
      inner: { status: result.steps.inner.status, output: result.steps.inner.output },
    };
  },
  "a nested failure names the error": async () => {
    const inner = workflow("inner").then(boom).commit();
    const result = await run(workflow("outer").then(inner).commit(), { n: 1 });
    return { status: result.status, error: result.error?.message, inner: result.steps.inner.status };
  },
  "suspend shows where and why": async () => {
    const flow = hosted(workflow("w").then(inc).then(approval()).commit());
    const result = await run(flow, { n: 1 });
    return {
      status: result.status,
      suspended: result.suspended,
      payload: result.suspendPayload,
      step: result.steps.approve.status,
      stepPayload: result.steps.approve.suspendPayload,
    };
  },
  "resume continues with data": async () => {
    const flow = hosted(
      workflow("w")
        .then(inc)
        .then(approval())
        .then(step("last", async ({ inputData }) => inputData))
        .commit(),
    );
    const one = await flow.createRun();
    await one.start({ inputData: { n: 1 } });
    const result = await one.resume({ step: "approve", resumeData: { ok: true } });
    return {
      status: result.status,
      result: result.result,
      resumePayload: result.steps.approve.resumePayload,
    };
  },
  "resume without a step finds the only one": async () => {
    const flow = hosted(workflow("w").then(approval()).commit());
    const one = await flow.createRun();
    await one.start({ inputData: { n: 1 } });
    return (await one.resume({ resumeData: { ok: true } })).result;
  },
  "resume from another run object": async () => {
    const flow = hosted(workflow("w").then(approval()).commit());
    const one = await flow.createRun();
    await one.start({ inputData: { n: 1 } });
    const again = await flow.createRun({ runId: one.runId });
    return (await again.resume({ step: "approve", resumeData: { ok: false } })).result;
  },
  "resume with bad data throws and leaves the run suspended": async () => {
    const flow = hosted(workflow("w").then(approval()).commit());
    const one = await flow.createRun();
    await one.start({ inputData: { n: 1 } });
    const bad = await outcome(() => one.resume({ step: "approve", resumeData: { ok: "maybe" } }));
    const good = await one.resume({ step: "approve", resumeData: { ok: true } });
    return { bad: bad === "throws", status: good.status };
  },
  "resume of a run that is not suspended throws": async () => {
    const flow = hosted(workflow("w").then(inc).commit());
    const one = await flow.createRun();
    await one.start({ inputData: { n: 1 } });
    return outcome(() => one.resume({ resumeData: {} }));
  },
  "several suspended and none named throws": async () => {
    const flow = hosted(
      workflow("w")
        .parallel([approval("a"), approval("b")])
        .commit(),
    );
    const one = await flow.createRun();
    const first = await one.start({ inputData: { n: 1 } });
    const both = await outcome(() => one.resume({ resumeData: { ok: true } }));
    const second = await one.resume({ step: "a", resumeData: { ok: true } });
    const third = await one.resume({ step: "b", resumeData: { ok: false } });
    return {
      first: first.suspended,
      both,
      second: second.status,
      left: second.suspended,
      third: third.status,
      result: third.result,
    };
  },
  "resume by label": async () => {
    const labelled = step("labelled", async ({ resumeData, suspend }) =>
      resumeData ? { got: resumeData } : suspend({}, { resumeLabel: "here" }),
    );
    const flow = hosted(workflow("w").then(labelled).commit());
    const one = await flow.createRun();
    await one.start({ inputData: {} });
    const result = await one.resume({ label: "here", resumeData: { yes: 1 } });
    return { status: result.status, result: result.result };
  },
  "resume of a nested step": async () => {
    let ran = 0;
    const before = step("before", async ({ inputData }) => {
      ran++;
      return inputData;
    });
    const inner = workflow("inner").then(before).then(approval()).commit();
    const flow = hosted(
      workflow("outer")
        .then(inner)
        .then(step("last", async ({ inputData }) => inputData))
        .commit(),
    );
    const one = await flow.createRun();
    const first = await one.start({ inputData: { n: 7 } });
    const second = await one.resume({ step: ["inner", "approve"], resumeData: { ok: true } });
    return { suspended: first.suspended, status: second.status, result: second.result, ran };
  },
  "suspendData is there after a resume": async () => {
    const ask = step("ask", async ({ resumeData, suspendData, suspend }) =>
      resumeData ? { asked: suspendData } : suspend({ ask: "x" }),
    );
    const flow = hosted(workflow("w").then(ask).commit());
    const one = await flow.createRun();
    await one.start({ inputData: {} });
    return (await one.resume({ resumeData: { ok: true } })).result;
  },
  "foreach suspends each item": async () => {
    const each = step("each", async ({ inputData, resumeData, suspend }) =>
      resumeData ? `${inputData}:${resumeData.ok}` : suspend({ item: inputData }),
    );
    const flow = hosted(workflow("w").foreach(each, { concurrency: 3 }).commit());
    const one = await flow.createRun();
    const first = await one.start({ inputData: ["a", "b", "c"] });
    const second = await one.resume({ step: "each", resumeData: { ok: true }, forEachIndex: 1 });
    const third = await one.resume({ step: "each", resumeData: { ok: false } });
    return { first: first.status, second: second.status, third: third.status, result: third.result };
  },
  "input that does not fit throws": async () => {
    const flow = workflow("w", { inputSchema: number }).then(inc).commit();
    const one = await flow.createRun();
    try {
      await one.start({ inputData: { n: "one" } });
      return "started";
    } catch (error) {
      return (error as Error).message.startsWith("Invalid input data");
    }
  },
  "defaults of the input schema are applied": async () => {
    const flow = workflow("w", { inputSchema: z.object({ n: z.number().default(5) }) })
      .then(
        createStep({
          id: "x",
          inputSchema: z.object({ n: z.number() }),
          outputSchema: number,
          execute: async ({ inputData }: any) => inputData,
        }) as any,
      )
      .commit();
    return (await run(flow, {})).result;
  },
  "a step input that does not fit fails the step": async () => {
    const strict = createStep({
      id: "strict",
      inputSchema: z.object({ text: z.string() }),
      outputSchema: z.any(),
      execute: async () => ({}),
    }) as any;
    const result = await run(workflow("w").then(inc).then(strict).commit(), { n: 1 });
    return {
      status: result.status,
      step: result.steps.strict?.status,
    };
  },
  "a workflow that is not committed cannot run": async () =>
    outcome(async () => run(workflow("w").then(inc), { n: 1 })),
  "a workflow without steps cannot run": async () =>
    outcome(async () => run(workflow("w").commit(), { n: 1 })),
  "cancel ends a suspended run": async () => {
    const flow = hosted(workflow("w").then(approval()).commit());
    const one = await flow.createRun();
    await one.start({ inputData: { n: 1 } });
    await one.cancel();
    const stored = await flow.getWorkflowRunById(one.runId);
    return { status: stored.status, resume: await outcome(() => one.resume({ resumeData: { ok: true } })) };
  },
  "cancel aborts the signal and runs nothing more": async () => {
    let aborted = false;
    const started = Promise.withResolvers<void>();
    const long = step("long", async ({ abortSignal }) => {
      started.resolve();
      await new Promise<void>((resolve) => {
        abortSignal.addEventListener("abort", () => {
          aborted = true;
          resolve();
        });
      });
      return {};
    });
    const flow = hosted(workflow("w").then(long).then(inc).commit());
    const one = await flow.createRun();
    const ends = one.start({ inputData: { n: 1 } });
    await started.promise;
    await one.cancel();
    const result = await ends;
    return { status: result.status, aborted, inc: result.steps?.inc };
  },
  "stream events of two steps": async () => {
    const one = await workflow("w").then(inc).then(double).commit().createRun();
    const output = one.stream({ inputData: { n: 1 } });
    const events: unknown[] = [];
    for await (const chunk of output.fullStream)
      if (chunk.type !== "workflow-step-finish")
        events.push([chunk.type, chunk.from, plain(chunk.payload)?.id, plain(chunk.payload)?.status]);
    const result = await output.result;
    return { events, result: result.result, status: output.status };
  },
  "payloads of stream events": async () => {
    const one = await workflow("w").then(inc).commit().createRun();
    const output = one.stream({ inputData: { n: 1 } });
    const events: Record<string, unknown> = {};
    const documented = [
      "id",
      "stepCallId",
      "status",
      "payload",
      "output",
      "workflowId",
      "workflowStatus",
      "metadata",
    ];
    for await (const chunk of output.fullStream)
      if (chunk.type !== "workflow-step-finish")
        events[chunk.type] = documented.filter((key) => key in (chunk.payload ?? {}));
    return events;
  },
  "stream of a suspended run ends": async () => {
    const flow = hosted(workflow("w").then(approval()).commit());
    const one = await flow.createRun();
    const output = one.stream({ inputData: { n: 1 } });
    const types: string[] = [];
    for await (const chunk of output.fullStream) types.push(chunk.type);
    const result = await output.result;
    const resumed = one.resumeStream({ resumeData: { ok: true } });
    const later: string[] = [];
    for await (const chunk of resumed.fullStream)
      if (chunk.type !== "workflow-step-finish") later.push(chunk.type);
    return { types, status: result.status, later, end: (await resumed.result).status };
  },
  "a writer's chunks are step output": async () => {
    const write = step("write", async ({ writer }) => {
      await writer.write({ type: "mine", n: 1 });
      return {};
    });
    const one = await workflow("w").then(write).commit().createRun();
    const seen: unknown[] = [];
    for await (const chunk of one.stream({ inputData: {} }).fullStream)
      if (chunk.type === "workflow-step-output") seen.push([chunk.payload.output, chunk.payload.stepName]);
    return seen;
  },
  "watch reports events": async () => {
    const one = await workflow("w").then(inc).commit().createRun();
    const seen: string[] = [];
    one.watch((event: any) => seen.push(event.type));
    await one.start({ inputData: { n: 1 } });
    return seen.filter((type) => type.startsWith("workflow-step-"));
  },
  "an agent is a step": async () => {
    const model = scripted(["A fine answer"]);
    const agent = new Agent({ id: "writer", name: "Writer", instructions: "x", model: model as any });
    const flow = workflow("w", { inputSchema: z.object({ topic: z.string() }) })
      .map(async ({ inputData }: any) => ({ prompt: `Write about ${inputData.topic}` }))
      .then(createStep(agent) as any)
      .commit();
    const result = await run(flow, { topic: "cloth" });
    return {
      status: result.status,
      result: result.result,
      step: Object.keys(result.steps).includes("writer"),
    };
  },
  "a tool is a step": async () => {
    const tool = createTool({
      id: "add-one",
      description: "Adds one",
      inputSchema: number,
      outputSchema: number,
      execute: async (input: any) => ({ n: input.n + 1 }),
    });
    const result = await run(
      workflow("w")
        .then(createStep(tool as any) as any)
        .commit(),
      { n: 1 },
    );
    return { status: result.status, result: result.result, keys: stepsOf(result) };
  },
  "clones have their own id": async () => {
    const again = cloneStep(inc, { id: "inc-again" }) as any;
    const flow = workflow("w").then(inc).then(again).commit();
    const copy = cloneWorkflow(flow, { id: "copy" }) as any;
    const result = await run(copy, { n: 1 });
    return { id: copy.id, keys: stepsOf(result), result: result.result };
  },
  "a stored run can be read": async () => {
    const flow = hosted(workflow("w").then(inc).commit());
    const one = await flow.createRun({ resourceId: "me" });
    await one.start({ inputData: { n: 1 } });
    const stored = await flow.getWorkflowRunById(one.runId);
    return {
      status: stored.status,
      name: stored.workflowName,
      resource: stored.resourceId,
      result: stored.result,
      payload: stored.payload,
      step: plain(stored.steps?.inc),
      dates: [stored.createdAt instanceof Date, stored.updatedAt instanceof Date],
    };
  },
  "runs are listed and deleted": async () => {
    const flow = hosted(workflow("w").then(inc).commit());
    for (const n of [1, 2]) await run(flow, { n });
    const { runs, total } = await flow.listWorkflowRuns();
    await flow.deleteWorkflowRunById(runs[0].runId);
    const left = await flow.listWorkflowRuns();
    return { total, count: runs.length, left: left.total };
  },
  "an unknown run is null": async () => {
    const flow = hosted(workflow("w").then(inc).commit());
    return (await flow.getWorkflowRunById("nothing")) ?? null;
  },
  "timeTravel runs again from a step": async () => {
    const flow = hosted(
      workflow("w")
        .then(inc)
        .then(double)
        .then(step("last", async ({ inputData }) => inputData))
        .commit(),
    );
    const one = await flow.createRun();
    await one.start({ inputData: { n: 1 } });
    const result = await one.timeTravel({ step: "double", inputData: { n: 10 } });
    return { status: result.status, result: result.result };
  },
  "timeTravel of a run that never started": async () => {
    const flow = hosted(workflow("w").then(inc).then(double).commit());
    const one = await flow.createRun();
    const result = await one.timeTravel({ step: "double", inputData: { n: 10 } });
    return { status: result.status, result: result.result };
  },
  "perStep pauses after one step": async () => {
    const flow = hosted(workflow("w").then(inc).then(double).commit());
    const one = await flow.createRun();
    const result = await one.start({ inputData: { n: 1 }, perStep: true });
    return { status: result.status, steps: stepsOf(result), inc: result.steps.inc?.status };
  },
  "onFinish and onError are called": async () => {
    const seen: unknown[] = [];
    const options = {
      onFinish: (result: any) => void seen.push(["finish", result.status]),
      onError: (info: any) => void seen.push(["error", info.status]),
    };
    await run(workflow("w", { options }).then(inc).commit(), { n: 1 });
    await run(workflow("w", { options }).then(boom).commit(), { n: 1 });
    return seen;
  },
  "the host knows its workflows": async () => {
    const flow = workflow("my-flow").then(inc).commit();
    const mastra = new Mastra({ workflows: { flow }, logger: false } as never) as any;
    return {
      byKey: mastra.getWorkflow("flow").id,
      byId: mastra.getWorkflowById("my-flow").id,
      list: Object.keys(mastra.listWorkflows()),
      unknown: await outcome(() => mastra.getWorkflow("other")),
    };
  },
  "the step graph is serialized": async () => {
    const flow = workflow("w")
      .then(inc)
      .parallel([double, step("c", async () => ({}))])
      .branch([[async () => true, step("d", async () => ({}))]])
      .foreach(
        step("e", async () => ({})),
        { concurrency: 2 },
      )
      .sleep(1)
      .commit();
    return flow.serializedStepGraph.map((entry: any) => entry.type);
  },
  "an agent runs a workflow as a tool": async () => {
    const flow = createWorkflow({
      id: "adder",
      description: "Adds one",
      inputSchema: number,
      outputSchema: number,
    } as never) as any;
    flow.then(inc).commit();
    const model = scripted([{ calls: [{ tool: "workflow-adder", input: { inputData: { n: 4 } } }] }, "Done"]);
    const agent = new Agent({
      id: "a",
      name: "a",
      instructions: "x",
      model: model as any,
      workflows: { adder: flow },
    } as never);
    const answer: any = await agent.generate("go");
    const [one] = answer.toolResults.length > 0 ? answer.toolResults : answer.steps[0].toolResults;
    const payload = one.payload ?? one;
    return { text: answer.text, tool: payload.toolName, result: payload.result?.result };
  },
};
