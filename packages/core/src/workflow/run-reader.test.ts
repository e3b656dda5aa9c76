import { expect, it } from "vitest";
import { z } from "zod";
import { silentLogger } from "../logger.ts";
import { Mastra } from "../mastra/mastra.ts";
import { InMemoryDriver } from "../storage/in-memory-driver.ts";
import { Storage } from "../storage/storage.ts";
import { createStep } from "./create-step.ts";
import { createWorkflow } from "./workflow.ts";
import { WORKFLOW_RUNS } from "./workflow-tables.ts";

/** A store in which someone travels in time between any two reads. */
class RestlessDriver extends InMemoryDriver {
  isRestless = false;
  reads = 0;

  override async select(
    queries: Parameters<InMemoryDriver["select"]>[0],
  ): ReturnType<InMemoryDriver["select"]> {
    const answers = await super.select(queries);
    if (!this.isRestless) return answers;
    return answers.map((rows, index) => {
      const { table, columns } = queries[index]!;
      // The last read of those that give events their values.
      if (table !== WORKFLOW_RUNS || !columns?.includes("input")) return rows;
      this.reads++;
      return rows.map((row) => ("first_seq" in row ? { ...row, first_seq: 1_000_000 } : row));
    });
  }
}

it("gives up reading a run whose events are replaced each time they are read", async () => {
  const driver = new RestlessDriver("restless");
  const storage = new Storage(driver, { id: "restless" });
  const schema = z.number();
  const step = createStep({
    id: "s",
    inputSchema: schema,
    outputSchema: schema,
    execute: async ({ inputData }) => inputData + 1,
  });
  const workflow = createWorkflow({ id: "w", inputSchema: schema, outputSchema: schema }).then(step).commit();
  const mastra = new Mastra({ workflows: { w: workflow }, storage, logger: silentLogger });
  await (await workflow.createRun({ runId: "r" })).start({ inputData: 1 });
  driver.isRestless = true;
  const reading = async (): Promise<void> => {
    const run = await workflow.createRun({ runId: "r" });
    for await (const _ of run.observeStream());
  };
  await expect(reading()).rejects.toMatchObject({ code: "reader-too-slow" });
  expect(driver.reads).toBeLessThan(100);
  await mastra.close();
});
