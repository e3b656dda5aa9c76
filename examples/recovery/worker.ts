import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { createTool } from "@selvedge/core/tools";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";

export const thread = { resourceId: "shop", threadId: "order-7" };

/** The program that both processes run. Each tool appends a line to a file when it runs. */
export function worker(folder: string, onNotify: () => Promise<void> = async () => {}) {
  const storage = new LibSQLStore({ url: `file:${join(folder, "threads.db")}` });
  const charge = createTool({
    id: "charge",
    description: "Charges the card.",
    execute: async () => appendFile(join(folder, "charge"), "x"),
  });
  const notify = createTool({
    id: "notify",
    description: "Tells the customer.",
    idempotent: true,
    execute: async () => {
      await appendFile(join(folder, "notify"), "x");
      await onNotify();
    },
  });
  const model = scriptedModel(({ prompt }) => {
    const steps = prompt.filter((message) => message.role === "tool").length;
    const toolName = ["charge", "notify"][steps];
    return toolName ? { toolCalls: [{ toolName, input: {} }] } : "The order is done.";
  });
  const memory = new Memory({ storage });
  const agent = new Agent({
    name: "shop",
    instructions: "Handle orders.",
    model,
    memory,
    tools: { charge, notify },
  });
  return { mastra: new Mastra({ agents: { agent }, storage }), agent };
}
