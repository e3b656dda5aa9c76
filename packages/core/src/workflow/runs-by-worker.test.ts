import { expect, it } from "vitest";
import { z } from "zod";
import { Mastra } from "../mastra/mastra.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createStep } from "./create-step.ts";
import { workflowRunsByWorker } from "./runs-by-worker.ts";
import { createWorkflow } from "./workflow.ts";

it("names the runs that a process carries out, and not those that wait or have ended", async () => {
  const storage = new InMemoryStorage();
  const any = { inputSchema: z.any(), outputSchema: z.any() };
  const gate = Promise.withResolvers<string>();
  const work = createWorkflow({ id: "work", ...any })
    .then(createStep({ id: "busy", ...any, execute: () => gate.promise }))
    .then(createStep({ id: "ask", ...any, execute: ({ suspend }) => suspend({}) }))
    .commit();
  const mastra = new Mastra({ workflows: { work }, storage });
  const run = await work.createRun({ resourceId: "r" });
  const result = run.start({ inputData: 1 });
  await expect
    .poll(() => workflowRunsByWorker(storage))
    .toEqual(new Map([[storage.ownerId(), [{ runId: run.runId, workflowId: "work", resourceId: "r" }]]]));
  gate.resolve("done");
  expect((await result).status).toBe("suspended");
  expect(await workflowRunsByWorker(storage)).toEqual(new Map());
  await mastra.close();
});
