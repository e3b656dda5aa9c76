import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { createTool } from "@selvedge/core/tools";
import { Memory } from "@selvedge/memory";
import { PostgresStore } from "@selvedge/pg";
import { scriptedModel } from "@selvedge/testing";

export const thread = { resourceId: "shop", threadId: "order-7" };

/** The program that every machine runs. All of them share one database. */
export function worker(connectionString: string, deliver: (key: string) => Promise<void>) {
  const storage = new PostgresStore({ id: "threads", connectionString, schemaName: "shop" });
  const notify = createTool({
    id: "notify",
    description: "Tells the customer.",
    idempotent: true,
    execute: async (_, { idempotencyKey }) => deliver(idempotencyKey),
  });
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === "tool")
      ? "The customer knows."
      : { toolCalls: [{ toolName: "notify", input: {} }] },
  );
  const memory = new Memory({ storage });
  const agent = new Agent({ name: "shop", instructions: "Handle orders.", model, memory, tools: { notify } });
  // A process that does not answer for 2 seconds counts as dead. The default is 15.
  const lease = { leaseMs: 2_000, renewMs: 500 };
  return { mastra: new Mastra({ agents: { agent }, storage, threads: { lease } }), agent };
}
