import { Agent, Mastra } from "@selvedge/core";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { z } from "zod";

/* One of several processes that fire the same schedules, every second, until it is killed. */
const storage = new LibSQLStore({ url: `file:${process.argv[2]!}` });
const agent = new Agent({
  id: "clerk",
  name: "Clerk",
  instructions: "Report.",
  model: scriptedModel(() => "Nothing new."),
  memory: new Memory({ storage }),
});
const io = { inputSchema: z.any(), outputSchema: z.any() };
const report = createWorkflow({ id: "report", ...io, schedule: { cron: "* * * * * *", timezone: "UTC" } })
  .then(createStep({ id: "write", ...io, execute: async () => "written" }))
  .commit();
const mastra = new Mastra({ agents: { agent }, workflows: { report }, storage, logger: false });
await mastra.start();
await mastra.schedules
  .create({
    id: "ask",
    agentId: "clerk",
    prompt: "What is new?",
    cron: "* * * * * *",
    timezone: "UTC",
    resourceId: "ann",
    threadId: "desk",
    ifIdle: { behavior: "persist" },
    ifActive: { behavior: "persist" },
  })
  .catch(() => "Another process was faster.");
process.stdout.write("ready\n");
// Schedules do not keep a process alive.
setInterval(() => {}, 1000);
