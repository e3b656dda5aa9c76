import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { companion, conversation, messages } from "./companion.ts";

const folder = await mkdtemp(join(tmpdir(), "selvedge-example-"));

// A child process talks for a while. It is killed while the observer works in the background.
const child = fork(new URL("child.ts", import.meta.url), [folder]);
await once(child, "message");
child.kill("SIGKILL");
await once(child, "exit");

// This process opens the same file. The interrupted observation is done again when the host starts.
const { mastra, agent, memory, model } = companion(folder);
const diary = { threadId: conversation.thread, resourceId: conversation.resource };
await mastra.start();
const before = await memory.recall({ ...diary, perPage: false });
const said = before.messages.filter(({ role }) => role !== "assistant").length;
for (const message of messages.slice(said)) await agent.generate(message, { memory: conversation });

const { text } = await agent.generate("What is my cat called?", { memory: conversation });
console.log(text);
assert.equal(text, "Your cat is called Turing.");

// The message itself left the prompt long ago: the answer comes from the notes.
await memory.settled();
const prompt = JSON.stringify(model.calls.at(-1)?.prompt);
assert.match(prompt, /The user's cat is called Turing\./);
assert.doesNotMatch(prompt, /sunshine/);

// All messages are still in the store, each once.
const { total, messages: stored } = await memory.recall({ ...diary, perPage: false });
const full = JSON.stringify(stored);
assert.equal(new Set(stored.map(({ id }) => id)).size, total);
assert.match(full, /sunshine/);
console.log(`The last prompt has ${prompt.length} characters, the conversation ${full.length}.`);
assert.ok(prompt.length < full.length / 3);

await mastra.close();
await rm(folder, { recursive: true });
