import { Mastra, silentLogger } from "@selvedge/core";
import { InMemoryStorage } from "@selvedge/core/storage";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { serve } from "@selvedge/server/node";
import { studioFolder } from "@selvedge/studio";
import { z } from "zod";

export const MANY = 200;

/** A server with the studio and workflows that are quick, that fail, and that are long. */
export interface WorkflowShop {
  readonly url: string;
  close(): Promise<void>;
}

const order = z.object({ metres: z.int().min(1).max(60) });

function orderWorkflow() {
  /** By run: the machine jams once in each. */
  const jammed = new Set<string>();
  const check = createStep({
    id: "check",
    description: "Refuses 13 metres, whatever is tried.",
    inputSchema: order,
    outputSchema: order,
    retries: 2,
    execute: async ({ inputData, runId }) => {
      if (inputData.metres === 13) throw new Error("Nobody weaves 13 metres.");
      if (!jammed.has(runId)) {
        jammed.add(runId);
        throw new Error("The loom jammed.");
      }
      return inputData;
    },
  });
  const warp = createStep({
    id: "warp",
    inputSchema: order,
    outputSchema: z.object({ warped: z.number() }),
    execute: async ({ inputData }) => ({ warped: inputData.metres }),
  });
  const dye = createStep({
    id: "dye",
    inputSchema: order,
    outputSchema: z.object({ shade: z.string() }),
    execute: async ({ inputData }) => ({ shade: `indigo ${inputData.metres}` }),
  });
  const rinse = createStep({
    id: "rinse",
    inputSchema: z.object({ shade: z.string() }),
    outputSchema: z.object({ shade: z.string() }),
    execute: async ({ inputData }) => ({ shade: `${inputData.shade}, rinsed` }),
  });
  const dyeing = createWorkflow({
    id: "dyeing",
    inputSchema: order,
    outputSchema: z.object({ shade: z.string() }),
  })
    .then(dye)
    .then(rinse)
    .commit();
  const approve = createStep({
    id: "approve",
    inputSchema: z.object({
      warp: z.object({ warped: z.number() }),
      dyeing: z.object({ shade: z.string() }),
    }),
    outputSchema: z.object({ shade: z.string(), by: z.string() }),
    resumeSchema: z.object({
      by: z
        .string()
        .min(2)
        .refine((name) => name !== "Nobody", "Nobody may not."),
    }),
    execute: async ({ inputData, resumeData, suspend }) =>
      resumeData ? { shade: inputData.dyeing.shade, by: resumeData.by } : suspend({ ask: "May it leave?" }),
  });
  return createWorkflow({
    id: "order",
    description: "A quick order.",
    inputSchema: order,
    outputSchema: z.object({ shade: z.string(), by: z.string() }),
    schedule: { cron: "0 3 * * *", timezone: "Europe/Rome", inputData: { metres: 5 } },
  })
    .then(check)
    .parallel([warp, dyeing])
    .then(approve)
    .commit();
}

function longWorkflow() {
  const count = z.object({ count: z.number() });
  const workflow = createWorkflow({ id: "long", inputSchema: count, outputSchema: count });
  for (let index = 0; index < MANY; index++) {
    const execute = async ({ inputData }: { inputData: { count: number } }) => ({
      count: inputData.count + 1,
    });
    workflow.then(createStep({ id: `step-${index}`, inputSchema: count, outputSchema: count, execute }));
  }
  return workflow.commit();
}

export async function openWorkflowShop(): Promise<WorkflowShop> {
  const mastra = new Mastra({
    workflows: { order: orderWorkflow(), long: longWorkflow() },
    storage: new InMemoryStorage(),
    logger: silentLogger,
  });
  const server = await serve({ mastra, port: 0, studio: studioFolder() });
  return {
    url: server.url,
    close: async () => {
      server.http.closeAllConnections();
      await server.close();
      await mastra.close();
    },
  };
}
