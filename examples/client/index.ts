import assert from "node:assert/strict";
import { AgentError, createTool, MastraClient } from "@selvedge/client-js";
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { InMemoryStore } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { serve } from "@selvedge/server/node";
import { scriptedModel } from "@selvedge/testing";
import { z } from "zod";

// A local server with one agent, so that this example is self-contained.
const model = scriptedModel([
  "A selvedge is an edge that does not fray.",
  { text: ["The edge ", "that holds."] },
  { toolCalls: [{ toolName: "setColour", toolCallId: "call-1", input: { colour: "indigo" } }] },
  "Your page is indigo now.",
]);
const memory = new Memory({ storage: new InMemoryStore() });
const agent = new Agent({ name: "weaver", instructions: "Answer in one sentence.", model, memory });
const mastra = new Mastra({ agents: { weaver: agent }, logger: false });
const server = await serve({ mastra, port: 0 });

const client = new MastraClient({ baseUrl: server.url });
const weaver = client.getAgent("weaver");

const { text } = await weaver.generate("What is a selvedge?");
console.log(text);

// Subscribe first, so that you receive everything sent from now on.
const thread = { resourceId: "ada", threadId: "looms" };
const subscription = await weaver.subscribeToThread(thread);
const { runId } = await weaver.sendMessage({ message: "Say it shorter.", ...thread });

let shorter = "";
await subscription.processDataStream({
  onChunk: (chunk) => {
    if (chunk.type === "text-delta") shorter += chunk.payload.text;
    if (chunk.type === "finish") subscription.unsubscribe();
  },
  reconnect: true,
});
assert.equal(shorter, "The edge that holds.");

// This tool runs in the browser. The server only knows its description and schema.
let colour = "white";
const setColour = createTool({
  id: "setColour",
  description: "Sets the colour of the page.",
  inputSchema: z.object({ colour: z.string() }),
  execute: ({ context }) => {
    colour = context.colour;
    return { ok: true };
  },
});

const stream = await weaver.stream("Make the page indigo.", {
  memory: { thread: "looms", resource: "ada" },
  clientTools: { setColour },
});
for await (const chunk of stream) if (chunk.type === "text-delta") console.log(chunk.seq, chunk.payload.text);
assert.equal(colour, "indigo");

// Read the stored messages and the current state.
const looms = client.getMemoryThread(thread);
const { messages } = await looms.listMessages();
const { runState } = await looms.state();
assert.equal(messages[0]?.role, "signal");
assert.equal(runState, "idle");

// Call any route by name, including routes without a dedicated method.
const { runs } = await client.call("listRuns", {
  params: { threadId: "looms" },
  query: { resourceId: "ada" },
});
assert.ok(runs.some((run) => run.runId === runId));

// Errors have the same code as on the server.
const error: unknown = await client
  .getAgent("nobody")
  .generate("Hello?")
  .catch((thrown: unknown) => thrown);
assert.ok(AgentError.is(error, "not-found") && !error.retryable);

await server.close();
await mastra.close();
