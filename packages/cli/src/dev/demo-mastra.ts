import { join } from "node:path";
import { Mastra } from "@selvedge/core";
import { resolveModel } from "@selvedge/core/model";
import { LibSQLStore } from "@selvedge/libsql";
import { chooseModel } from "../choose-model.ts";
import { demoController } from "../demo/demo-controller.ts";
import { demoWorkflow } from "../demo/demo-workflow.ts";
import { toUrl } from "../storage-url.ts";

/** A host for users without a project: an agent, a controller and a workflow, on the default file. */
export async function createDemoMastra(options: {
  model: string | undefined;
  storage: string;
}): Promise<{ mastra: Mastra; about: string }> {
  const choice = await chooseModel(options.model, process.env);
  await resolveModel(choice.model);
  const storage = new LibSQLStore({ url: toUrl(options.storage) });
  const { agent, controller } = await demoController({
    choice,
    storage,
    notesFile: join(".selvedge", "notes.md"),
  });
  const mastra = new Mastra({
    agents: { assistant: agent },
    agentControllers: { demo: controller },
    workflows: { "weave-order": demoWorkflow(choice) },
    storage,
    notifications: { dispatch: { enabled: true, cron: "*/5 * * * * *" } },
  });
  return { mastra, about: `no project found: the demo with ${choice.name}, ${choice.why}` };
}
