import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { chatRoute, handleChatStream, toAISdkStream, workflowRoute } from "@mastra/ai-sdk";
import { toAISdkV5Messages } from "@mastra/ai-sdk/ui";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { createUIMessageStreamResponse, readUIMessageStream } from "ai";
import { z } from "zod";
import { scripted, type Reply } from "../model.ts";
import { outcome, type Probes } from "../probe.ts";

const add = createTool({
  id: "add",
  description: "Adds",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async (input: any) => ({ sum: input.a + input.b }),
});
const call = { calls: [{ tool: "add", input: { a: 1, b: 2 } }] };
const user = (text: string) => ({ id: text, role: "user", parts: [{ type: "text", text }] }) as any;

function world(replies: readonly Reply[], more: Record<string, unknown> = {}) {
  const model = scripted(replies);
  const helper = new Agent({
    id: "helper",
    name: "Helper",
    instructions: "x",
    model: model as any,
    tools: { add },
    ...more,
  });
  return { model, helper, mastra: new Mastra({ agents: { helper }, logger: false }) };
}

/** What the AI SDK makes of a stream. */
async function message(stream: any): Promise<any> {
  let last: any;
  for await (const one of readUIMessageStream({ stream })) last = one;
  return last;
}

const types = (parts: any[]) => parts.map(({ type }) => type).filter((type) => type !== "step-start");

async function chat(replies: readonly Reply[], options: Record<string, unknown> = {}): Promise<any> {
  const { mastra } = world(replies);
  const params = { messages: [user("hello")] };
  return message(await handleChatStream({ mastra, agentId: "helper", params, ...options } as any));
}

export const probes: Probes = {
  "a chat becomes a message": async () => {
    const { role, parts } = await chat(["Hello there"]);
    return { role, text: parts.filter((part: any) => part.type === "text").map((part: any) => part.text) };
  },
  "a tool call is a part with its result": async () => {
    const { parts } = await chat([call, "Three"]);
    const part = parts.find((one: any) => one.type === "tool-add");
    return { types: types(parts), state: part.state, input: part.input, output: part.output };
  },
  "reasoning is left out": async () => types((await chat([{ reasoning: "Hm", text: "Yes" }])).parts),
  "reasoning is sent if asked for": async () =>
    types((await chat([{ reasoning: "Hm", text: "Yes" }], { sendReasoning: true })).parts),
  "message metadata": async () => {
    const messageMetadata = ({ part }: any) => (part.type === "start" ? { from: "probe" } : undefined);
    return (await chat(["Yes"], { messageMetadata })).metadata;
  },
  "an unknown agent throws": () => outcome(() => chat(["x"], { agentId: "nobody" })),
  "a stream of an agent is converted": async () => {
    const { helper } = world([call, "Three"]);
    const stream = await helper.stream("hello");
    return types((await message(toAISdkStream(stream as any, { from: "agent" } as any))).parts);
  },
  "the options of a chat reach the run": async () => {
    const { mastra, model } = world(["Yes"]);
    const params = { messages: [user("hello")], instructions: "Shout." } as any;
    await message(await handleChatStream({ mastra, agentId: "helper", params } as any));
    return model.prompts[0].prompt[0].content;
  },
  "default options reach the run": async () => {
    const { mastra, model } = world(["Yes"]);
    const params = { messages: [user("hello")] } as any;
    const defaultOptions = { instructions: "Whisper." };
    await message(await handleChatStream({ mastra, agentId: "helper", params, defaultOptions } as any));
    return model.prompts[0].prompt[0].content;
  },
  "a chat on a thread remembers": async () => {
    const storage = new LibSQLStore({ id: "chat", url: ":memory:" });
    const { mastra, model } = world(["One", "Two"], { memory: new Memory({ storage }) });
    for (const text of ["first", "second"]) {
      const params = { messages: [user(text)], memory: { thread: "t", resource: "r" } } as any;
      await message(await handleChatStream({ mastra, agentId: "helper", params } as any));
    }
    return model.prompts[1].prompt.map(({ role }: any) => role);
  },
  "a response for useChat": async () => {
    const { mastra } = world(["Hello"]);
    const params = { messages: [user("hello")] } as any;
    const stream = (await handleChatStream({ mastra, agentId: "helper", params } as any)) as any;
    const response = createUIMessageStreamResponse({ stream });
    const text = await response.text();
    return {
      type: response.headers.get("content-type"),
      done: text.trimEnd().endsWith("data: [DONE]"),
      says: text.includes("Hello"),
    };
  },
  "stored messages become UI messages": () => {
    const stored = {
      id: "m",
      role: "assistant",
      createdAt: new Date(0),
      content: { format: 2, parts: [{ type: "text", text: "Hi" }] },
    };
    return toAISdkV5Messages([stored] as any).map(({ id, role, parts }: any) => ({
      id,
      role,
      parts: parts.map(({ type, text }: any) => ({ type, text })),
    }));
  },
  "routes for a chat and a workflow": () => {
    const routes = [
      chatRoute({ path: "/chat", agent: "helper" }),
      chatRoute({ path: "/chat/:agentId" }),
      workflowRoute({ path: "/flow", workflow: "flow" }),
    ] as any[];
    return routes.map(({ path, method }) => ({ path, method }));
  },
  "a chat route must name its agent": () => outcome(() => (chatRoute as any)({ path: "/chat" }).path),
  "a stream of a workflow is converted": async () => {
    const step = createStep({
      id: "double",
      inputSchema: z.object({ n: z.number() }),
      outputSchema: z.object({ n: z.number() }),
      execute: async ({ inputData }) => ({ n: inputData.n * 2 }),
    });
    const flow = createWorkflow({
      id: "flow",
      inputSchema: z.object({ n: z.number() }),
      outputSchema: z.any(),
    })
      .then(step)
      .commit();
    const run = await flow.createRun();
    const stream = run.stream({ inputData: { n: 2 } } as any);
    const { parts } = await message(toAISdkStream(stream as any, { from: "workflow" } as any));
    const part = parts.find(({ type }: any) => type === "data-workflow");
    return { status: part.data.status, output: part.data.steps.double.output };
  },
};
