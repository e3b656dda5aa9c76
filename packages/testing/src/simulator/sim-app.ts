import { Agent } from "@selvedge/core/agent";
import type { AgentController } from "@selvedge/core/agent-controller";
import { Mastra, silentLogger } from "@selvedge/core";
import type { Storage } from "@selvedge/core/storage";
import type { Ledger } from "./ledger.ts";
import { POLICY, type SimInbox } from "./sim-inbox.ts";
import type { PlantedFault } from "./planted-faults.ts";
import { SimMemory } from "./sim-memory.ts";
import { simController } from "./sim-controller.ts";
import { simModel } from "./sim-model.ts";
import type { SimCommands } from "./sim-commands.ts";
import type { SimFiles } from "./sim-files.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimSessions } from "./sim-sessions.ts";
import { SimStorage } from "./sim-storage.ts";
import { simTools } from "./sim-tools.ts";

/** Two agents share the threads: most messages are for the first. */
export type AgentName = "agent" | "other";

/** The app that a simulated process runs: the real agent, runtime and host on a simulated store. */
export interface SimApp {
  process: SimProcess;
  agents: Record<AgentName, Agent>;
  storage: SimStorage;
  /** In worlds with sessions. */
  controller: AgentController | undefined;
  /** Ends in order: gives its threads back, then closes its store. */
  close(): Promise<void>;
  /** Set when it has begun to. */
  closing?: Promise<void>;
}

/** What all processes of a world have in common. */
export interface SimSurroundings {
  shared: Storage;
  ledger: Ledger;
  inbox: SimInbox | undefined;
  sessions: SimSessions | undefined;
  files: SimFiles | SimCommands | undefined;
  planted: PlantedFault | undefined;
}

export function startApp(process: SimProcess, around: SimSurroundings): SimApp {
  const { world } = process;
  const { ledger, inbox, sessions, files, planted } = around;
  const storage = new SimStorage(process, around);
  const memory = new SimMemory(storage);
  const tools = simTools(process, ledger, storage, planted);
  const makeAgent = (id: AgentName): Agent =>
    new Agent({
      id,
      name: id,
      instructions: "Answer.",
      model: simModel(process, files?.nextCall),
      memory,
      ...(files && { workspace: files.workspace(process) }),
      notifications: {
        deliveryPolicy: { sources: POLICY },
        ...(inbox && { batchWindow: inbox.batchWindow }),
      },
      tools: async () => {
        // What an app looks up before a run takes time as well.
        if (world.random.chance(0.1)) await process.work("tools are looked up", world.random.between(0, 10));
        return tools;
      },
    });
  const agents = { agent: makeAgent("agent"), other: makeAgent("other") };
  const logger = !world.trace
    ? silentLogger
    : {
        ...silentLogger,
        warn: (message: string, error: unknown) =>
          world.note(() => `${process.name} warns: ${message}: ${String(error)}`),
        error: (message: string, error: unknown) =>
          world.note(() => `${process.name} error: ${message}: ${String(error)}`),
      };
  const controller = sessions && simController(process, { ledger, memory, sessions, logger });
  const mastra = new Mastra({
    agents,
    ...(controller && { agentControllers: { controller } }),
    storage,
    system: process,
    logger,
    threads: {
      ...(world.plan.retentionMs !== undefined && { retentionMs: world.plan.retentionMs }),
      ...(world.plan.maxRuns !== undefined && { maxRuns: world.plan.maxRuns }),
    },
    notifications: { dispatch: { enabled: inbox?.dispatches(process.slot) ?? false } },
  });
  mastra.start().catch((error: unknown) => {
    world.note(() => `${process.name} cannot start: ${String(error)}`);
    // Some apps end then, and whoever watches over them starts them again; others go on, and the runtime tries again.
    if (world.random.chance(0.5)) process.crash();
  });
  return { process, agents, storage, controller, close: () => mastra.close() };
}
