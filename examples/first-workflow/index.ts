import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { Mastra } from "@selvedge/core";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { LibSQLStore } from "@selvedge/libsql";
import { z } from "zod";

const approve = createStep({
  id: "approve",
  inputSchema: z.object({ amount: z.number() }),
  outputSchema: z.object({ approvedBy: z.string() }),
  resumeSchema: z.object({ name: z.string() }),
  execute: async ({ inputData, resumeData, suspend }) => {
    if (!resumeData) return suspend({ question: `Refund ${inputData.amount}?` });
    return { approvedBy: resumeData.name };
  },
});

const refund = createWorkflow({
  id: "refund",
  inputSchema: z.object({ amount: z.number() }),
  outputSchema: z.object({ approvedBy: z.string() }),
})
  .then(approve)
  .commit();

const storage = new LibSQLStore({ url: "file:refunds.db" });
const mastra = new Mastra({ workflows: { refund }, storage });

const run = await mastra.getWorkflow("refund").createRun();
const asked = await run.start({ inputData: { amount: 40 } });
console.log(asked.status); // suspended: you could stop the process here and resume the run in another one

const result = await run.resume({ step: approve, resumeData: { name: "Ada" } });
if (result.status === "success") console.log(result.result.approvedBy); // Ada
await mastra.close();

assert.equal(asked.status, "suspended");
assert.equal(result.status, "success");
for (const file of ["refunds.db", "refunds.db-wal", "refunds.db-shm"]) await rm(file, { force: true });
