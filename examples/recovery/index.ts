import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { thread, worker } from "./worker.ts";

const folder = await mkdtemp(join(tmpdir(), "selvedge-example-"));

// A child process accepts a message and starts working. It is killed in the middle of its second tool call.
const child = fork(new URL("child.ts", import.meta.url), [folder]);
await once(child, "message");
child.kill("SIGKILL");
await once(child, "exit");

// This process opens the same file and continues the unfinished run when the host starts.
const { mastra, agent } = worker(folder);
const subscription = await agent.subscribeToThread({ ...thread, after: 0 });
await mastra.start();

const results: unknown[] = [];
let last = 0;
for await (const chunk of subscription.stream) {
  assert.equal(chunk.seq, ++last); // One gapless stream, written by two processes.
  if (chunk.type === "tool-result" || chunk.type === "tool-error") results.push(chunk.payload.toolName);
  if (chunk.type === "text-delta") console.log(chunk.payload.text);
  if (chunk.type === "finish") break;
}

// `charge` had finished, so it did not run again. `notify` was interrupted; it is idempotent, so it did.
assert.deepEqual(results, ["charge", "notify"]);
assert.equal(await readFile(join(folder, "charge"), "utf8"), "x");
assert.equal(await readFile(join(folder, "notify"), "utf8"), "xx");

await mastra.close();
await rm(folder, { recursive: true });
