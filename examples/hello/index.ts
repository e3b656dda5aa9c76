import assert from "node:assert/strict";
import { Agent, createTool } from "@selvedge/core";
import { scriptedModel } from "@selvedge/testing";
import { z } from "zod";

const add = createTool({
  id: "add",
  description: "Adds two numbers.",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ context }) => ({ sum: context.a + context.b }),
});
// A scripted model, so this runs without an API key. With a key: const model = "openai/gpt-5.5";
const model = scriptedModel([{ toolCalls: [{ toolName: "add", input: { a: 19, b: 23 } }] }, "It is 42."]);
const agent = new Agent({ name: "calculator", instructions: "Add with the tool.", model, tools: { add } });

const { text, toolResults } = await agent.generate("What is 19 + 23?");
console.log(toolResults[0]?.result, text); // { sum: 42 } It is 42.

assert.deepEqual(toolResults[0]?.result, { sum: 42 });
