// A worker that begins a run on each of its threads and waits to be killed.
import { PostgresStore } from "@selvedge/pg";
import { LEASE, openApp } from "./bench-app.ts";

const [connectionString, schemaName, name, threads] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
];
const store = new PostgresStore({ connectionString, schemaName });
const script = (): { text: string[]; chunkDelayMs: number } => ({ text: ["a", "b"], chunkDelayMs: 600_000 });
const { agent, mastra } = openApp(store, script, { lease: LEASE });
await mastra.start();
for (let index = 0; index < Number(threads); index++)
  await agent.sendMessage("Go.", { threadId: `${name}-${index}`, resourceId: name }).admitted;
setTimeout(() => process.send?.("running"), 500);
