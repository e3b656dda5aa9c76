import { MastraClient } from "@selvedge/client-js";
import { Mastra, silentLogger } from "@selvedge/core";
import { InMemoryStorage } from "@selvedge/core/storage";
import { createStep, createWorkflow, type Workflow } from "@selvedge/core/workflows";
import { serve } from "@selvedge/server/node";
import { z } from "zod";

export interface WorkflowPage {
  refund: Workflow;
  client: MastraClient;
  /** Stops the server for as long as `meanwhile` takes. */
  restart(meanwhile: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** A workflow that waits for an approval, behind a real server, with a client. Its first step ends with `until`. */
export async function servedWorkflow(until?: Promise<void>): Promise<WorkflowPage> {
  const refund = refundWorkflow(until);
  const mastra = new Mastra({
    workflows: { refund },
    storage: new InMemoryStorage(),
    logger: silentLogger,
  });
  let server = await serve({ mastra, port: 0 });
  return {
    refund: refund as Workflow,
    client: new MastraClient({ baseUrl: server.url, backoffMs: 5 }),
    restart: async (meanwhile) => {
      const { port } = server;
      server.http.closeAllConnections();
      await server.close();
      await meanwhile();
      server = await serve({ mastra, port });
    },
    close: async () => {
      server.http.closeAllConnections();
      await server.close();
      await mastra.close();
    },
  };
}

function refundWorkflow(until: Promise<void> | undefined) {
  const order = z.object({ order: z.string() });
  const approval = z.object({ approved: z.boolean() });
  const amount = z.object({ amount: z.number() });
  const find = createStep({
    id: "find",
    inputSchema: order,
    outputSchema: amount,
    execute: async () => {
      await until;
      return { amount: 40 };
    },
  });
  const approve = createStep({
    id: "approve",
    inputSchema: amount,
    outputSchema: approval,
    resumeSchema: approval,
    suspendSchema: amount,
    execute: async ({ inputData, resumeData, suspend }) => resumeData ?? suspend(inputData),
  });
  return createWorkflow({ id: "refund", inputSchema: order, outputSchema: approval })
    .then(find)
    .then(approve)
    .commit();
}
