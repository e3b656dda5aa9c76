import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@selvedge/core/agent";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";

const folder = await mkdtemp(join(tmpdir(), "selvedge-example-"));
const storage = new LibSQLStore({ url: `file:${join(folder, "memory.db")}` });

const memory = new Memory({
  storage,
  options: { lastMessages: 20, workingMemory: { enabled: true } },
});

const model = scriptedModel([
  {
    text: "Nice to meet you, Ada.",
    toolCalls: [{ toolName: "updateWorkingMemory", input: { memory: "# User\n- Name: Ada" } }],
  },
  "I noted your name.",
  "You are Ada.",
]);
const agent = new Agent({ name: "friend", instructions: "Remember people.", model, memory });

const thread = { thread: "first-chat", resource: "ada" };
await agent.generate("Hi, I am Ada.", { memory: thread });
const { text } = await agent.generate("Who am I?", { memory: thread });
console.log(text);

// The second run read the first message from the store.
const prompt = JSON.stringify(model.calls.at(-1)?.prompt);
assert.match(prompt, /Hi, I am Ada\./);
assert.match(prompt, /Name: Ada/);

// Your app reads and manages threads through the same memory.
const { messages } = await memory.recall({ threadId: "first-chat", resourceId: "ada" });
console.log(messages.map((message) => message.role));
assert.deepEqual(
  messages.map((message) => message.role),
  ["user", "assistant", "user", "assistant"],
);
await memory.deleteThread("first-chat");
assert.equal(await memory.getThreadById({ threadId: "first-chat" }), null);

await storage.close();
await rm(folder, { recursive: true });
