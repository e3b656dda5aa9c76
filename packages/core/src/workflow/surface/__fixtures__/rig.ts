import { Mastra, silentLogger } from "@selvedge/core";
import { InMemoryStorage } from "@selvedge/core/storage";
import { createStep, createWorkflow, type ExecuteParams, type Workflow } from "@selvedge/core/workflows";
import { type VirtualSystem, virtualSystem } from "@selvedge/testing";
import { z } from "zod";

export const PLACES = ["in memory", "in a store"] as const;
export type Place = (typeof PLACES)[number];

export const any = { inputSchema: z.any(), outputSchema: z.any() };

/** A step from a function; without one it returns its input. */
export const step = <const Id extends string>(
  id: Id,
  execute: (params: ExecuteParams) => unknown = ({ inputData }) => inputData as unknown,
  more: object = {},
) => createStep({ id, ...any, execute: async (params) => execute(params), ...more });

/** A step that waits for a person and returns the answer. */
export const asking = <const Id extends string>(id: Id, more: object = {}) =>
  step(id, ({ resumeData, suspend }) => resumeData ?? suspend({ ask: id }), more);

export const flow = (more: object = {}) => createWorkflow({ id: "w", ...any, ...more });

export interface Rig {
  system: VirtualSystem;
  mastra: Mastra;
}

/** A host with these workflows, on a clock that the test moves. */
export function rig(place: Place, workflows: Workflow<any, any, any, any, any>[], more: object = {}): Rig {
  const system = virtualSystem();
  const storage = place === "in memory" ? {} : { storage: new InMemoryStorage({ system }) };
  const named = Object.fromEntries(workflows.map((workflow) => [workflow.id, workflow]));
  const mastra = new Mastra({ ...storage, system, logger: silentLogger, workflows: named, ...more });
  return { system, mastra };
}

/** Runs a workflow until it rests. */
export async function start(
  place: Place,
  workflow: Workflow<any, any, any, any, any>,
  inputData: unknown = "in",
  options: object = {},
  { host, run: runOptions }: { host?: object; run?: object } = {},
) {
  const { system, mastra } = rig(place, [workflow], host);
  const run = await workflow.createRun(runOptions);
  const result = await system.until(run.start({ inputData, ...options }));
  return { run, result, system, mastra, workflow };
}

/** All events of a stream. */
export async function collect<Chunk>(stream: AsyncIterable<Chunk>): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}
