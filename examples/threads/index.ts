import assert from "node:assert/strict";
import { Agent } from "@selvedge/core/agent";
import { InMemoryStore } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { z } from "zod";

const search = createTool({
  id: "search",
  description: "Searches the notes.",
  inputSchema: z.object({ query: z.string() }),
  execute: async ({ context }) => {
    // While the tool runs, another person sends a message.
    if (context.query === "notes") await interject();
    return `nothing about ${context.query}`;
  },
});

const paid: number[] = [];
const pay = createTool({
  id: "pay",
  description: "Pays an amount.",
  inputSchema: z.object({ amount: z.number() }),
  requireApproval: true,
  execute: async ({ context }) => ({ paid: paid.push(context.amount) }),
});

const model = scriptedModel([
  { toolCalls: [{ toolName: "search", input: { query: "notes" } }] },
  "Here is the comparison, with the edge cases.",
  { toolCalls: [{ toolName: "pay", input: { amount: 40 } }] },
  "Paid.",
]);
const memory = new Memory({ storage: new InMemoryStore() });
const agent = new Agent({ name: "helper", instructions: "Help.", model, memory, tools: { search, pay } });

// Subscribe first. You receive everything that happens on the thread, run after run.
const thread = { resourceId: "team", threadId: "launch" };
const subscription = await agent.subscribeToThread(thread);

// The thread is idle, so this starts a run. `admitted` resolves once the message is stored.
const first = agent.sendMessage("Compare the two plans.", thread);
assert.equal((await first.admitted).action, "wake");

// This message waits for its turn and then starts a separate run.
const second = agent.queueMessage("Then pay for the better one.", thread);
assert.equal((await second.admitted).action, "queue");

// The thread is active, so this message joins the active run at its next step.
async function interject(): Promise<void> {
  const note = { contents: "Also cover the edge cases.", attributes: { name: "Devin", from: "slack" } };
  const sent = agent.sendMessage(note, { ...thread, idempotencyKey: "slack-1764" });
  assert.deepEqual(await sent.admitted, { action: "deliver", runId: first.runId });
}

const ended: string[] = [];
for await (const chunk of subscription.stream) {
  if (chunk.type === "text-delta") console.log(chunk.seq, chunk.payload.text);
  if (chunk.type === "tool-call-approval") {
    // The run is stored and waits. Any process can decide, now or next week; the first decision counts.
    const { toolCallId } = chunk.payload;
    await agent.sendToolApproval({ ...thread, toolCallId, approved: true });
  }
  if (chunk.type === "finish") {
    if (chunk.payload.stepResult.reason === "suspended") continue;
    ended.push(chunk.runId);
    if (ended.length === 2) break;
  }
}

assert.deepEqual(ended, [first.runId, second.runId]);
assert.deepEqual(paid, [40]);
const read = JSON.stringify(model.calls[1]!.prompt.at(-1));
assert.ok(read.includes(JSON.stringify(`<user name="Devin" from="slack">Also cover the edge cases.</user>`)));

// A late or returning reader passes the number of the last chunk it received.
const again = await agent.subscribeToThread({ ...thread, after: 3 });
for await (const chunk of again.stream) {
  assert.equal(chunk.seq, 4);
  break;
}
