import assert from "node:assert/strict";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { createNotificationInboxTool } from "@selvedge/core/notifications";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { FolderSource } from "./watch-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "selvedge-example-"));
const inTray = join(folder, "in");
await mkdir(inTray);
const storage = new LibSQLStore({ url: ":memory:" });

// One tool for the whole inbox: the model lists, reads and archives notifications.
const notificationInbox = createNotificationInboxTool({ storage: await storage.getStore("notifications") });
const inbox = (input: object) => ({ toolCalls: [{ toolName: "notificationInbox", input }] });
const model = scriptedModel([
  inbox({ action: "read" }),
  "Two invoices came in; I read both.",
  "The server room is hot. I have called somebody.",
]);

const agent = new Agent({
  name: "clerk",
  instructions: "Triage what arrives.",
  model,
  memory: new Memory({ storage }),
  tools: { notificationInbox },
  // Low-priority notifications are batched into one summary.
  notifications: { batchWindow: 1_000 },
});
const mastra = new Mastra({
  agents: { agent },
  storage,
  // Every second, to keep the example short. The default is once a minute.
  notifications: { dispatch: { enabled: true, cron: "* * * * * *" } },
});
await mastra.start();

const thread = { resourceId: "office", threadId: "desk" };
const { stream } = await agent.subscribeToThread(thread);
const source = new FolderSource(inTray, agent, thread);

async function arrive(name: string, text: string): Promise<void> {
  await writeFile(join(folder, name), text);
  await rename(join(folder, name), join(inTray, name));
}

await arrive("invoice-1.txt", "40 EUR");
await arrive("invoice-2.txt", "70 EUR");

const summaries: unknown[] = [];
let runs = 0;
for await (const chunk of stream) {
  if (chunk.type === "data-signal") {
    const { tagName, contents } = chunk.data as { tagName: string; contents: string };
    console.log(`<${tagName}> ${contents}`);
    if (tagName === "notification-summary") {
      summaries.push(contents);
      // The summary did not start a run. A person asks, and the agent reads its inbox.
      agent.sendMessage("What came in?", thread);
    }
  }
  if (chunk.type === "text-delta") console.log(chunk.payload.text);
  if (chunk.type !== "finish" || chunk.payload.output.usage.totalTokens === 0) continue;
  runs += 1;
  if (runs === 2) break;
  // This one is urgent, so it wakes the agent immediately.
  await arrive("urgent-alarm.txt", "server room at 41 degrees");
}

assert.deepEqual(summaries, ["folder: 2"]);
const read = JSON.stringify(model.calls[1]!.prompt);
assert.ok(read.includes("invoice-1.txt arrived: 40 EUR</notification>"));
assert.ok(read.includes("invoice-2.txt arrived: 70 EUR</notification>"));
const alarm = `<notification source="folder" type="new-file" priority="urgent" status="delivered">urgent-alarm.txt arrived: server room at 41 degrees</notification>`;
assert.ok(JSON.stringify(model.calls[2]!.prompt).includes(JSON.stringify(alarm).slice(1, -1)));

source[Symbol.dispose]();
await mastra.close();
await rm(folder, { recursive: true });
