import { Mastra, silentLogger } from "@selvedge/core";
import { InMemoryStorage } from "@selvedge/core/storage";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import type { WorkflowChunk } from "@selvedge/protocol";
import { type AnyRoute, ROUTE_LIST, type RouteName } from "@selvedge/protocol/routes";
import { virtualSystem } from "@selvedge/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { refundWorkflow } from "./__fixtures__/refund-workflow.ts";
import {
  byHeader,
  type Frame,
  frames,
  type Input,
  readUntil,
  served,
  type Served,
} from "./__fixtures__/served.ts";

const params = { workflowId: "refund" };
const inputData = { order: "o-1" };
const resumeData = { approved: true };

const types = (read: readonly Frame[]) => read.map(({ data }) => (data as WorkflowChunk).type);
const ids = (read: readonly Frame[]) => read.map(({ id }) => Number(id));

function world(options: Parameters<typeof served>[1] = {}): Served {
  return served([], options);
}

async function collect(response: Response): Promise<Frame[]> {
  expect(response.status).toBe(200);
  return Array.fromAsync(frames(response));
}

async function untilStatus({ json }: Served, runId: string, status: string, as?: string): Promise<void> {
  const read = async () => (await json("getWorkflowRun", { params: { ...params, runId } }, as)).status;
  await expect.poll(read).toBe(status);
}

/** A run that waits for an approval. */
async function waiting(app: Served, as?: string): Promise<string> {
  const { runId } = await app.json("startWorkflowRun", { params, body: { inputData } }, as);
  await untilStatus(app, runId, "suspended", as);
  return runId;
}

async function codeOf(response: Response): Promise<[number, unknown]> {
  return [response.status, ((await response.json()) as { code?: unknown }).code];
}

describe("a workflow over HTTP", () => {
  test("is listed with its schemas, steps and graph", async () => {
    const { json } = world();
    const all = await json("listWorkflows");
    expect(Object.keys(all)).toEqual(["refund"]);
    const one = await json("getWorkflow", { params });
    expect(one).toMatchObject({
      id: "refund",
      name: "refund",
      inputSchema: { type: "object", properties: { order: { type: "string" } } },
      steps: {
        approve: { id: "approve", resumeSchema: { properties: { approved: { type: "boolean" } } } },
      },
    });
    expect(Object.keys(one.steps)).toEqual(["find", "approve"]);
    expect(one.stepGraph.map((entry) => (entry.type === "step" ? entry.step.id : entry.type))).toEqual([
      "find",
      "approve",
    ]);
  });

  test("is shown with the process that executes it", async () => {
    const any = { inputSchema: z.any(), outputSchema: z.any() };
    const gate = Promise.withResolvers<void>();
    const busy = createWorkflow({ id: "busy", ...any })
      .then(createStep({ id: "wait", ...any, execute: () => gate.promise }))
      .commit();
    const storage = new InMemoryStorage();
    const mastra = new Mastra({ workflows: { busy }, storage, logger: silentLogger });
    const { createServer } = await import("./server.ts");
    const server = createServer({ mastra });
    const executed = async (): Promise<unknown> => {
      const response = await server.fetch(new Request("http://localhost/api/workers"));
      const { workers } = (await response.json()) as { workers: { workflowRuns: unknown[] }[] };
      return workers.flatMap(({ workflowRuns }) => workflowRuns);
    };
    const run = await busy.createRun({ runId: "r", resourceId: "ann" });
    const result = run.start({ inputData: 1 });
    await expect.poll(executed).toEqual([{ runId: "r", workflowId: "busy", resourceId: "ann" }]);
    gate.resolve();
    await result;
    expect(await executed()).toEqual([]);
  });

  test("runs: a start is stored at once, and what waits is resumed", async () => {
    const app = world();
    const runId = await waiting(app);
    expect(await app.json("listWorkflowRunCounts")).toEqual({ refund: { running: 0, suspended: 1 } });
    const before = await app.json("getWorkflowRun", { params: { ...params, runId } });
    expect(before).toMatchObject({
      runId,
      status: "suspended",
      payload: inputData,
      steps: {
        find: { status: "success" },
        approve: { status: "suspended", suspendPayload: { amount: 40 } },
      },
    });
    const result = await app.json("resumeWorkflowRunAsync", {
      params,
      query: { runId },
      body: { step: "approve", resumeData },
    });
    expect(result).toMatchObject({ status: "success", result: { approved: true } });
    const { runs, total } = await app.json("listWorkflowRuns", { params, query: { status: "success" } });
    expect([total, runs]).toMatchObject([1, [{ runId, status: "success" }]]);
  });

  test("returns its result when it ends or waits", async () => {
    const { json } = world();
    const result = await json("startWorkflowRunAsync", { params, body: { inputData } });
    expect(result).toMatchObject({
      status: "suspended",
      suspended: [["approve"]],
      suspendPayload: { approve: { amount: 40 } },
    });
  });

  test("streams numbered events that continue after a number", async () => {
    const app = world();
    const response = await app.call("streamWorkflowRun", { params, body: { inputData } });
    const runId = response.headers.get("x-run-id") as string;
    const first = await collect(response);
    expect(types(first)).toEqual([
      "workflow-start",
      "workflow-step-start",
      "workflow-step-result",
      "workflow-step-finish",
      "workflow-step-start",
      "workflow-step-suspended",
      "workflow-finish",
    ]);
    expect(ids(first)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    const query = { runId };
    const again = await app.call("observeWorkflowRun", {
      params,
      query,
      body: {},
      headers: { "last-event-id": "4" },
    });
    expect(ids(await collect(again))).toEqual([5, 6, 7]);
    const rest = await app.call("resumeWorkflowRunStream", { params, query, body: { resumeData } });
    const second = await collect(rest);
    expect(ids(second)).toEqual(second.map((_, index) => index + 8));
    expect(second.at(-1)?.data).toMatchObject({ payload: { workflowStatus: "success" } });
    const all = await app.call("observeWorkflowRun", { params, query, body: { after: 0 } });
    expect(ids(await collect(all))).toEqual([...ids(first), ...ids(second)]);
  });

  test("numbers the events for readers that do not ask for an event stream, too", async () => {
    const app = world();
    const response = await app.call("streamWorkflowRun", {
      params,
      body: { inputData },
      headers: { accept: "*/*" },
    });
    const blocks = (await response.text()).split("\n\n").slice(2, -1);
    const data = blocks.filter((block) => block.startsWith("data: "));
    expect(data.map((block) => (JSON.parse(block.slice("data: ".length)) as { seq: number }).seq)).toEqual([
      1, 2, 3, 4, 5, 6, 7,
    ]);
    // Each number is behind its event: a reader of event streams reconnects after the last one that it received in full.
    expect(blocks).toEqual(data.flatMap((block, index) => [block, `id: ${index + 1}`]));
  });

  test("stays on a stream through a suspension, if it is asked to", async () => {
    const app = world();
    const response = await app.call("streamWorkflowRun", {
      params,
      body: { inputData, closeOnSuspend: false },
    });
    const query = { runId: response.headers.get("x-run-id") as string };
    const following = frames(await app.call("observeWorkflowRun", { params, query, body: { follow: true } }));
    const events = frames(response);
    await readUntil(events, "workflow-finish");
    await readUntil(following, "workflow-finish");
    await app.json("resumeWorkflowRun", { params, query, body: { step: "approve", resumeData } });
    const rest = await Array.fromAsync(events);
    expect(rest.at(-1)?.data).toMatchObject({
      type: "workflow-finish",
      payload: { workflowStatus: "success" },
    });
    expect(ids(await readUntil(following, "workflow-finish"))).toEqual(ids(rest));
    await following.return(undefined);
  });

  test("continues without its reader", async () => {
    const app = world();
    const controller = new AbortController();
    const response = await app.call("streamWorkflowRun", {
      params,
      body: { inputData },
      signal: controller.signal,
    });
    controller.abort();
    await untilStatus(app, response.headers.get("x-run-id") as string, "suspended");
    expect(app.server.streamCount).toBe(0);
  });

  test("re-attaches when a resume stream brings nothing", async () => {
    const app = world();
    const runId = await waiting(app);
    const response = await app.call("resumeWorkflowRunStream", { params, query: { runId }, body: {} });
    expect(ids(await collect(response))).toEqual([1, 2, 3, 4, 5, 6, 7]);
    await untilStatus(app, runId, "suspended");
  });

  test("begins in the middle of a run that was never started, for the caller who may", async () => {
    const app = world({ authorize: byHeader });
    const { runId } = await app.json("createWorkflowRun", { params, body: {} }, "ann");
    const request = {
      params,
      query: { runId },
      body: { step: "approve", inputData: { order: "o-2", amount: 5 } },
    };
    expect((await app.call("timeTravelWorkflowRunAsync", request, "ann")).status).toBe(403);
    expect(await app.json("timeTravelWorkflowRunAsync", request, "ann+control")).toMatchObject({
      status: "suspended",
      steps: { find: { status: "skipped" }, approve: { suspendPayload: { amount: 5 } } },
    });
    expect((await app.call("timeTravelWorkflowRunAsync", request, "bob+control")).status).toBe(404);
    const nothing = { params, query: { runId: "r-none" }, body: { step: "approve" } };
    expect((await app.call("timeTravelWorkflowRun", nothing, "ann+control")).status).toBe(404);
  });

  test("is cancelled and deleted", async () => {
    const app = world();
    const runId = await waiting(app);
    const at = { params: { ...params, runId } };
    expect(await app.json("cancelWorkflowRun", { ...at, body: {} })).toEqual({
      message: "Workflow run canceled",
    });
    await untilStatus(app, runId, "canceled");
    const late = await app.call("resumeWorkflowRun", { params, query: { runId }, body: { resumeData } });
    expect(await codeOf(late)).toEqual([409, "conflict"]);
    await app.json("deleteWorkflowRun", at);
    expect((await app.call("getWorkflowRun", at)).status).toBe(404);
  });
});

describe("a request that is repeated", () => {
  const headers = { "idempotency-key": "k-1" };

  test("starts one run, though it names none", async () => {
    const app = world();
    const starts = Array.from({ length: 5 }, () =>
      app.json("startWorkflowRun", { params, body: { inputData }, headers }),
    );
    const runs = new Set((await Promise.all(starts)).map(({ runId }) => runId));
    expect(runs.size).toBe(1);
    expect((await app.json("listWorkflowRuns", { params })).total).toBe(1);
  });

  test("is another caller's own run under the same key", async () => {
    const app = world({ authorize: byHeader });
    const start = async (as: string) =>
      (await app.json("startWorkflowRun", { params, body: { inputData }, headers }, as)).runId;
    const [ann, bob] = [await start("ann"), await start("bob")];
    expect(ann).not.toBe(bob);
    expect(await start("ann")).toBe(ann);
  });

  test("resumes once", async () => {
    const app = world();
    const runId = await waiting(app);
    const resume = (key: string) =>
      app.call("resumeWorkflowRun", {
        params,
        query: { runId },
        body: { step: "approve", resumeData },
        headers: { "idempotency-key": key },
      });
    const mine = await Promise.all([resume("a"), resume("a")]);
    expect(mine.map(({ status }) => status)).toEqual([200, 200]);
    expect((await resume("b")).status).toBe(409);
    await untilStatus(app, runId, "success");
    expect((await resume("a")).status).toBe(200);
  });

  test("is refused with 409 if another caller was first", async () => {
    const app = world();
    const runId = await waiting(app);
    const resume = () =>
      app.call("resumeWorkflowRun", { params, query: { runId }, body: { step: "approve", resumeData } });
    const all = await Promise.all([resume(), resume(), resume()]);
    expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
  });
});

describe("a caller", () => {
  test("sees and counts its own runs only", async () => {
    const app = world({ authorize: byHeader });
    const runId = await waiting(app, "ann");
    await waiting(app, "bob");
    const { runs, total } = await app.json("listWorkflowRuns", { params }, "ann");
    expect([total, runs]).toMatchObject([1, [{ runId, resourceId: "ann" }]]);
    expect(await app.json("listWorkflowRunCounts", {}, "cat")).toEqual({
      refund: { running: 0, suspended: 0 },
    });
  });

  test("gives a sleeping run the request context of a restart", async () => {
    const system = virtualSystem();
    const any = { inputSchema: z.any(), outputSchema: z.any() };
    const nap = createWorkflow({ id: "nap", ...any })
      .sleep(60_000)
      .then(
        createStep({ id: "a", ...any, execute: async ({ requestContext }) => requestContext.get("tier") }),
      )
      .commit();
    const storage = new InMemoryStorage({ system });
    const mastra = new Mastra({ workflows: { nap }, storage, system, logger: silentLogger });
    const run = await nap.createRun({ runId: "r" });
    await run.startAsync({ inputData: 1 });
    await system.advance(100);
    const { createServer } = await import("./server.ts");
    const request = new Request("http://localhost/api/workflows/nap/restart?runId=r", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ requestContext: { tier: "gold" } }),
    });
    expect((await createServer({ mastra }).fetch(request)).status).toBe(200);
    await system.advance(120_000);
    expect(await nap.getWorkflowRunById("r")).toMatchObject({ status: "success", result: "gold" });
  });

  test("does not see a run without an owner, which a server without an authoriser shows", async () => {
    const refund = refundWorkflow();
    const mastra = new Mastra({
      workflows: { refund },
      storage: new InMemoryStorage(),
      logger: silentLogger,
    });
    const run = await mastra.getWorkflow("refund").createRun({ runId: "nobody's" });
    await run.start({ inputData });
    const { createServer } = await import("./server.ts");
    const read = (server: { fetch(request: Request): Promise<Response> }) =>
      server.fetch(
        new Request("http://localhost/api/workflows/refund/runs/nobody's", { headers: { "x-user": "ann" } }),
      );
    expect((await read(createServer({ mastra, authorize: byHeader }))).status).toBe(404);
    expect((await read(createServer({ mastra }))).status).toBe(200);
  });

  test("needs grants for what changes how steps are executed, or shows internals", async () => {
    const app = world({ authorize: byHeader });
    const runId = await waiting(app, "ann");
    const query = { runId };
    const calls = [
      app.call("timeTravelWorkflowRun", { params, query, body: { step: "find" } }, "ann"),
      app.call("startWorkflowRun", { params, body: { inputData, requestContext: { tier: "gold" } } }, "ann"),
      app.call(
        "getWorkflowRun",
        { params: { ...params, runId }, query: { fields: "status,requestContext" as never } },
        "ann",
      ),
      app.call(
        "getWorkflowRun",
        { params: { ...params, runId }, query: { fields: "requestContext" } },
        "ann",
      ),
    ];
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([403, 403, 400, 403]);
    const { stepGraph } = await app.json("getWorkflow", { params }, "ann");
    expect(JSON.stringify(stepGraph)).not.toContain("=>");
  });

  test("is limited in the runs it has at a time, not counting those that wait", async () => {
    const app = world({ authorize: byHeader, limits: { runsPerResource: 1 } });
    await waiting(app, "ann");
    const slow = createStep({
      id: "slow",
      inputSchema: z.object({}),
      outputSchema: z.object({}),
      execute: ({ abortSignal }) =>
        new Promise((resolve) => abortSignal.addEventListener("abort", () => resolve({}))),
    });
    const shape = { inputSchema: z.object({}), outputSchema: z.object({}) };
    await app.mastra.addWorkflow(
      createWorkflow({ id: "slow", ...shape })
        .then(slow)
        .commit(),
    );
    const start = (workflowId: string, data: object, as: string) =>
      app.call("startWorkflowRun", { params: { workflowId }, body: { inputData: data as never } }, as);
    const first = await start("slow", {}, "ann");
    expect(first.status).toBe(200);
    expect(await codeOf(await start("refund", inputData, "ann"))).toEqual([429, "too-many-requests"]);
    expect((await start("refund", inputData, "bob")).status).toBe(200);
    const { runId } = (await first.json()) as { runId: string };
    await app.json("cancelWorkflowRun", { params: { workflowId: "slow", runId }, body: {} }, "ann");
    await expect.poll(async () => (await start("refund", inputData, "ann")).status).toBe(200);
  });
});

describe("bad input", () => {
  test("is refused with a typed error, and the run is unchanged", async () => {
    const app = world();
    const runId = await waiting(app);
    const query = { runId };
    const before = await app.json("getWorkflowRun", { params: { ...params, runId } });
    const calls = [
      app.call("startWorkflowRun", { params, body: { inputData: { order: 7 } } }),
      app.call("startWorkflowRun", { params, body: { input: 1 } as never }),
      app.call("startWorkflowRun", { params: { workflowId: "none" }, body: { inputData } }),
      app.call("startWorkflowRun", { params, query, body: { inputData } }),
      app.call("resumeWorkflowRun", {
        params,
        query,
        body: { step: "approve", resumeData: { approved: 1 } },
      }),
      app.call("resumeWorkflowRun", { params, query, body: { step: "find", resumeData } }),
      app.call("resumeWorkflowRun", { params, query: {} as never, body: { resumeData } }),
      app.call("resumeWorkflowRun", { params, query: { runId: "none" }, body: { resumeData } }),
      app.call("timeTravelWorkflowRun", { params, query, body: { step: "none" } }),
      app.call("observeWorkflowRun", { params, query, body: {}, headers: { "last-event-id": "x" } }),
      app.call("getWorkflowRun", { params: { ...params, runId }, query: { fields: "secrets" } }),
      app.call("listWorkflowRuns", { params, query: { status: "lost" as never } }),
    ];
    const codes = await Promise.all(calls.map(async (response) => codeOf(await response)));
    expect(codes).toEqual([
      [400, "invalid-argument"],
      [400, "invalid-argument"],
      [404, "not-found"],
      [409, "conflict"],
      [400, "invalid-argument"],
      [409, "conflict"],
      [400, "invalid-argument"],
      [404, "not-found"],
      [expect.any(Number), expect.any(String)],
      [400, "invalid-argument"],
      [400, "invalid-argument"],
      [400, "invalid-argument"],
    ]);
    expect(await app.json("getWorkflowRun", { params: { ...params, runId } })).toEqual(before);
  });

  test("of any form gets an answer below 500 on every route", async () => {
    const app = world();
    const runIds = [await waiting(app), await waiting(app), "r-new"];
    const any = fc.oneof(fc.string(), fc.jsonValue());
    const word = fc.oneof(fc.constantFrom("__proto__", "constructor", "x/y"), fc.string({ minLength: 1 }));
    const name = (known: readonly string[]) =>
      fc
        .oneof({ weight: 4, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: word })
        .filter((text) => text !== "." && text !== "..");
    const object = fc.oneof(
      fc.constantFrom<object>(inputData, resumeData, {}, { order: "none" }),
      fc.dictionary(fc.string(), any),
    );
    const runId = name(runIds);
    /** Values that pass the shape of a field; the others are of any form. */
    const fitting: Record<string, fc.Arbitrary<unknown>> = {
      runId,
      step: fc.oneof(name(["approve", "find", "a.b"]), fc.array(name(["approve"]), { maxLength: 3 })),
      label: word,
      forEachIndex: fc.nat(3),
      inputData: object,
      resumeData: object,
      initialState: object,
      context: object,
      nestedStepsContext: object,
      requestContext: object,
      outputOptions: fc.constantFrom({ includeState: true }, { includeResumeLabels: true }),
      tracingOptions: object,
      perStep: fc.boolean(),
      closeOnSuspend: fc.boolean(),
      follow: fc.boolean(),
      disableScorers: fc.boolean(),
      withNestedWorkflows: fc.boolean(),
      after: fc.nat(20),
      page: fc.nat(3),
      perPage: fc.nat(3),
      status: fc.constantFrom("suspended", "success"),
      fields: fc.constantFrom("steps", "result,error", "steps,serializedStepGraph"),
      fromDate: fc.constantFrom("2026-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
      toDate: fc.constantFrom("2026-01-01T00:00:00Z", "2999-01-01T00:00:00Z"),
      idempotencyKey: word,
      resourceId: word,
    };
    const record = (shape: AnyRoute["body"]) =>
      fc.record(
        Object.fromEntries(
          Object.keys((shape?.["properties"] ?? {}) as object).map((field) => [
            field,
            fc.oneof({ weight: 9, arbitrary: fitting[field] ?? any }, { weight: 1, arbitrary: any }),
          ]),
        ),
        { requiredKeys: [] },
      );
    const request = fc.oneof(
      ...ROUTE_LIST.filter(({ tag }) => tag === "workflows").map((route) =>
        fc.record({
          route: fc.constant(route),
          params: fc.record({ workflowId: name(["refund"]), runId }),
          query: record(route.query),
          body: record(route.body),
        }),
      ),
    );
    const statuses = new Set<number>();
    await fc.assert(
      fc.asyncProperty(request, async ({ route, params: at, query, body }) => {
        const input = { params: at, query, ...(route.body && { body }) };
        // The result of a run that nothing resumes would never arrive.
        const signal = AbortSignal.timeout(2_000);
        const response = await app.call(route.name, { ...input, signal } as Input<RouteName>);
        await response.body?.cancel();
        statuses.add(response.status);
        if (response.status === 499) return;
        expect(response.status, `${route.name} ${JSON.stringify(input)}`).toBeLessThan(500);
      }),
      { numRuns: 400 },
    );
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 404]));
  });
});
