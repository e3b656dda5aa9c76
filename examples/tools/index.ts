import assert from "node:assert/strict";
import { Agent } from "@selvedge/core/agent";
import { RequestContext } from "@selvedge/core/request-context";
import { createTool } from "@selvedge/core/tools";
import { scriptedModel } from "@selvedge/testing";
import { z } from "zod";

const weather = createTool({
  id: "weather",
  description: "The weather in a city, now.",
  inputSchema: z.object({ city: z.string() }),
  outputSchema: z.object({ city: z.string(), degrees: z.number() }),
  execute: async ({ context, requestContext }, { abortSignal, writer }) => {
    await writer.custom({ type: "data-progress", data: { asking: context.city } });
    abortSignal.throwIfAborted();
    const celsius = context.city === "Oslo" ? 5 : 20;
    return { city: context.city, degrees: requestContext.get("unit") === "F" ? celsius * 1.8 + 32 : celsius };
  },
});

const agent = new Agent({
  name: "weather",
  instructions: "Tell the weather.",
  tools: { weather },
  model: scriptedModel([
    // Both calls of this step run in parallel. The third has invalid input, which the model is asked to correct.
    {
      toolCalls: [
        { toolName: "weather", input: { city: "Oslo" } },
        { toolName: "weather", input: { city: "Rome" } },
        { toolName: "weather", input: { town: "Bern" } },
      ],
    },
    "Cold in Oslo, mild in Rome.",
  ]),
});

const run = await agent.stream("How is the weather?", {
  requestContext: new RequestContext([["unit", "F"]]),
});
for await (const chunk of run.fullStream) {
  if (chunk.type === "tool-call") console.log("call", chunk.payload.args);
  if (chunk.type === "tool-result") console.log("result", chunk.payload.result);
  if (chunk.type === "data-progress") console.log("progress", chunk.data);
}

// Results arrive in the order in which the calls finish; each names its call.
const results = await run.toolResults;
const resultFor = (city: string) =>
  results.find((result) => (result.args as { city?: string }).city === city)?.result;
assert.deepEqual(resultFor("Oslo"), { city: "Oslo", degrees: 41 });
assert.deepEqual(resultFor("Rome"), { city: "Rome", degrees: 68 });
assert.equal(results.filter((result) => result.isError).length, 1);
assert.equal(await run.text, "Cold in Oslo, mild in Rome.");

// You can call a tool without an agent, for example in a test.
assert.deepEqual(await weather.execute({ context: { city: "Oslo" } }), { city: "Oslo", degrees: 5 });
assert.deepEqual(await weather.execute({ city: "Oslo" }), { city: "Oslo", degrees: 5 });

// The other form of `execute`: the input first, everything else second.
const greet = createTool({
  id: "greet",
  description: "Greets a guest.",
  inputSchema: z.object({ name: z.string() }),
  execute: async ({ name }, { requestContext }) => `${requestContext.get("greeting") ?? "Hello"}, ${name}.`,
});
assert.equal(await greet.execute({ name: "Ada" }), "Hello, Ada.");
