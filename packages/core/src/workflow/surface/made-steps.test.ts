import { Agent } from "@selvedge/core/agent";
import {
  ProcessorStepInputSchema,
  ProcessorStepOutputSchema,
  ProcessorStepSchema,
} from "@selvedge/core/processors";
import { createTool } from "@selvedge/core/tools";
import { createStep } from "@selvedge/core/workflows";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { collect, flow, PLACES, rig, start } from "./__fixtures__/rig.ts";

const poet = (reply = "roses") =>
  new Agent({
    id: "poet",
    name: "Poet",
    description: "Writes poems.",
    instructions: "Rhyme.",
    model: scriptedModel(() => reply),
  });

describe.each(PLACES)("a step made from an agent, %s:", (place) => {
  it("has the agent's id and description, { prompt } as input and { text } as output", async () => {
    const step = createStep(poet());
    expect(step).toMatchObject({ id: "poet", description: "Writes poems.", component: "AGENT" });
    const { result } = await start(place, flow().then(step).commit(), { prompt: "Flowers" });
    expect(result).toMatchObject({ status: "success", result: { text: "roses" } });
    const { result: bad } = await start(place, flow().then(createStep(poet())).commit(), {
      topic: "Flowers",
    });
    expect(bad).toMatchObject({ status: "failed", error: { message: expect.stringContaining("prompt") } });
  });

  it("returns what structuredOutput.schema describes", async () => {
    const schema = z.object({ lines: z.number() });
    const step = createStep(poet('{"lines": 4}'), { structuredOutput: { schema } });
    const { result } = await start(place, flow().then(step).commit(), { prompt: "How many lines?" });
    expect(result).toMatchObject({ status: "success", result: { lines: 4 } });
  });

  it("passes the options of stream() on, and calls onFinish", async () => {
    const model = scriptedModel(() => "violets");
    const agent = new Agent({ id: "poet", name: "Poet", instructions: "Rhyme.", model });
    const finished: unknown[] = [];
    const step = createStep(agent, {
      instructions: "Write in blue.",
      onFinish: ({ text }: { text: string }) => void finished.push(text),
      metadata: { team: "art" },
    });
    const workflow = flow().then(step).commit();
    const { result } = await start(place, workflow, { prompt: "Flowers" });
    expect(JSON.stringify(model.calls[0]!.prompt)).toContain("Write in blue.");
    expect(finished).toEqual(["violets"]);
    expect(result.steps["poet"]).toMatchObject({ metadata: { team: "art" } });
    expect(workflow.serializedStepGraph).toMatchObject([{ step: { metadata: { team: "art" } } }]);
  });

  it("is scored after it succeeded", async () => {
    const scored = Promise.withResolvers<object>();
    const step = createStep(poet(), { scorers: { s: { scorer: { run: scored.resolve } } } as never });
    await start(place, flow().then(step).commit(), { prompt: "Flowers" });
    expect(await scored.promise).toMatchObject({ input: { prompt: "Flowers" }, output: { text: "roses" } });
  });

  it("puts its chunks on the stream of the run", async () => {
    const workflow = flow().then(createStep(poet())).commit();
    const { system } = rig(place, [workflow]);
    const run = await workflow.createRun();
    const chunks = await system.until(collect(run.stream({ inputData: { prompt: "Flowers" } }).fullStream));
    const outputs = chunks.flatMap((chunk) =>
      chunk.type === "workflow-step-output" ? [chunk.payload.output as { type: string }] : [],
    );
    expect(outputs.map(({ type }) => type)).toEqual(expect.arrayContaining(["text-delta", "finish"]));
  });
});

describe.each(PLACES)("a step made from a tool, %s:", (place) => {
  it("has the tool's id, description and schemas, and the options of a step", async () => {
    let calls = 0;
    const tool = createTool({
      id: "lookup",
      description: "Looks a price up.",
      inputSchema: z.object({ item: z.string() }),
      outputSchema: z.object({ price: z.number() }),
      idempotent: true,
      execute: async () => {
        if (++calls === 1) throw new Error("not yet");
        return { price: 7 };
      },
    });
    const step = createStep(tool, { retries: 1, metadata: { team: "sales" } });
    expect(step).toMatchObject({
      id: "lookup",
      description: "Looks a price up.",
      component: "TOOL",
      retries: 1,
    });
    const workflow = flow().then(step).commit();
    const { result } = await start(place, workflow, { item: "lamp" });
    expect(result).toMatchObject({
      result: { price: 7 },
      steps: { lookup: { attempt: 2, metadata: { team: "sales" } } },
    });
  });

  it("suspends and resumes with the tool, whose schemas are checked", async () => {
    const tool = createTool({
      id: "pay",
      description: "Pays.",
      inputSchema: z.object({ amount: z.number() }),
      suspendSchema: z.object({ ask: z.string() }),
      resumeSchema: z.object({ ok: z.boolean() }),
      execute: async ({ context }, { suspend, resumeData }) => {
        const answer = resumeData as { ok: boolean } | undefined;
        if (!answer) return suspend({ ask: `Pay ${context.amount}?` });
        return { paid: answer.ok ? context.amount : 0 };
      },
    });
    const { run, result, system } = await start(place, flow().then(createStep(tool)).commit(), { amount: 5 });
    expect(result).toMatchObject({ status: "suspended", suspendPayload: { pay: { ask: "Pay 5?" } } });
    await expect(run.resume({ resumeData: { ok: "yes" } })).rejects.toMatchObject({
      code: "invalid-argument",
    });
    expect(await system.until(run.resume({ resumeData: { ok: true } }))).toMatchObject({
      result: { paid: 5 },
    });
  });

  it("fails on input that the tool does not accept", async () => {
    const tool = createTool({
      id: "t",
      description: "",
      inputSchema: z.object({ n: z.number() }),
      execute: async () => 1,
    });
    expect((await start(place, flow().then(createStep(tool)).commit(), { n: "x" })).result).toMatchObject({
      status: "failed",
      error: { code: "invalid-argument", message: expect.stringContaining("n") },
    });
  });
});

describe("a step made from a processor", () => {
  it("has a prefixed id, and the schema of processors for input and output", () => {
    const step = createStep({ id: "polite", processInput: async ({ messages }) => messages });
    expect(step).toMatchObject({ id: "processor:polite", component: "PROCESSOR" });
    expect(step.inputSchema).toBe(ProcessorStepSchema);
    expect(step.outputSchema).toBe(ProcessorStepSchema);
    expect([ProcessorStepInputSchema, ProcessorStepOutputSchema]).toEqual([
      expect.anything(),
      expect.anything(),
    ]);
  });
});
