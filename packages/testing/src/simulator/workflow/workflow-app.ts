import { Mastra, silentLogger } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { createTool } from "@selvedge/core/tools";
import type { Row, Storage } from "@selvedge/core/storage";
import { scriptedModel } from "../../scripted-model.ts";
import type { PlantedFault } from "../planted-faults.ts";
import { SimMemory } from "../sim-memory.ts";
import type { SimProcess } from "../sim-process.ts";
import { SimStorage } from "../sim-storage.ts";
import { buildFlow, type FlowOutside } from "./build-flow.ts";
import type { FlowDef } from "./flow.ts";
import { WORKFLOW_RUNS } from "./planted-workflow-faults.ts";
import type { WorkflowLedger } from "./workflow-ledger.ts";

/** A process with the workflows of a world: the real engine on a simulated store. */
export interface WorkflowApp {
  process: SimProcess;
  workflows: Map<string, ReturnType<typeof buildFlow>>;
  storage: SimStorage;
  close(): Promise<void>;
  closing?: Promise<void>;
}

export interface WorkflowSurroundings {
  shared: Storage;
  ledger: WorkflowLedger;
  flows: readonly FlowDef[];
  planted: PlantedFault | undefined;
}

export function startWorkflowApp(process: SimProcess, around: WorkflowSurroundings): WorkflowApp {
  const { world } = process;
  const { flows, planted, shared, ledger } = around;
  const storage = new SimStorage(process, {
    shared,
    planted,
    sessions: undefined,
    committed: (writes) => ledger.committed(writes),
  });
  const agents: Record<string, Agent> = {};
  const outside = outsideOf(process, around, storage, agents);
  const workflows = new Map(flows.map((flow) => [flow.id, buildFlow(flow, outside)]));
  const logger = !world.trace
    ? silentLogger
    : {
        ...silentLogger,
        warn: (message: string, error: unknown) =>
          world.note(() => `${process.name} warns: ${message}: ${String(error)}`),
        error: (message: string, error: unknown) =>
          world.note(() => `${process.name} error: ${message}: ${String(error)}`),
      };
  const mastra = new Mastra({
    agents,
    workflows: Object.fromEntries(workflows),
    storage,
    system: process,
    logger,
    threads: {
      ...(world.plan.retentionMs !== undefined && { retentionMs: world.plan.retentionMs }),
      ...(world.plan.maxRuns !== undefined && { maxRuns: world.plan.maxRuns }),
    },
    notifications: { dispatch: { enabled: false } },
  });
  mastra.start().catch((error: unknown) => {
    world.note(() => `${process.name} cannot start: ${String(error)}`);
    if (world.random.chance(0.5)) process.crash();
  });
  return { process, workflows, storage, close: () => mastra.close() };
}

/** Workflows that only read what is stored. */
export function observeWorkflows(
  process: SimProcess,
  { shared, flows }: Pick<WorkflowSurroundings, "shared" | "flows">,
): WorkflowApp["workflows"] {
  const never = (): never => {
    throw new Error("An observer executes nothing.");
  };
  const agents: Record<string, Agent> = {};
  const outside: FlowOutside = {
    began: never,
    work: never,
    effect: never,
    kept: never,
    ended: never,
    coin: never,
    fresh: never,
    now: never,
    agent: (id) => (agents[id] ??= new Agent({ id, name: id, instructions: "", model: scriptedModel([]) })),
  };
  const workflows = new Map(flows.map((flow) => [flow.id, buildFlow(flow, outside)]));
  new Mastra({
    workflows: Object.fromEntries(workflows),
    storage: shared,
    system: process,
    logger: silentLogger,
    threads: { recover: false },
    workflowRuns: { recover: false },
  });
  return workflows;
}

function outsideOf(
  process: SimProcess,
  { ledger, shared }: WorkflowSurroundings,
  storage: SimStorage,
  agents: Record<string, Agent>,
): FlowOutside {
  const { world } = process;
  const { random } = world;
  /** The run as it is stored at this moment. */
  const runRow = async (runId: string): Promise<Row | undefined> =>
    (await shared.select({ table: WORKFLOW_RUNS, where: { run_id: runId } }))[0];
  const work = async (label: string): Promise<void> => {
    const ms = random.chance(0.1) ? random.between(500, 20_000) : random.between(0, 15);
    process.toolsAtWork++;
    await process.work(label, ms);
    process.toolsAtWork--;
  };
  return {
    async began(execution) {
      ledger.began(process.name, execution);
      const row = await runRow(execution.runId);
      // One that stood still for longer than its lease finds out with its next commit.
      if (row?.["status"] === "canceled" && world.plan.pause + world.plan.slow === 0)
        ledger.beganInCancelled(execution);
    },
    work: () => work("step works"),
    async effect(execution, name) {
      // A process that lost the run goes on with the step it is in until it writes.
      if (!execution.step.idempotent || (await runRow(execution.runId))?.["owner"] === process.name)
        ledger.effect(execution, name);
      await work("effect happens");
      return world.nextNumber();
    },
    kept: (execution, name, value) => ledger.kept(execution, name, value),
    ended: ({ step, runId }, how) => world.note(() => `${process.name} ${step.id} of ${runId} ${how}`),
    coin: () => random.chance(0.5),
    fresh: () => world.nextNumber(),
    now: () => process.now(),
    agent: (id, asks) => (agents[id] ??= simAgent(process, storage, id, asks)),
  };
}

/** An agent that calls a tool and says what it was asked for, with other words each time. */
function simAgent(process: SimProcess, storage: SimStorage, id: string, asks: boolean): Agent {
  const { world } = process;
  const model = scriptedModel(async ({ prompt }) => {
    await process.work("model thinks", world.random.between(0, 20));
    if (prompt.at(-1)?.role !== "tool")
      return { toolCalls: [{ toolName: "look", input: {}, toolCallId: `call-${world.nextNumber()}` }] };
    const asked = [...JSON.stringify(prompt).matchAll(/prompt (\d+)/g)].at(-1)?.[1];
    return `answer to ${asked}, ${world.nextNumber()}`;
  });
  return new Agent({
    id,
    name: id,
    instructions: "Answer.",
    model,
    memory: new SimMemory(storage),
    tools: {
      look: createTool({
        id: "look",
        description: "Looks.",
        idempotent: true,
        requireApproval: asks,
        execute: async () => {
          await process.work("tool works", world.random.between(0, 20));
          return { seen: world.nextNumber() };
        },
      }),
    },
  }) as unknown as Agent;
}
