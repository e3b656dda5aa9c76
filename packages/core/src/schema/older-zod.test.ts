import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { z as zod4 } from "zod";
import { z as zod3 } from "zod/v3";
import { Agent } from "../agent/agent.ts";
import { createTool } from "../tool/tool.ts";
import type { Schema } from "./schema.ts";

async function callWith(inputSchema: Schema) {
  const inputs: unknown[] = [];
  const weather = createTool({
    id: "weather",
    description: "",
    inputSchema,
    execute: async ({ context }) => void inputs.push(context),
  });
  const calls = [
    { toolName: "weather", input: { city: "Rome" } },
    { toolName: "weather", input: { city: 7 } },
  ];
  const model = scriptedModel([{ toolCalls: calls }, "done"]);
  const agent = new Agent({ name: "a", instructions: "", model, tools: { weather } });
  await agent.generate("hi");
  const [tool] = model.calls[0]!.tools!;
  return { schema: tool!.type === "function" ? tool!.inputSchema : undefined, inputs };
}

/** A zod 4 schema as releases before 4.2 make them: without a JSON Schema of its own. */
function beforeStandardJson(schema: zod4.ZodType): Schema {
  const { jsonSchema: _, ...standard } = schema["~standard"] as unknown as Record<string, unknown>;
  return Object.create(schema, { "~standard": { value: standard } }) as Schema;
}

/** A zod 3 schema as releases before 3.24 make them: not a Standard Schema. */
function beforeStandard(schema: zod3.ZodType): Schema {
  const { _def, safeParseAsync } = schema;
  return { _def, safeParseAsync: safeParseAsync.bind(schema) } as unknown as Schema;
}

const input3 = zod3.object({ city: zod3.string(), unit: zod3.string().default("C") });
const input4 = zod4.object({ city: zod4.string(), unit: zod4.string().default("C") });

describe("schemas of older zod releases", () => {
  it.each([
    ["zod 3.25", input3 as unknown as Schema],
    ["zod 3 before 3.24", beforeStandard(input3)],
    ["zod 4.0", beforeStandardJson(input4)],
  ])("work in a tool: %s", async (_, schema) => {
    const { schema: shown, inputs } = await callWith(schema);
    expect(shown).toMatchObject({
      type: "object",
      properties: { city: { type: "string" }, unit: { default: "C" } },
      required: ["city"],
    });
    // Defaults are applied, and the call with a wrong city never arrives.
    expect(inputs).toEqual([{ city: "Rome", unit: "C" }]);
  });

  it("give a structured answer", async () => {
    const agent = new Agent({ name: "a", instructions: "", model: scriptedModel(['{"city":"Rome"}']) });
    const schema = zod3.object({ city: zod3.string() }) as unknown as Schema;
    expect((await agent.generate("hi", { structuredOutput: { schema } })).object).toEqual({ city: "Rome" });
  });
});

it("refuses a schema that can never be shown to a model when the tool is created", () => {
  const inputSchema = {
    "~standard": { version: 1, vendor: "other", validate: (value: unknown) => ({ value }) },
  } as const;
  expect(() =>
    createTool({
      id: "weather",
      description: "",
      inputSchema: inputSchema as Schema,
      execute: async () => 1,
    }),
  ).toThrow(/^Tool "weather": A model needs a JSON Schema, but this other schema cannot be converted/);
});
