import { Agent } from "@selvedge/core/agent";
import { Mastra, silentLogger } from "@selvedge/core";
import type { InMemoryStorage } from "@selvedge/core/storage";
import type { Ledger } from "./ledger.ts";
import type { PlantedFault } from "./planted-faults.ts";
import { SimMemory } from "./sim-memory.ts";
import { simModel } from "./sim-model.ts";
import type { SimProcess } from "./sim-process.ts";
import { SimStorage } from "./sim-storage.ts";
import { simTools } from "./sim-tools.ts";

/** The app that a simulated process runs: the real agent, runtime and host on a simulated store. */
export interface SimApp {
  process: SimProcess;
  agent: Agent;
  storage: SimStorage;
}

export function startApp(
  process: SimProcess,
  shared: InMemoryStorage,
  ledger: Ledger,
  planted: PlantedFault | undefined,
): SimApp {
  const { world } = process;
  const storage = new SimStorage(process, shared, planted);
  const agent = new Agent({
    id: "agent",
    name: "Agent",
    instructions: "Answer.",
    model: simModel(process),
    tools: simTools(process, ledger, planted),
    memory: new SimMemory(storage),
  });
  const logger = !world.trace
    ? silentLogger
    : {
        ...silentLogger,
        warn: (message: string, error: unknown) =>
          world.note(() => `${process.name} warns: ${message}: ${String(error)}`),
        error: (message: string, error: unknown) =>
          world.note(() => `${process.name} error: ${message}: ${String(error)}`),
      };
  const mastra = new Mastra({ agents: { agent }, storage, system: process, logger });
  mastra.start().catch((error: unknown) => {
    // As an app would: it cannot start, so it ends, and whoever watches over it starts it again.
    world.note(() => `${process.name} cannot start: ${String(error)}`);
    process.crash();
  });
  return { process, agent: agent as Agent, storage };
}
