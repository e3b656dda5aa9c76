import { AgentError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { MastraMemory } from "../memory/memory.ts";
import type { Storage } from "../storage/storage.ts";
import type { System } from "../system.ts";
import type { LocalThreads } from "../thread/hold/local-threads.ts";
import type { ThreadsConfig } from "./agent-runs.ts";

/** What may change when the agent is registered with a host. */
export interface ThreadsEnvironment {
  system: System;
  logger: Logger;
  threads: ThreadsConfig | undefined;
  durableContextKeys: readonly string[];
}

/** What an agent lends to its threads. */
export interface ThreadsHost {
  readonly id: string;
  readonly name: string;
  environment(): ThreadsEnvironment;
  /** The runtime of the agent's store; a store of this process alone where the agent has no memory. */
  runtime(): LocalThreads | Promise<LocalThreads>;
  memory(): Promise<MastraMemory | undefined>;
}

/** For what cannot be done without a store that lasts. */
export async function requireMemory(
  host: ThreadsHost,
  what: string,
): Promise<MastraMemory & { storage: Storage }> {
  const memory = await host.memory();
  if (memory?.storage) return memory as MastraMemory & { storage: Storage };
  throw new AgentError(
    memory ? "storage-required" : "memory-required",
    `${what} stores something, and agent "${host.name}" has no ${memory ? "storage" : "memory"}. Pass memory: new Memory({ storage }) to the agent.`,
  );
}
