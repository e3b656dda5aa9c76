import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Agent, Mastra } from "@selvedge/core";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { z } from "zod";
import { observedStorage } from "../kill/observed-storage.ts";

export interface ChildConfig {
  file: string;
  /** Each line is something that was executed. */
  marks: string;
  /** The process ends around this commit. */
  kill?: { commit: number; when: "before" | "after" };
}

/*
 * Orders something: an agent calls a workflow, which waits for a person. Whatever an earlier process left is taken up. Ends
 * when the agent has answered, and prints what is stored.
 */
const { file, marks, kill } = JSON.parse(process.argv[2]!) as ChildConfig;
const mark = (text: string): void => appendFileSync(marks, `${text}\n`);

let commits = 0;
const dieAt = (when: "before" | "after") => (): void => {
  if (kill?.when === when && commits === kill.commit) process.kill(process.pid, "SIGKILL");
  if (when === "after") commits += 1;
};
const storage = observedStorage(new LibSQLStore({ url: `file:${file}`, durability: "process-safe" }), {
  beforeCommit: dieAt("before"),
  afterCommit: dieAt("after"),
});

const order = z.object({ count: z.number() });
const price = createStep({
  id: "price",
  inputSchema: order,
  outputSchema: z.object({ total: z.number() }),
  execute: async ({ inputData, once }) => {
    mark("price");
    return { total: await once("total", () => inputData.count * 10) };
  },
});
const approve = createStep({
  id: "approve",
  inputSchema: z.object({ total: z.number() }),
  outputSchema: z.object({ total: z.number() }),
  resumeSchema: z.object({ approved: z.boolean() }),
  execute: async ({ inputData, resumeData, suspend }) => {
    mark(resumeData ? "approved" : "asked");
    return resumeData ? inputData : suspend({ question: `${inputData.total}?` });
  },
});
const ship = createStep({
  id: "ship",
  inputSchema: z.object({ total: z.number() }),
  outputSchema: z.object({ shipped: z.number() }),
  execute: async ({ inputData }) => {
    mark("ship");
    return { shipped: inputData.total };
  },
});
const workflow = createWorkflow({
  id: "order",
  inputSchema: order,
  outputSchema: z.object({ shipped: z.number() }),
})
  .then(price)
  .then(approve)
  .then(ship)
  .commit();

const model = scriptedModel(({ prompt }) =>
  prompt.at(-1)?.role === "tool"
    ? "Ordered."
    : { toolCalls: [{ toolCallId: "c1", toolName: "workflow-order", input: { inputData: { count: 20 } } }] },
);
const agent = new Agent({
  id: "clerk",
  name: "Clerk",
  instructions: "Order.",
  model,
  memory: new Memory({ storage }),
  workflows: { order: workflow },
});
const mastra = new Mastra({ agents: { agent }, workflows: { workflow }, storage, logger: false });
const thread = { resourceId: "ann", threadId: "desk" };

await mastra.start();
await agent.sendMessage("Order twenty.", { ...thread, idempotencyKey: "order" }).admitted;
const memory = (await storage.getStore("memory"))!;
for (;;) {
  const { messages } = await memory.listMessages({ threadId: thread.threadId });
  const text = JSON.stringify(messages);
  if (text.includes("Ordered.")) {
    const { runs } = await workflow.listWorkflowRuns();
    const results = text.split(`"shipped":200`).length - 1;
    process.stdout.write(
      JSON.stringify({ commits, runs: runs.map(({ snapshot }) => snapshot.status), results }),
    );
    break;
  }
  const { runs } = await agent.listSuspendedRuns({ threadId: thread.threadId });
  for (const run of runs)
    await agent
      .sendToolApproval({ ...thread, toolCallId: "c1", approved: true, resumeData: { approved: true } })
      .catch(() => run);
  await delay(10);
}
process.exit(0);
