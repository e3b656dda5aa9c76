import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { serve } from "@selvedge/server/node";
import { scriptedModel } from "@selvedge/testing";

const folder = await mkdtemp(join(tmpdir(), "selvedge-example-"));
const file = join(folder, "app.db");
const lines: string[] = [];
const note = (message: string): void => void lines.push(message);

const helper = new Agent({
  id: "helper",
  name: "Helper",
  instructions: "Help.",
  model: scriptedModel(["Kept."]),
  memory: new Memory(),
});
const mastra = new Mastra({
  agents: { helper },
  storage: new LibSQLStore({ url: `file:${file}` }),
  // Anything with these four methods: console, pino, winston.
  logger: { debug: note, info: note, warn: note, error: note },
});
const server = await serve({ mastra, port: 0 });

// Finish or hand over active runs, then close the store.
async function stop(): Promise<void> {
  await server.close();
  await mastra.close();
}
process.once("SIGTERM", () => void stop());

const health = await fetch(`${server.url}/health`);
assert.equal(health.status, 200);
await helper.generate("Keep this.", { memory: { thread: "t1", resource: "ann" } });

// Take a consistent snapshot of the database while other processes write.
async function copy(to: string): Promise<void> {
  const database = new DatabaseSync(file, { readOnly: true });
  await backup(database, to);
  database.close();
}
const copied = join(folder, "backup.db");
await copy(copied);
await stop();

const storage = new LibSQLStore({ url: `file:${copied}` });
const { messages } = await new Memory({ storage }).recall({ threadId: "t1", resourceId: "ann" });
assert.equal(messages.length, 2);
assert.deepEqual(lines, []);
console.log(`${messages.length} messages are in the copy`);
await storage.close();
await rm(folder, { recursive: true });
