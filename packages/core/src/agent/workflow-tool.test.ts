import type { AgentChunk } from "@selvedge/protocol";
import type { Script, ScriptedReply } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Mastra } from "../mastra/mastra.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createStep } from "../workflow/create-step.ts";
import { createWorkflow } from "../workflow/workflow.ts";
import type { AgentConfig } from "./agent-config.ts";
import { agentWith, bareMemory, chunksOf } from "./__fixtures__/agent-with.ts";

const THREAD = { thread: "t", resource: "ann" };

const call = (inputData: unknown): ScriptedReply => ({
  toolCalls: [{ toolCallId: "c1", toolName: "workflow-order", input: { inputData } }],
});

/** Orders of more than 100 wait for a person, and then for another. */
function orders(log: string[] = []) {
  const price = createStep({
    id: "price",
    description: "Finds the price.",
    inputSchema: z.object({ count: z.number() }),
    outputSchema: z.object({ total: z.number() }),
    execute: async ({ inputData, writer }) => {
      log.push("price");
      if (inputData.count < 0) throw new Error("A count is positive.");
      await writer.write({ priced: inputData.count });
      return { total: inputData.count * 10 };
    },
  });
  const approve = (id: string) =>
    createStep({
      id,
      inputSchema: z.object({ total: z.number() }),
      outputSchema: z.object({ total: z.number() }),
      suspendSchema: z.object({ question: z.string() }),
      resumeSchema: z.object({ approved: z.boolean(), by: z.string().optional() }),
      execute: async ({ inputData, resumeData, suspend, bail }) => {
        log.push(id);
        if (inputData.total <= 100) return inputData;
        if (!resumeData) return suspend({ question: `${id} ${inputData.total}?` });
        return resumeData.approved ? inputData : bail({ total: 0 });
      },
    });
  return createWorkflow({
    id: "order",
    description: "Orders something.",
    inputSchema: z.object({ count: z.number() }),
    outputSchema: z.object({ total: z.number() }),
  })
    .then(price)
    .then(approve("manager"))
    .then(approve("owner"))
    .commit();
}

function world(script: Script, config: Partial<AgentConfig> = {}) {
  const storage = new InMemoryStorage();
  const log: string[] = [];
  const workflow = orders(log);
  const { agent, model } = agentWith(script, {
    workflows: { order: workflow },
    memory: bareMemory(storage),
    ...config,
  });
  const mastra = new Mastra({ agents: { agent }, storage, logger: false });
  return { agent, model, mastra, workflow, log, storage };
}

const eventsIn = (chunks: readonly AgentChunk[]): string[] =>
  chunks.flatMap((chunk) =>
    chunk.type === "tool-output" ? [(chunk.payload.output as { type: string }).type] : [],
  );

const resultIn = (chunks: readonly AgentChunk[]): unknown =>
  chunks.flatMap((chunk) => (chunk.type === "tool-result" ? [chunk.payload.result] : []))[0];

describe("a workflow of an agent", () => {
  it("is a tool with its description and input, whose events reach the stream", async () => {
    const { agent, model } = world([call({ count: 2 }), "Ordered."]);
    const chunks = await chunksOf(await agent.stream("Order two.", { memory: THREAD }));
    const [tool] = model.calls[0]!.tools as { name: string; description: string; inputSchema: object }[];
    expect(tool).toMatchObject({
      name: "workflow-order",
      description: "Orders something.",
      inputSchema: { properties: { inputData: { properties: { count: { type: "number" } } } } },
    });
    expect(resultIn(chunks)).toEqual({ result: { total: 20 }, runId: expect.any(String) });
    const events = eventsIn(chunks);
    expect(events[0]).toBe("workflow-start");
    expect(events).toContain("workflow-step-output");
    expect(events.at(-1)).toBe("workflow-finish");
    expect(Object.keys(await agent.listWorkflows())).toEqual(["order"]);
  });

  it("has the state of the workflow in its input, and starts the run with it", async () => {
    const count = createStep({
      id: "count",
      inputSchema: z.any(),
      outputSchema: z.any(),
      execute: async ({ state }) => state as unknown,
    });
    const counting = createWorkflow({
      id: "counting",
      description: "Counts.",
      inputSchema: z.object({}),
      outputSchema: z.any(),
      stateSchema: z.object({ from: z.number() }),
    })
      .then(count)
      .commit();
    const input = { inputData: {}, initialState: { from: 5 } };
    const asked = { toolCalls: [{ toolCallId: "c1", toolName: "workflow-counting", input }] };
    const { agent, model } = world([asked, "Counted."], { workflows: { counting } });
    const chunks = await chunksOf(await agent.stream("Count.", { memory: THREAD }));
    expect(model.calls[0]!.tools).toMatchObject([
      { inputSchema: { properties: { initialState: { properties: { from: { type: "number" } } } } } },
    ]);
    expect(resultIn(chunks)).toEqual({ result: { from: 5 }, runId: expect.any(String) });
  });

  it("answers with the error of a run that failed", async () => {
    const { agent } = world([call({ count: -1 }), "It failed."]);
    const chunks = await chunksOf(await agent.stream("Order.", { memory: THREAD }));
    expect(resultIn(chunks)).toEqual({ error: "A count is positive.", runId: expect.any(String) });
  });

  it("tells the model about input that does not fit", async () => {
    const { agent, log } = world([call({ count: "two" }), "Sorry."]);
    await (await agent.stream("Order.", { memory: THREAD })).getFullOutput();
    expect(log).toEqual([]);
  });

  it("works without memory and without a host", async () => {
    const { agent } = agentWith([call({ count: 3 }), "Ordered."], { workflows: { order: orders() } });
    const { toolResults } = await agent.generate("Order three.");
    expect(toolResults[0]?.result).toMatchObject({ result: { total: 30 } });
  });

  it("suspends the call with the question and its schema, and each answer resumes both", async () => {
    const { agent, log, workflow } = world([call({ count: 20 }), "Ordered."]);
    const first = await agent.stream("Order twenty.", { memory: THREAD });
    const chunks = await chunksOf(first);
    const suspended = chunks.find((chunk) => chunk.type === "tool-call-suspended");
    expect(suspended?.payload).toMatchObject({ suspendPayload: { question: "manager 200?" } });
    const schema = JSON.parse((suspended!.payload as { resumeSchema: string }).resumeSchema) as object;
    expect(schema).toMatchObject({ properties: { approved: { type: "boolean" } } });
    const runId = first.runId;
    await expect(
      agent.resumeStream({ approved: "maybe" }, { runId, toolCallId: "c1" }),
    ).rejects.toMatchObject({
      code: "tool-input-invalid",
    });
    const second = await chunksOf(await agent.resumeStream({ approved: true }, { runId, toolCallId: "c1" }));
    expect(second.find((chunk) => chunk.type === "tool-call-suspended")?.payload).toMatchObject({
      suspendPayload: { question: "owner 200?" },
    });
    // From the resume on, and not from the beginning again.
    expect(eventsIn(second).filter((type) => type === "workflow-start")).toHaveLength(1);
    const third = await chunksOf(await agent.resumeStream({ approved: true }, { runId, toolCallId: "c1" }));
    expect(resultIn(third)).toMatchObject({ result: { total: 200 } });
    expect(log).toEqual(["price", "manager", "manager", "owner", "owner"]);
    expect((await workflow.listWorkflowRuns()).total).toBe(1);
  });

  it("does not take an answer for another question", async () => {
    const { agent, workflow, log } = world([call({ count: 20 }), "Ordered."]);
    const first = await agent.stream("Order twenty.", { memory: THREAD });
    await chunksOf(first);
    const { runs } = await workflow.listWorkflowRuns();
    const run = await workflow.createRun({ runId: runs[0]!.runId });
    // Someone answers the manager's question elsewhere.
    await run.resume({ resumeData: { approved: true } });
    const address = { runId: first.runId, toolCallId: "c1" };
    const second = await chunksOf(await agent.resumeStream({ approved: false }, address));
    expect(second.find((chunk) => chunk.type === "tool-call-suspended")?.payload).toMatchObject({
      suspendPayload: { question: "owner 200?" },
    });
    const third = await chunksOf(await agent.resumeStream({ approved: true }, address));
    expect(resultIn(third)).toMatchObject({ result: { total: 200 } });
    expect(log.filter((id) => id === "owner")).toHaveLength(2);
  });

  it("is canceled with the run of the agent", async () => {
    const started = Promise.withResolvers<void>();
    const stuck = createStep({
      id: "stuck",
      inputSchema: z.any(),
      outputSchema: z.any(),
      execute: ({ abortSignal }) =>
        new Promise((_, reject) => {
          started.resolve();
          abortSignal.addEventListener("abort", () => reject(new Error("stopped")));
        }),
    });
    const io = { inputSchema: z.object({ count: z.number() }), outputSchema: z.any() };
    const order = createWorkflow({ id: "order", ...io })
      .then(stuck)
      .commit();
    const { agent } = world([call({ count: 1 }), "never"], { workflows: { order } });
    const abort = new AbortController();
    const output = await agent.stream("Order.", { memory: THREAD, abortSignal: abort.signal });
    await started.promise;
    abort.abort();
    await chunksOf(output);
    await expect
      .poll(async () => (await order.listWorkflowRuns()).runs.map(({ snapshot }) => snapshot.status))
      .toEqual(["canceled"]);
  });

  it.each(["declined", "aborted"])("is canceled when it waits and its call is %s", async (how) => {
    const { agent, workflow } = world([call({ count: 20 }), "Then not."]);
    const output = await agent.stream("Order twenty.", { memory: THREAD });
    await chunksOf(output);
    if (how === "declined")
      await chunksOf(await agent.declineToolCall({ runId: output.runId, toolCallId: "c1" }));
    else (await agent.subscribeToThread({ threadId: "t", resourceId: "ann" })).abort();
    await expect
      .poll(async () => (await workflow.listWorkflowRuns()).runs.map(({ snapshot }) => snapshot.status))
      .toEqual(["canceled"]);
  });

  it("must be a workflow", async () => {
    const { agent } = world(["Hi."], { workflows: { order: {} as never } });
    await expect(agent.generate("Hi.")).rejects.toMatchObject({ code: "invalid-argument" });
  });
});

describe("the run of a call", () => {
  it("is never that of another owner, nor cancelled in its place", async () => {
    const { agent, workflow, mastra, log } = world([call({ count: 2 }), "Ordered."]);
    workflow.useHost(mastra);
    const foreign = await workflow.createRun({ runId: "r-c1", resourceId: "bob" });
    await foreign.start({ inputData: { count: 99 } });
    log.length = 0;
    const chunks = await chunksOf(await agent.stream("Order.", { memory: THREAD, runId: "r" }));
    expect(resultIn(chunks)).toBeUndefined();
    expect(JSON.stringify(chunks)).not.toContain("manager 990?");
    expect(log).toEqual([]);
  });

  it("is its own, however long the ids are", async () => {
    const two = ["c1", "c2"].map((toolCallId, index) => ({
      toolCallId,
      toolName: "workflow-order",
      input: { inputData: { count: index + 1 } },
    }));
    const { agent } = world([{ toolCalls: two }, "Ordered."]);
    const chunks = await chunksOf(await agent.stream("Order.", { memory: THREAD, runId: "r".repeat(250) }));
    const totals = chunks.flatMap((chunk) =>
      chunk.type === "tool-result"
        ? [(chunk.payload.result as { result: { total: number } }).result.total]
        : [],
    );
    expect(new Set(totals)).toEqual(new Set([10, 20]));
  });
});
