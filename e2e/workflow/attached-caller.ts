import { Mastra, silentLogger } from "@selvedge/core";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { LibSQLStore } from "@selvedge/libsql";
import { z } from "zod";

// A program without a server: nothing but its calls keeps it alive.
const [how, url] = process.argv.slice(2) as [string, string];
const any = { inputSchema: z.any(), outputSchema: z.any() };
const nap = createWorkflow({ id: "nap", ...any })
  .sleep(2_500)
  .then(createStep({ id: "end", ...any, execute: async () => "rested" }))
  .commit();
const mastra = new Mastra({
  workflows: { nap },
  storage: new LibSQLStore({ id: "store", url }),
  logger: silentLogger,
});
const run = await nap.createRun({ runId: "r" });
switch (how) {
  case "start":
    await run.startAsync({ inputData: 1 });
    break;
  case "restart":
    console.log((await run.restart()).status);
    break;
  case "attach":
    console.log((await run.resumeStream().result).status);
    break;
  default:
    for await (const { type } of run.observeStream()) if (type === "workflow-finish") console.log("success");
}
if (how === "start") process.kill(process.pid, "SIGKILL");
await mastra.close();
