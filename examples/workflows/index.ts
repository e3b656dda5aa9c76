import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { LibSQLStore } from "@selvedge/libsql";
import { scriptedModel } from "@selvedge/testing";
import { z } from "zod";

const order = z.object({ item: z.string(), price: z.number() });
const charges: string[] = [];

// Scripted models, so this runs without an API key. With a key: model: "openai/gpt-5.5".
const stock = new Agent({
  id: "stock",
  name: "Stock clerk",
  instructions: "Say how many are left.",
  model: scriptedModel(() => "Four are left."),
});
const market = new Agent({
  id: "market",
  name: "Market clerk",
  instructions: "Say whether the price is usual.",
  model: scriptedModel(() => "The price is usual."),
});

const approve = createStep({
  id: "approve",
  inputSchema: z.object({ stock: z.object({ text: z.string() }), market: z.object({ text: z.string() }) }),
  outputSchema: z.object({ approvedBy: z.string() }),
  suspendSchema: z.object({ question: z.string() }),
  resumeSchema: z.object({ name: z.string() }),
  execute: async ({ inputData, getInitData, resumeData, suspend }) => {
    const { item, price } = getInitData<typeof purchase>();
    const { stock, market } = inputData;
    if (!resumeData) return suspend({ question: `Buy ${item} for ${price}? ${stock.text} ${market.text}` });
    return { approvedBy: resumeData.name };
  },
});

const pay = createStep({
  id: "pay",
  inputSchema: z.object({ approvedBy: z.string() }),
  outputSchema: z.object({ receipt: z.string() }),
  retries: 2,
  execute: async ({ inputData, once, retryCount }) => {
    // Stored at once: the retry does not charge again.
    const receipt = await once("charge", async () => `receipt ${charges.push(inputData.approvedBy)}`);
    if (retryCount === 0) throw new Error("The connection was lost after the charge.");
    return { receipt };
  },
});

const purchase = createWorkflow({
  id: "purchase",
  inputSchema: order,
  outputSchema: z.object({ receipt: z.string() }),
})
  .map(async ({ inputData }) => ({ prompt: `${inputData.item} for ${inputData.price}` }))
  .parallel([createStep(stock), createStep(market)])
  .then(approve)
  .sleep(50)
  .then(pay)
  .commit();

const folder = await mkdtemp(join(tmpdir(), "selvedge-example-"));
const open = () =>
  new Mastra({
    workflows: { purchase },
    storage: new LibSQLStore({ url: `file:${join(folder, "runs.db")}` }),
    logger: false,
  });

const first = open();
const run = await first.getWorkflow("purchase").createRun();
const asked = await run.start({ inputData: { item: "lamp", price: 30 } });
assert.equal(asked.status, "suspended");
console.log(asked.status === "suspended" && asked.suspendPayload["approve"].question);
// Buy lamp for 30? Four are left. The price is usual.
await first.close();

// Later, in another process: the run is in the store.
const second = open();
const again = await second.getWorkflow("purchase").createRun({ runId: run.runId });
const result = await again.resume({ step: approve, resumeData: { name: "Ada" } });
assert.equal(result.status, "success");
console.log(result.status === "success" && result.result.receipt); // receipt 1

assert.deepEqual(charges, ["Ada"]); // The step ran twice, the charge once.
assert.deepEqual(result.steps["stock"], asked.steps["stock"]); // Asked once, in the first process.

// Every event has a number, and the store has them all.
const types: string[] = [];
for await (const chunk of again.observeStream()) types.push(chunk.type);
assert.equal(types[0], "workflow-start");
assert.equal(types.filter((type) => type === "workflow-step-suspended").length, 1);
assert.equal(types.at(-1), "workflow-finish");

await second.close();
await rm(folder, { recursive: true });
