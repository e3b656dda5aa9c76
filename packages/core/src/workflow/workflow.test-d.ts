import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { Agent } from "../agent/agent.ts";
import { createTool } from "../tool/tool.ts";
import { cloneStep, createStep } from "./create-step.ts";
import { createWorkflow } from "./workflow.ts";

const text = z.object({ s: z.string() });
const number = z.object({ n: z.number() });
const toNumber = createStep({
  id: "to-number",
  inputSchema: text,
  outputSchema: number,
  resumeSchema: z.object({ ok: z.boolean() }),
  execute: async ({ inputData, resumeData, getInitData, getStepResult }) => {
    expectTypeOf(inputData).toEqualTypeOf<{ s: string }>();
    expectTypeOf(resumeData).toEqualTypeOf<{ ok: boolean } | undefined>();
    expectTypeOf(getInitData<typeof workflow>()).toEqualTypeOf<{ s: string }>();
    expectTypeOf(getStepResult(toText)).toEqualTypeOf<{ s: string } | null>();
    return { n: inputData.s.length };
  },
});
const toText = createStep({
  id: "to-text",
  inputSchema: number,
  outputSchema: text,
  execute: async ({ inputData }) => ({ s: String(inputData.n) }),
});
const workflow = createWorkflow({ id: "w", inputSchema: text, outputSchema: number }).then(toNumber).commit();
const flow = () => createWorkflow({ id: "f", inputSchema: text, outputSchema: z.any() });

test("chaining infers what the next step receives", () => {
  flow()
    .then(toNumber)
    .map(async ({ inputData }) => {
      expectTypeOf(inputData).toEqualTypeOf<{ n: number }>();
      return { n: inputData.n + 1 };
    })
    .then(toText);
});

test("a step that does not accept the previous output is an error that names both", () => {
  // @ts-expect-error -- InputMismatch<{ s: string }, { n: number }>
  flow().then(toText);
  // @ts-expect-error -- the second member does not accept the input
  flow().parallel([toNumber, toText]);
  // @ts-expect-error -- not an array
  flow().foreach(toNumber);
});

test("blocks give objects by step id", () => {
  flow()
    .parallel([toNumber, workflow])
    .map(async ({ inputData }) =>
      expectTypeOf(inputData).toEqualTypeOf<{ "to-number": { n: number }; w: { n: number } }>(),
    );
  flow()
    .branch([[async ({ inputData }) => inputData.s === "x", toNumber]])
    .map(async ({ inputData }) =>
      expectTypeOf(inputData["to-number"]).toEqualTypeOf<{ n: number } | undefined>(),
    );
});

test("outputs of agents are accepted by the ids that the next step names, if their types fit", () => {
  const answer = z.object({ text: z.string() });
  const both = createStep({
    id: "both",
    inputSchema: z.object({ stock: answer, market: answer }),
    outputSchema: text,
    execute: async ({ inputData }) => ({ s: inputData.stock.text }),
  });
  const agents = () =>
    createWorkflow({
      id: "f",
      inputSchema: z.object({ prompt: z.string() }),
      outputSchema: z.any(),
    }).parallel([createStep({} as Agent), createStep({} as Agent)]);
  agents().then(both);
  const counts = createStep({
    id: "counts",
    inputSchema: z.object({ stock: number }),
    outputSchema: text,
    execute: async () => ({ s: "" }),
  });
  // @ts-expect-error -- an agent returns { text }, not { n }
  agents().then(counts);
  const word = createStep({
    id: "word",
    inputSchema: z.string(),
    outputSchema: text,
    execute: async () => ({ s: "" }),
  });
  // @ts-expect-error -- not a text
  agents().then(word);
});

test("loops, items, tools and workflows are typed like steps", () => {
  const tool = createTool({
    id: "t",
    description: "",
    inputSchema: number,
    outputSchema: text,
    execute: async () => ({ s: "" }),
  });
  flow()
    .then(workflow)
    .then(tool)
    .map(async ({ inputData }) => [inputData])
    .foreach(toNumber)
    .map(async ({ inputData }) => {
      expectTypeOf(inputData).toEqualTypeOf<{ n: number }[]>();
      return { n: 1 };
    })
    .dountil(tool as never, async () => true);
});

test("results narrow by status, and resume() types its data", async () => {
  const run = await workflow.createRun();
  const result = await run.start({ inputData: { s: "x" } });
  if (result.status === "success") expectTypeOf(result.result).toEqualTypeOf<{ n: number }>();
  if (result.status === "failed") expectTypeOf(result.error).toEqualTypeOf<Error>();
  if (result.status === "suspended") expectTypeOf(result.suspended).toEqualTypeOf<string[][]>();
  // @ts-expect-error -- the input does not fit
  await run.start({ inputData: { s: 1 } });
  await run.resume({ step: toNumber, resumeData: { ok: true } });
  await run.resume({ step: "to-number", resumeData: "not known here" });
  // @ts-expect-error -- the step needs a boolean
  await run.resume({ step: toNumber, resumeData: { ok: 1 } });
  // @ts-expect-error -- the last step of a path needs a boolean
  await run.resumeAsync({ step: [workflow, toNumber], resumeData: { ok: 1 } });
  // @ts-expect-error -- a clone needs the same
  run.resumeStream({ step: cloneStep(toNumber, { id: "again" }), resumeData: { ok: 1 } });
});
