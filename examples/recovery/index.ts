import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { thread, worker } from "./worker.ts";

const folder = await mkdtemp(join(tmpdir(), "selvedge-example-"));

// A process of its own takes a message and begins to work. In the middle of its second tool it is killed.
const child = fork(new URL("child.ts", import.meta.url), [folder]);
await once(child, "message");
child.kill("SIGKILL");
await once(child, "exit");

// This process opens the same file. What the other left unfinished is taken up as the host starts.
const { mastra, agent } = worker(folder);
const subscription = await agent.subscribeToThread({ ...thread, after: 0 });
await mastra.start();

const results: unknown[] = [];
let last = 0;
for await (const chunk of subscription.stream) {
  assert.equal(chunk.seq, ++last); // One stream, without a gap, of two processes.
  if (chunk.type === "tool-result" || chunk.type === "tool-error") results.push(chunk.payload.toolName);
  if (chunk.type === "text-delta") console.log(chunk.payload.text);
  if (chunk.type === "finish") break;
}

// `charge` had run and was not run again. `notify` was under way: it is declared idempotent, so it was.
assert.deepEqual(results, ["charge", "notify"]);
assert.equal(await readFile(join(folder, "charge"), "utf8"), "x");
assert.equal(await readFile(join(folder, "notify"), "utf8"), "xx");

await mastra.close();
await rm(folder, { recursive: true });
