// A program of somebody who switched by an alias: what it names is under @mastra, what those packages name is under
// @selvedge, so two copies of the core meet in one process. It tells what came of it as JSON.
import { setTimeout as sleep } from "node:timers/promises";
import { AgentError, Mastra, RequestContext } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore } from "@mastra/libsql";
import { MCPClient, MCPServer } from "@mastra/mcp";
import { Memory } from "@mastra/memory";
import { MastraClient } from "@mastra/client-js";
import * as own from "@selvedge/core";
import { Agent as OwnAgent } from "@selvedge/core/agent";
import { TokenLimiter } from "@selvedge/core/processors";
import { listQueued, watchQueue } from "@selvedge/core/threads";
import { createTool as createOwnTool } from "@selvedge/core/tools";
import { serve } from "@selvedge/server/node";
import { scriptedModel } from "@selvedge/testing";
import { z } from "zod";

const found = {};
const add = createTool({
  id: "add",
  description: "adds",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ context }) => ({ sum: context.a + context.b }),
});
const shout = createOwnTool({
  id: "shout",
  description: "shouts",
  inputSchema: z.object({ text: z.string() }),
  execute: async ({ context }) => context.text.toUpperCase(),
});
const pay = createOwnTool({
  id: "pay",
  description: "pays",
  inputSchema: z.object({ amount: z.number() }),
  requireApproval: true,
  execute: async ({ context }) => {
    if (context.amount > 10) throw new own.AgentError("forbidden", "Too much.");
    return { paid: context.amount };
  },
});

const storage = new LibSQLStore({ url: `file:${process.argv[2]}` });
const memory = new Memory({ storage, options: { lastMessages: 20 } });
const texts = (prompt) => JSON.stringify(prompt);
const model = scriptedModel(({ prompt }) => {
  const last = prompt.at(-1);
  if (last.role === "tool") return `done: ${texts(last.content)}`;
  const said = texts(last.content);
  if (said.includes("add")) return { toolCalls: [{ toolName: "add", input: { a: 2, b: 3 } }] };
  if (said.includes("shout")) return { toolCalls: [{ toolName: "shout", input: { text: "hey" } }] };
  if (said.includes("pay")) return { toolCalls: [{ toolName: "pay", input: { amount: 5 } }] };
  return `I have heard: ${texts(prompt)}`;
});
const agent = new Agent({
  id: "weaver",
  name: "Weaver",
  description: "weaves",
  instructions: ({ requestContext }) => `For ${requestContext.get("customer")}.`,
  model,
  memory,
  tools: { add, shout, pay },
  inputProcessors: [new TokenLimiter(100_000)],
});
found.copies = {
  agents: Agent !== OwnAgent,
  hosts: Mastra !== own.Mastra,
  isKnownThere: own.AgentError.is(new AgentError("not-found", "x"), "not-found"),
};

// An agent of one copy, tools of both, a memory, a store and a processor of the other.
const here = { memory: { thread: "t", resource: "r" } };
const requestContext = new own.RequestContext([["customer", "ann"]]);
found.add = (await agent.generate("add", { ...here, requestContext })).toolResults.map(
  ({ payload }) => payload.result,
);
found.shout = (await agent.generate("shout", { ...here, requestContext })).toolResults.map(
  ({ payload }) => payload.result,
);
const remembered = (await agent.generate("what was said?", { ...here, requestContext: new RequestContext() }))
  .text;
found.remembers = ["add", "shout", "HEY"].every((word) => remembered.includes(word));
found.instructions = texts(model.calls[0].prompt).includes("For ann.");

// A host of one copy behind a server of the other, with an MCP server that has tools and an agent of both.
const mcp = new MCPServer({
  id: "tools",
  name: "tools",
  version: "1.0.0",
  tools: { add, shout },
  agents: { weaver: agent },
});
const mastra = new Mastra({ agents: { agent }, storage, mcpServers: { mcp }, logger: false });
await mastra.start();
const server = await serve({ mastra, port: 0 });
const mcpClient = new MCPClient({
  id: "alias",
  servers: { tools: { url: new URL(`${server.url}/api/mcp/tools/mcp`) } },
});
const remoteTools = await mcpClient.getTools();
found.mcpTools = Object.keys(remoteTools).sort();
const visitor = new Agent({
  id: "visitor",
  name: "Visitor",
  instructions: "",
  model: scriptedModel([{ toolCalls: [{ toolName: "tools_shout", input: { text: "over" } }] }, "Said."]),
  tools: remoteTools,
});
const visit = await visitor.generate("go");
found.overMcp = texts(visit.toolResults.map(({ payload }) => payload.result)).includes("OVER");

const client = new MastraClient({ baseUrl: server.url, retries: 0 });
const remote = client.getAgent("weaver");
found.missing = await client
  .getAgent("nobody")
  .generate("x")
  .catch(({ status }) => status);
const stream = await remote.stream("pay", { memory: { thread: "paid", resource: "r" } });
let waiting;
for await (const chunk of stream) if (chunk.type === "tool-call-approval") waiting = chunk;
const approved = await remote.approveToolCall({
  runId: waiting.runId,
  toolCallId: waiting.payload.toolCallId,
});
let answer = "";
for await (const chunk of approved) if (chunk.type === "text-delta") answer += chunk.payload.text;
found.approved = answer.includes('\\"paid\\":5') || answer.includes('"paid":5');

// Agents of both copies on one thread of one store: one run at a time, whoever owns it.
let running = 0;
let most = 0;
const slow = () =>
  scriptedModel(async () => {
    most = Math.max(most, ++running);
    await sleep(30);
    running--;
    return "slow";
  });
const parts = { name: "Turn", instructions: "", memory };
const one = new Agent({ ...parts, id: "one", model: slow() });
const two = new OwnAgent({ ...parts, id: "two", model: slow() });
const shared = { memory: { thread: "shared", resource: "r" } };
await Promise.all(
  [1, 2, 3, 4].flatMap((turn) => [one.generate(`one ${turn}`, shared), two.generate(`two ${turn}`, shared)]),
);
found.atOnce = most;
found.messages = (
  await (await storage.getStore("memory")).listMessages({ threadId: "shared", perPage: 0 })
).total;

// What one copy queues, the other is told of at once, as the server is that shows the queue.
const { promise: opened, resolve: open } = Promise.withResolvers();
const { promise: entered, resolve: enter } = Promise.withResolvers();
const late = new Agent({
  ...parts,
  id: "late",
  model: scriptedModel(async () => {
    enter();
    await opened;
    return "late";
  }),
});
const place = { threadId: "late", resourceId: "r" };
const subscription = await late.subscribeToThread(place);
late.sendMessage("first", place);
await entered;
let told = 0;
const stop = watchQueue(storage, "late", () => told++);
await late.queueMessage("second", place).admitted;
found.toldOfQueue = told > 0;
stop();
found.queued = (await listQueued(storage, "late")).length;
open();
let finished = 0;
for await (const chunk of subscription.stream) if (chunk.type === "finish" && ++finished === 2) break;
found.finished = finished;
subscription.unsubscribe();

// What was deleted through one copy does not live on in the other.
await memory.deleteThread({ threadId: "t" });
const anew = (await agent.generate("what was said?", { ...here, requestContext })).text;
found.forgotten = !anew.includes("HEY");

await mcpClient.disconnect();
await server.close();
await mastra.close();
await storage.close();
process.stdout.write(`${JSON.stringify(found)}\n`);
