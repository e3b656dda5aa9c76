import { MastraClient } from "@mastra/client-js";
import { Agent } from "@selvedge/core/agent";
import { Mastra } from "@selvedge/core";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { serve } from "@selvedge/server/node";
import { createTool } from "@selvedge/core/tools";
import { z } from "zod";
import { scripted, type Reply } from "../model.ts";
import type { Probes } from "../probe.ts";

// The server is ours on both sides; the client is the reference's on one and ours on the other.

async function withServer<Value>(
  replies: readonly Reply[],
  use: (client: MastraClient) => Promise<Value>,
): Promise<Value> {
  const add = createTool({
    id: "add",
    description: "Adds",
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: async ({ context }) => ({ sum: context.a + context.b }),
  });
  const memory = new Memory({ storage: new LibSQLStore({ id: "s", url: ":memory:" }) });
  const helper = new Agent({
    id: "helper",
    name: "Helper",
    instructions: "Be brief.",
    model: scripted(replies) as any,
    memory,
    tools: { add },
  });
  const mastra = new Mastra({ agents: { helper }, tools: { add }, storage: memory.storage!, logger: false });
  const server = await serve({ mastra, port: 0 });
  try {
    return await use(new MastraClient({ baseUrl: server.url, retries: 0 }));
  } finally {
    await server.close();
    await mastra.close();
  }
}

const place = { memory: { thread: "t1", resource: "ann" } };
const call: Reply = { calls: [{ tool: "add", input: { a: 1, b: 2 } }] };

async function typesOf(response: any): Promise<string[]> {
  const types: string[] = [];
  await response.processDataStream({ onChunk: async (chunk: any) => void types.push(chunk.type) });
  return types;
}

export const probes: Probes = {
  listAgents: () => withServer(["ok"], async (client) => Object.keys(await client.listAgents())),
  "agent details": () =>
    withServer(["ok"], async (client) => (await client.getAgent("helper").details()).name),
  generate: () =>
    withServer(["Hello"], async (client) => (await client.getAgent("helper").generate("Hi")).text),
  "generate with memory": () =>
    withServer(["Hello"], async (client) => {
      await client.getAgent("helper").generate("Hi", place as any);
      const { messages } = await client.getMemoryThread({ threadId: "t1", agentId: "helper" }).listMessages();
      return messages.map((message: any) => message.role);
    }),
  "stream without a thread": () =>
    withServer(["One two"], async (client) => typesOf(await client.getAgent("helper").stream("Hi"))),
  "stream on a thread": () =>
    withServer(["One two"], async (client) =>
      (await typesOf(await client.getAgent("helper").stream("Hi", place as any))).filter(
        (type) => type !== "data-user-message",
      ),
    ),
  "stream with a tool": () =>
    withServer([call, "Done"], async (client) => typesOf(await client.getAgent("helper").stream("Add"))),
  "client tools": () =>
    withServer([{ calls: [{ tool: "pick", input: { color: "red" } }] }, "Picked"], async (client) => {
      const result = await client.getAgent("helper").generate("Pick", {
        clientTools: {
          pick: createTool({
            id: "pick",
            description: "Picks",
            inputSchema: z.object({ color: z.string() }),
            execute: async () => "done",
          }) as any,
        },
      });
      return result.text;
    }),
  threads: () =>
    withServer(["ok"], async (client) => {
      const made = await client.createMemoryThread({
        agentId: "helper",
        resourceId: "ann",
        threadId: "t9",
        title: "Trip",
        metadata: { a: 1 },
      });
      const thread = client.getMemoryThread({ threadId: "t9", agentId: "helper" });
      const found: any = await thread.get();
      await thread.update({ title: "Journey", metadata: { a: 2 }, resourceId: "ann" });
      const updated: any = await thread.get();
      const { threads } = await client.listMemoryThreads({ agentId: "helper", resourceId: "ann" } as any);
      await thread.delete();
      return { id: made.id, title: found.title, updated: updated.title, listed: threads.length };
    }),
  saveMessageToMemory: () =>
    withServer(["ok"], async (client) => {
      await client.createMemoryThread({
        agentId: "helper",
        resourceId: "ann",
        threadId: "t9",
        title: "Trip",
        metadata: {},
      });
      await client.saveMessageToMemory({
        agentId: "helper",
        messages: [
          {
            id: "m1",
            role: "user",
            threadId: "t9",
            resourceId: "ann",
            createdAt: new Date(),
            content: { format: 2, parts: [{ type: "text", text: "kept" }] },
          },
        ],
      } as any);
      const { messages } = await client.getMemoryThread({ threadId: "t9", agentId: "helper" }).listMessages();
      return messages.map((message: any) => message.content.parts[0].text);
    }),
  "listTools and executeTool": () =>
    withServer(["ok"], async (client) => {
      const tools = Object.keys(await client.listTools());
      const result: any = await client.getTool("add").execute({ data: { a: 2, b: 3 } } as any);
      return { tools, result: result.result ?? result };
    }),
  "subscribeToThread reads what sendMessage wakes": () =>
    withServer(["Hello Ann"], async (client) => {
      const agent: any = client.getAgent("helper");
      const subscription = await agent.subscribeToThread({ threadId: "t1", resourceId: "ann" });
      let text = "";
      const reading = subscription.processDataStream({
        onChunk: async (chunk: any) => {
          if (chunk.type === "text-delta") text += chunk.payload.text;
          if (chunk.type === "finish") await (subscription.unsubscribe?.() ?? subscription.body?.cancel?.());
        },
      });
      await agent.sendMessage({ message: "Hi", resourceId: "ann", threadId: "t1" });
      await Promise.race([reading.catch(() => {}), new Promise((resolve) => setTimeout(resolve, 3000))]);
      return text;
    }),
  "approveToolCall over HTTP": () =>
    withServer([call, "Done"], async (client) => {
      const agent: any = client.getAgent("helper");
      const first = await agent.stream("Add", { requireToolApproval: true });
      let runId = "";
      let toolCallId = "";
      await first.processDataStream({
        onChunk: async (chunk: any) => {
          runId = chunk.runId ?? runId;
          if (chunk.type === "tool-call-approval") ({ toolCallId } = chunk.payload);
        },
      });
      return (await typesOf(await agent.approveToolCall({ runId, toolCallId }))).includes("tool-result");
    }),
};
