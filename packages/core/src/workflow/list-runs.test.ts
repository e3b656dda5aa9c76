import { expect, it } from "vitest";
import { z } from "zod";
import { silentLogger } from "../logger.ts";
import { Mastra } from "../mastra/mastra.ts";
import { InMemoryDriver } from "../storage/in-memory-driver.ts";
import { Storage } from "../storage/storage.ts";
import { createStep } from "./create-step.ts";
import { createWorkflow } from "./workflow.ts";
import { WORKFLOW_STEPS } from "./workflow-tables.ts";

it("lists runs without reading a step, however many they have", async () => {
  const driver = new InMemoryDriver("counted");
  const any = { inputSchema: z.any(), outputSchema: z.any() };
  const step = createStep({ id: "a", ...any, execute: async ({ inputData }) => inputData as unknown });
  const workflow = createWorkflow({ id: "w", ...any })
    .then(step)
    .commit();
  const storage = new Storage(driver, { id: "counted" });
  const mastra = new Mastra({ workflows: { workflow }, storage, logger: silentLogger });
  const run = await workflow.createRun();
  await run.start({ inputData: 1 });
  const select = driver.select.bind(driver);
  const tables: string[] = [];
  driver.select = async (queries) => {
    tables.push(...queries.map(({ table }) => table.name));
    return select(queries);
  };
  const head = {
    runId: run.runId,
    workflowId: "w",
    status: "success",
    createdAt: expect.any(Number) as number,
  };
  expect(await workflow.listRunHeads({ perPage: 10 })).toMatchObject({ heads: [head], total: 1 });
  expect(tables).not.toContain(WORKFLOW_STEPS.name);
  const { runs } = await workflow.listWorkflowRuns();
  expect(runs).toMatchObject([{ runId: run.runId, snapshot: { status: "success" } }]);
  await mastra.close();
});
