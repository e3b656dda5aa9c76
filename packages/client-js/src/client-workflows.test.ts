import { Mastra, silentLogger } from "@selvedge/core";
import { InMemoryStorage } from "@selvedge/core/storage";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { createServer } from "@selvedge/server";
import { expect, test } from "vitest";
import { z } from "zod";
import { MastraClient } from "./index.ts";

const order = z.object({ order: z.string() });
const inputData = { order: "o-1" };
const resumeData = { approved: true };

function world() {
  const approve = createStep({
    id: "approve",
    inputSchema: order,
    outputSchema: z.object({ approved: z.boolean(), order: z.string() }),
    resumeSchema: z.object({ approved: z.boolean() }),
    execute: async ({ inputData: given, resumeData: answer, suspend }) =>
      answer ? { ...given, ...answer } : suspend({ ask: given.order }, { resumeLabel: "manager" }),
  });
  const refund = createWorkflow({ id: "refund", inputSchema: order, outputSchema: z.any() })
    .then(
      createStep({
        id: "find",
        inputSchema: order,
        outputSchema: order,
        execute: async ({ inputData: given }) => given,
      }),
    )
    .then(approve)
    .commit();
  const mastra = new Mastra({ workflows: { refund }, storage: new InMemoryStorage(), logger: silentLogger });
  const server = createServer({ mastra });
  const client = new MastraClient({
    baseUrl: "http://localhost",
    fetch: (url, init) => server.fetch(new Request(url as string, init)),
  });
  return { client, workflow: client.getWorkflow("refund") };
}

const waits = { status: "suspended", suspended: [["approve"]], suspendPayload: { approve: { ask: "o-1" } } };
const done = { status: "success", result: { approved: true, order: "o-1" } };

test("lists workflows, describes one, and counts its runs", async () => {
  const { client, workflow } = world();
  expect(Object.keys(await client.listWorkflows())).toEqual(["refund"]);
  expect(await workflow.details()).toMatchObject({ id: "refund", steps: { find: {}, approve: {} } });
  await (await workflow.createRun()).startAsync({ inputData });
  expect(await client.listWorkflowRunCounts()).toEqual({ refund: { running: 0, suspended: 1 } });
});

test("start and resume return at once, startAsync and resumeAsync when the run rests", async () => {
  const { workflow } = world();
  const quick = await workflow.createRun({ runId: "quick", resourceId: "ada" });
  expect(await quick.start({ inputData })).toEqual({ message: expect.any(String), runId: "quick" });
  await expect.poll(async () => (await workflow.runById("quick")).status).toBe("suspended");
  expect(await quick.resume({ step: "approve", resumeData })).toEqual({
    message: expect.any(String),
    runId: "quick",
  });
  await expect.poll(async () => (await workflow.runById("quick")).status).toBe("success");
  const slow = await workflow.createRun();
  expect(await slow.startAsync({ inputData })).toMatchObject(waits);
  expect(await slow.resumeAsync({ label: "manager", resumeData })).toMatchObject(done);
});

test("stream, resumeStream and observeStream have the events", async () => {
  const { workflow } = world();
  const run = await workflow.createRun();
  const first = await Array.fromAsync(await run.stream({ inputData }));
  expect(first.at(-1)).toMatchObject({ type: "workflow-finish", payload: { workflowStatus: "suspended" } });
  const second = await Array.fromAsync(await run.resumeStream({ resumeData }));
  expect(second.at(-1)).toMatchObject({ payload: { workflowStatus: "success" } });
  const all = await Array.fromAsync(await run.observeStream());
  expect(all.map(({ seq }) => seq)).toEqual([...first, ...second].map(({ seq }) => seq));
  expect(await Array.fromAsync(await run.observeStream({ offset: first.length }))).toEqual(second);
});

test("runs are listed, read with fields, cancelled and deleted", async () => {
  const { workflow } = world();
  const run = await workflow.createRun({ runId: "r-1", resourceId: "ada" });
  await run.startAsync({ inputData });
  const { runs, total } = await workflow.runs({
    status: "suspended",
    resourceId: "ada",
    fromDate: new Date(0),
  });
  expect([total, runs]).toMatchObject([1, [{ runId: "r-1", workflowName: "refund", status: "suspended" }]]);
  expect((await workflow.runs({ resourceId: "bob" })).total).toBe(0);
  const state = await workflow.runById("r-1", { fields: ["payload"], withNestedWorkflows: false });
  expect(state).toMatchObject({ payload: inputData });
  expect(state).not.toHaveProperty("steps");
  expect(await run.cancel()).toEqual({ message: "Workflow run canceled" });
  expect((await workflow.runById("r-1")).status).toBe("canceled");
  await workflow.deleteRunById("r-1");
  await expect(workflow.runById("r-1")).rejects.toMatchObject({ code: "not-found" });
});

test("timeTravel, timeTravelAsync and timeTravelStream execute again from a step", async () => {
  const { workflow } = world();
  const run = await workflow.createRun();
  await run.startAsync({ inputData });
  await run.resumeAsync({ resumeData });
  const again = { step: "approve", inputData: { order: "o-2" } };
  expect(await run.timeTravelAsync(again)).toMatchObject({
    ...waits,
    suspendPayload: { approve: { ask: "o-2" } },
  });
  const events = await Array.fromAsync(await run.timeTravelStream({ ...again, resumeData }));
  expect(events.at(-1)).toMatchObject({ payload: { finalWorkflowResult: { approved: true, order: "o-2" } } });
  expect(await run.timeTravel({ step: "find" })).toMatchObject({ runId: run.runId });
  await expect.poll(async () => (await workflow.runById(run.runId)).status).toBe("suspended");
});

test("restart, restartAsync and restartAllActiveWorkflowRuns leave a run that waits alone", async () => {
  const { workflow } = world();
  const run = await workflow.createRun();
  await run.startAsync({ inputData });
  expect(await run.restart()).toMatchObject({ runId: run.runId });
  expect(await run.restartAsync()).toMatchObject(waits);
  expect(await workflow.restartAllActiveWorkflowRuns()).toEqual({ message: expect.any(String) });
  expect(await run.resumeAsync({ resumeData })).toMatchObject(done);
});

test("refusals of the server are typed errors", async () => {
  const { client, workflow } = world();
  const run = await workflow.createRun();
  await expect(run.startAsync({ inputData: { order: 5 } })).rejects.toMatchObject({
    code: "invalid-argument",
    message: expect.stringContaining("order"),
  });
  await expect(run.resumeAsync({ resumeData })).rejects.toMatchObject({ code: "not-found" });
  await run.startAsync({ inputData });
  await expect(run.resumeAsync({ step: "find", resumeData })).rejects.toMatchObject({ code: "conflict" });
  await expect(run.resumeAsync({ resumeData: { approved: 1 } })).rejects.toMatchObject({
    code: "invalid-argument",
  });
  await expect(client.getWorkflow("none").details()).rejects.toMatchObject({ code: "not-found" });
});
