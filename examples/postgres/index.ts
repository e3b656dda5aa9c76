import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { startServer } from "./server.ts";
import { thread, worker } from "./worker.ts";

const server = await startServer();

// A worker accepts a message and is in the middle of its tool call.
const child = fork(new URL("child.ts", import.meta.url), [server.connectionString]);
child.once("exit", (_, signal) => assert.equal(signal, "SIGKILL"));
const [key] = (await once(child, "message")) as [string];

// A second worker starts, reads the thread, and has nothing to do yet. Then the first one is killed.
const keys: string[] = [];
const { mastra, agent } = worker(server.connectionString, async (again) => void keys.push(again));
await mastra.start();
const subscription = await agent.subscribeToThread({ ...thread, after: 0 });
child.kill("SIGKILL");

// The second worker takes the run over. Nothing has to be restarted.
let last = 0;
let text = "";
for await (const chunk of subscription.stream) {
  assert.equal(chunk.seq, ++last); // One gapless stream, written by two processes.
  if (chunk.type === "text-delta") text += chunk.payload.text;
  if (chunk.type === "finish") break;
}
assert.equal(text, "The customer knows.");
assert.deepEqual(keys, [key]); // The idempotent tool ran again, with the same key.
console.log(text);

await mastra.close();
await server.stop();
