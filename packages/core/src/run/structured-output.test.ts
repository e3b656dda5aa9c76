import { growthOf, scriptedModel } from "@selvedge/testing";
import { type } from "arktype";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agentWith, chunksOf, listOf, typesOf } from "../agent/__fixtures__/agent-with.ts";
import { StructuredOutputProcessor } from "../processor/structured-output-processor.ts";
import { createTool } from "../tool/tool.ts";

const person = { name: "Ada", age: 36 };
const json = JSON.stringify(person);
const pieces = json.match(/.{1,4}/g)!;

describe("structured output", () => {
  it.each([
    ["zod", z.object({ name: z.string(), age: z.number() })],
    ["arktype", type({ name: "string", age: "number" })],
    [
      "JSON Schema",
      {
        type: "object",
        properties: { name: { type: "string" }, age: { type: "number" } },
        required: ["name", "age"],
      },
    ],
  ])("answers an object by %s, in all three spellings", async (_, schema) => {
    for (const options of [
      { output: schema },
      { experimental_output: schema },
      { structuredOutput: { schema } },
    ]) {
      const { agent, model } = agentWith([{ text: pieces }]);
      const output = await agent.stream("who?", options as never);
      const partial: unknown[] = await listOf(output.objectStream);
      expect(partial.at(-1)).toEqual(person);
      expect(partial.length).toBeGreaterThan(2);
      expect(await output.object).toEqual(person);
      expect(await listOf(output.partialObjectStream)).toEqual(partial);
      expect(model.calls[0]!.responseFormat).toMatchObject({ type: "json", schema: { type: "object" } });
    }
  });

  it("switches tools off for `output`, even if the model calls one, and keeps them for the others", async () => {
    const t = createTool({ id: "t", description: "", execute: async () => "ran" });
    const schema = z.object({ name: z.string(), age: z.number() });
    const script = [{ toolCalls: [{ toolName: "t", input: {} }] }, { object: person }];
    const off = agentWith(script, { tools: { t } });
    const result = await off.agent.generate("who?", { output: schema });
    expect(off.model.calls[0]!.tools).toBeUndefined();
    expect(result.toolResults).toMatchObject([{ isError: true }]);
    const on = agentWith(script, { tools: { t } });
    expect(await on.agent.generate("who?", { experimental_output: schema })).toMatchObject({
      object: person,
      toolResults: [{ result: "ran" }],
    });
  });

  it("carries an array inside an object, and streams its elements once each", async () => {
    const schema = z.array(z.object({ n: z.number() }));
    const text = JSON.stringify({ value: [{ n: 1 }, { n: 2 }, { n: 3 }] }).match(/.{1,3}/g)!;
    const { agent, model } = agentWith([{ text }]);
    const output = await agent.stream("list", { output: schema });
    expect(await listOf(output.elementStream)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(await output.object).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(model.calls[0]!.responseFormat).toMatchObject({ schema: { type: "object", required: ["value"] } });
  });

  it("keeps references of a recursive schema in reach when it wraps it", async () => {
    const tree = z.object({
      id: z.string(),
      get children() {
        return z.array(tree);
      },
    });
    const { agent, model } = agentWith([{ object: { value: [{ id: "a", children: [] }] } }]);
    expect((await agent.generate("tree", { output: z.array(tree) })).object).toEqual([
      { id: "a", children: [] },
    ]);
    const { schema } = model.calls[0]!.responseFormat as { schema: any };
    const refs = [...JSON.stringify(schema).matchAll(/"\$ref":"#\/([^"]+)"/g)].map((match) =>
      match[1]!.split("/"),
    );
    expect(refs.length).toBeGreaterThan(0);
    for (const path of refs) expect(path.reduce((node, key) => node?.[key], schema)).toBeDefined();
  });

  it("wraps a union and a scalar too", async () => {
    expect(
      (
        await agentWith([{ object: { value: 5 } }]).agent.generate("n", {
          output: z.union([z.string(), z.number()]),
        })
      ).object,
    ).toBe(5);
    expect(
      (await agentWith([{ object: { value: "a" } }]).agent.generate("n", { output: z.enum(["a", "b"]) }))
        .object,
    ).toBe("a");
  });

  const schema = z.object({ name: z.string() });
  it("fails by default on an answer that does not fit", async () => {
    await expect(
      agentWith(["not json"]).agent.generate("x", { structuredOutput: { schema } }),
    ).rejects.toMatchObject({ code: "structured-output-invalid" });
    await expect(
      agentWith([{ object: { name: 5 } }]).agent.generate("x", { output: schema }),
    ).rejects.toThrow(/name/);
  });

  it("warns, or falls back, when asked to", async () => {
    const warned = await agentWith(["no"]).agent.generate("x", {
      structuredOutput: { schema, errorStrategy: "warn" },
    });
    expect([warned.object, warned.text, warned.warnings.length]).toEqual([undefined, "no", 1]);
    const fell = await agentWith(["no"]).agent.generate("x", {
      structuredOutput: { schema, errorStrategy: "fallback", fallbackValue: { name: "?" } },
    });
    expect(fell.object).toEqual({ name: "?" });
  });

  it("has a second model structure the answer of the first", async () => {
    const second = scriptedModel(['```json\n{"name":"Ada"}\n```']);
    const { agent, model } = agentWith(["Her name is Ada."]);
    const output = await agent.stream("who?", {
      structuredOutput: { schema, model: second, instructions: "Be exact." },
    });
    expect(await output.object).toEqual({ name: "Ada" });
    expect([await output.text, model.calls[0]!.responseFormat]).toEqual(["Her name is Ada.", undefined]);
    expect(second.calls[0]!.prompt[0]!.content).toContain("Be exact.");
    expect((await typesOf(output)).slice(-2)).toEqual(["object-result", "finish"]);
  });

  it("does so as a processor, too", async () => {
    const second = scriptedModel(['{"name":"Ada"}', "nonsense"]);
    const providerOptions = { scripted: { a: 1 } };
    const options = {
      schema,
      model: second,
      providerOptions,
      errorStrategy: "fallback",
      fallbackValue: 1,
    } as const;
    const outputProcessors = [new StructuredOutputProcessor(options)];
    const { agent } = agentWith(["Her name is Ada.", "Again."], { outputProcessors });
    const output = await agent.stream("who?");
    expect((await typesOf(output)).slice(-2)).toEqual(["object-result", "finish"]);
    expect([await output.text, await output.object]).toEqual(["Her name is Ada.", { name: "Ada" }]);
    expect(second.calls[0]).toMatchObject({ providerOptions });
    expect((await agent.generate("who?")).object).toBe(1);
  });

  it.each([
    { schema },
    { model: "a/b" },
    { schema, model: "a/b", useAgent: true },
    { schema, model: "a/b", errorStrategy: "x" },
  ])("refuses a processor with wrong options (%#)", (options) => {
    expect(() => new StructuredOutputProcessor(options as never)).toThrow(/of StructuredOutputProcessor/);
  });

  it("describes the schema in the prompt for models without a JSON mode", async () => {
    const { agent, model } = agentWith(['{"name":"Ada"}']);
    await agent.generate("who?", { structuredOutput: { schema, jsonPromptInjection: true } });
    expect(model.calls[0]!.responseFormat).toBeUndefined();
    expect(model.calls[0]!.prompt[0]!.content).toContain('"name"');
  });

  it("reads a long answer in time that grows with its length", async () => {
    const read = async (length: number): Promise<void> => {
      const list = Array.from({ length }, (_, n) => ({ n, text: "word ".repeat(4) }));
      const text = JSON.stringify({ value: list }).match(/.{1,40}/gs)!;
      const output = await agentWith([{ text }]).agent.stream("list", {
        output: z.array(z.object({ n: z.number(), text: z.string() })),
      });
      expect(await output.object).toHaveLength(length);
      expect((await chunksOf(output)).filter((chunk) => chunk.type === "object").length).toBeLessThan(500);
    };
    expect(await growthOf(read, 1_000)).toBeLessThan(1.5);
  });
});
