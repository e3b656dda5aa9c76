import assert from "node:assert/strict";
import { Agent } from "@selvedge/core/agent";
import { createTool } from "@selvedge/core/tools";
import { scriptedModel } from "@selvedge/testing";
import { z } from "zod";

const add = createTool({
  id: "add",
  description: "Adds two numbers.",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ context }) => ({ sum: context.a + context.b }),
});

const agent = new Agent({
  name: "calculator",
  instructions: "Use the tool to add numbers.",
  // A model from a script, so that this runs anywhere. With a key set: model: "openai/gpt-5.5"
  model: scriptedModel([{ toolCalls: [{ toolName: "add", input: { a: 19, b: 23 } }] }, "The sum is 42."]),
  tools: { add },
});

const run = await agent.stream("What is 19 + 23?");
for await (const text of run.textStream) process.stdout.write(`${text}\n`);

const [result] = await run.toolResults;
assert.deepEqual(result?.result, { sum: 42 });
