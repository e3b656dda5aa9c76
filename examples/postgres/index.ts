import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { startServer } from "./server.ts";
import { thread, worker } from "./worker.ts";

const server = await startServer();

// One worker is running and reads the thread. It has nothing to do yet.
const keys: string[] = [];
const { mastra, agent } = worker(server.connectionString, async (key) => void keys.push(key));
await mastra.start();
const subscription = await agent.subscribeToThread({ ...thread, after: 0 });

// Another worker accepts a message and is killed in the middle of its tool call.
const child = fork(new URL("child.ts", import.meta.url), [server.connectionString]);
const [key] = (await once(child, "message")) as [string];
child.kill("SIGKILL");
await once(child, "exit");

// The first worker takes the run over. Nothing has to be restarted.
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
