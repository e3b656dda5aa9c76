import { readUIMessageStream, type UIMessage } from "ai";
import { Agent, Mastra, silentLogger } from "@selvedge/core";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { scriptedModel } from "@selvedge/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { handleChatStream, handleWorkflowStream, toAISdkStream } from "./index.ts";
import { toAISdkV5Messages } from "./ui.ts";

const step = createStep({
  id: "double",
  inputSchema: z.object({ n: z.number() }),
  outputSchema: z.object({ n: z.number() }),
  execute: async ({ inputData }) => ({ n: inputData.n * 2 }),
});
const flow = createWorkflow({
  id: "flow",
  inputSchema: z.object({ n: z.number() }),
  outputSchema: z.object({ n: z.number() }),
})
  .then(step)
  .commit();

const helper = new Agent({ name: "helper", instructions: "", model: scriptedModel(() => "Hello.") });
const mastra = new Mastra({ agents: { helper }, workflows: { flow }, logger: silentLogger });

async function read(stream: ReadableStream): Promise<UIMessage> {
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream })) last = message;
  return last!;
}

it("converts streams of agents and workflows for the AI SDK", async () => {
  const said = await read(toAISdkStream(await helper.stream("Hi"), { from: "agent", version: "v6" }));
  expect(said.parts.at(-1)).toMatchObject({ type: "text", text: "Hello." });
  const run = await flow.createRun();
  const stream = run.stream({ inputData: { n: 2 } });
  const { parts } = await read(toAISdkStream(stream, { from: "workflow" }));
  expect(parts.at(-1)).toMatchObject({
    type: "data-workflow",
    data: { status: "success", steps: { double: { output: { n: 4 } } } },
  });
});

it("answers chats and runs workflows", async () => {
  const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "Hi" }] }];
  const said = await read(
    await handleChatStream({ mastra, agentId: "helper", params: { messages }, version: "v5" }),
  );
  expect(said.parts.at(-1)).toMatchObject({ text: "Hello." });
  const ran = await read(
    await handleWorkflowStream({ mastra, workflowId: "flow", params: { inputData: { n: 1 } } }),
  );
  expect(ran.parts.at(-1)).toMatchObject({ data: { status: "success" } });
});

it("converts stored messages for useChat", () => {
  const stored = {
    id: "m",
    role: "assistant",
    createdAt: new Date(0),
    content: { format: 2, parts: [{ type: "text", text: "Hi" }] },
  };
  expect(toAISdkV5Messages([stored])).toMatchObject([
    { id: "m", role: "assistant", parts: [{ type: "text", text: "Hi" }] },
  ]);
});
