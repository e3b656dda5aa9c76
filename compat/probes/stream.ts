import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { scripted, type Reply } from "../model.ts";
import { onPurpose, outcome, type Probes } from "../probe.ts";

function agentOf(replies: readonly Reply[]) {
  const add = createTool({
    id: "add",
    description: "Adds",
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: async (input: any, context: any) => {
      await context.writer?.write({ half: 1 });
      await context.writer?.custom({ type: "data-note", data: { half: 2 } });
      return { sum: input.a + input.b };
    },
  });
  return new Agent({
    id: "a",
    name: "a",
    instructions: "x",
    model: scripted(replies) as any,
    tools: { add },
  });
}

const call: Reply = { calls: [{ tool: "add", input: { a: 1, b: 2 } }] };

async function chunksOf(replies: readonly Reply[], options: any = {}): Promise<any[]> {
  const stream = await agentOf(replies).stream("Hi", options);
  const chunks: any[] = [];
  for await (const chunk of stream.fullStream) chunks.push(chunk);
  return chunks;
}

export const probes: Probes = {
  "types of the chunks of a reply": async () => (await chunksOf(["One two"])).map((chunk) => chunk.type),
  "types of the chunks of a loop": async () => (await chunksOf([call, "Done"])).map((chunk) => chunk.type),
  "a chunk has runId, from and payload": async () => {
    const chunk = (await chunksOf(["One"])).find((one) => one.type === "text-delta");
    return { run: typeof chunk.runId, from: chunk.from, text: chunk.payload.text };
  },
  "payload of a tool call": async () => {
    const { payload } = (await chunksOf([call, "Done"])).find((one) => one.type === "tool-call");
    return { id: typeof payload.toolCallId, name: payload.toolName, args: payload.args };
  },
  "payload of a tool result": async () => {
    const { payload } = (await chunksOf([call, "Done"])).find((one) => one.type === "tool-result");
    return {
      name: payload.toolName,
      args: payload.args,
      result: payload.result,
      isError: payload.isError ?? false,
    };
  },
  "payload of tool output": async () => {
    const chunk = (await chunksOf([call, "Done"])).find((one) => one.type === "tool-output");
    return { name: chunk?.payload.toolName, output: chunk?.payload.output };
  },
  "data of a custom chunk": async () =>
    (await chunksOf([call, "Done"])).find((one) => one.type === "data-note")?.data,
  "payload of finish": async () => {
    const { payload } = (await chunksOf(["One"])).find((one) => one.type === "finish");
    return { reason: payload.stepResult?.reason, total: payload.output?.usage?.totalTokens };
  },
  "payload of step-finish": async () => {
    const { payload } = (await chunksOf(["One"])).find((one) => one.type === "step-finish");
    return { reason: payload.stepResult?.reason, total: payload.output?.usage?.totalTokens };
  },
  textStream: async () => {
    const stream = await agentOf(["One two three"]).stream("Hi");
    const parts: string[] = [];
    for await (const text of stream.textStream) parts.push(text);
    return parts;
  },
  "promises of a stream": async () => {
    const stream = await agentOf([call, "Done"]).stream("Hi");
    return {
      text: await stream.text,
      finish: await stream.finishReason,
      steps: (await stream.steps).length,
      total: (await stream.totalUsage).totalTokens,
      calls: (await stream.toolCalls).length,
      results: (await stream.toolResults).length,
      run: typeof stream.runId,
    };
  },
  "usage of a loop": onPurpose("usage is that of the last step, totalUsage that of all.", async () => {
    const stream = await agentOf([call, "Done"]).stream("Hi");
    return (await stream.usage).totalTokens;
  }),
  "promises without reading the stream": async () => (await agentOf(["Alone"]).stream("Hi")).text,
  getFullOutput: async () => {
    const full = await (await agentOf([call, "Done"]).stream("Hi")).getFullOutput();
    return { text: full.text, finish: full.finishReason, steps: full.steps.length };
  },
  consumeStream: async () => {
    const stream = await agentOf(["Quiet"]).stream("Hi");
    await stream.consumeStream();
    return stream.text;
  },
  "two readers of one stream": async () => {
    const stream = await agentOf(["One two"]).stream("Hi");
    const read = async () => {
      const parts: string[] = [];
      for await (const chunk of stream.fullStream)
        if (chunk.type === "text-delta") parts.push(chunk.payload.text);
      return parts.join("");
    };
    return Promise.all([read(), read()]);
  },
  objectStream: async () => {
    const stream = await agentOf(['{"city":"Rome"}']).stream("Hi", {
      structuredOutput: { schema: z.object({ city: z.string() }) },
    });
    let last: unknown;
    for await (const part of stream.objectStream) last = part;
    return { last, object: await stream.object };
  },
  "an error of the model": async () => {
    const types = (await chunksOf([{ error: new Error("overloaded") }], { maxRetries: 0 })).map(
      (chunk) => chunk.type,
    );
    return types.includes("error");
  },
  "the end of a failed run": onPurpose(
    "A failed run ends with its error chunk, without a finish chunk.",
    async () => {
      const types = (await chunksOf([{ error: new Error("overloaded") }], { maxRetries: 0 })).map(
        (chunk) => chunk.type,
      );
      return types.at(-1);
    },
  ),
  "text after an error of the model": async () => {
    const stream = await agentOf([{ error: new Error("overloaded") }]).stream("Hi");
    return outcome(() => stream.text);
  },
  "onChunk sees text": async () => {
    const seen: string[] = [];
    const stream = await agentOf(["One two"]).stream("Hi", {
      onChunk: (chunk: any) => void seen.push(chunk.type),
    } as any);
    await stream.consumeStream();
    return seen.filter((type) => type === "text-delta").length;
  },
  "onFinish has text, usage and steps": async () => {
    let seen: any;
    const stream = await agentOf([call, "Done"]).stream("Hi", {
      onFinish: (result: any) => void (seen = result),
    } as any);
    await stream.consumeStream();
    return {
      text: seen.text,
      reason: seen.finishReason,
      steps: seen.steps.length,
      total: seen.totalUsage?.totalTokens,
    };
  },
};
