import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import type { ScheduleTrigger } from "@selvedge/core/schedules";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";

const folder = await mkdtemp(join(tmpdir(), "selvedge-example-"));
const thread = { resourceId: "ann", threadId: "desk" };

/** A process of the app. Any number of them may share the file. */
function open(): Mastra {
  const storage = new LibSQLStore({ url: `file:${join(folder, "app.db")}` });
  const model = scriptedModel(() => "Three orders are open.");
  const memory = new Memory({ storage });
  const agent = new Agent({ id: "clerk", name: "Clerk", instructions: "Report briefly.", model, memory });
  return new Mastra({ agents: { agent }, storage });
}

const first = open();
const second = open();
await Promise.all([first.start(), second.start()]);

await first.schedules.create({
  id: "orders",
  agentId: "clerk",
  prompt: "Which orders are open?",
  // Every second, to keep the example short. Usual patterns have five fields: "0 9 * * 1-5".
  cron: "* * * * * *",
  timezone: "Europe/Berlin",
  ...thread,
});

// Both processes are awake at each time. One signal reaches the thread.
let triggers: ScheduleTrigger[] = [];
while (triggers.length < 3) {
  await setTimeout(100);
  triggers = await first.schedules.listTriggers("orders");
}
const paused = await second.schedules.pause("orders");
console.log(paused.status, paused.nextFireAt); // paused undefined

for (const { scheduledFireAt, outcome } of triggers) console.log(new Date(scheduledFireAt), outcome);

const times = triggers.map(({ scheduledFireAt }) => scheduledFireAt);
assert.equal(new Set(times).size, times.length);
assert.ok(triggers.every(({ outcome }) => outcome === "published" || outcome === "delivered"));

await Promise.all([first.close(), second.close()]);
await rm(folder, { recursive: true });
