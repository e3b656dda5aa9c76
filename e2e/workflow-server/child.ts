import { appendFileSync, existsSync } from "node:fs";
import { Mastra, silentLogger } from "@selvedge/core";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { LibSQLStore } from "@selvedge/libsql";
import { serve } from "@selvedge/server/node";
import { z } from "zod";

/** A server with a workflow that notes each execution of a step. The test kills it. */

const [folder = "", port = "0"] = process.argv.slice(2);
const note = (step: string): void => appendFileSync(`${folder}/notes`, `${step}\n`);

const order = z.object({ order: z.string() });
const priced = order.extend({ amount: z.number() });
const approval = z.object({ approved: z.boolean() });

const find = createStep({
  id: "find",
  inputSchema: order,
  outputSchema: priced,
  execute: async ({ inputData }) => {
    note("find");
    return { ...inputData, amount: 40 };
  },
});

/** Holds the run until the test has killed the process that began it. */
const check = createStep({
  id: "check",
  inputSchema: priced,
  outputSchema: priced,
  execute: async ({ inputData }) => {
    note("check");
    while (!existsSync(`${folder}/go`)) await new Promise((resolve) => setTimeout(resolve, 20));
    return inputData;
  },
});

const approve = createStep({
  id: "approve",
  inputSchema: priced,
  outputSchema: priced.extend({ approved: z.boolean() }),
  resumeSchema: approval,
  suspendSchema: z.object({ amount: z.number() }),
  execute: async ({ inputData, resumeData, suspend }) => {
    note(resumeData ? "approved" : "approve");
    if (!resumeData) return suspend({ amount: inputData.amount });
    return { ...inputData, ...resumeData };
  },
});

const refund = createWorkflow({
  id: "refund",
  inputSchema: order,
  outputSchema: priced.extend({ approved: z.boolean() }),
})
  .then(find)
  .then(check)
  .then(approve)
  .commit();

const mastra = new Mastra({
  workflows: { refund },
  storage: new LibSQLStore({ url: `file:${folder}/runs.db` }),
  logger: silentLogger,
});
await mastra.start();
const server = await serve({ mastra, port: Number(port) });
process.send?.({ port: server.port });
