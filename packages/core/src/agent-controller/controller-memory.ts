import { AgentError } from "../errors.ts";
import type { MastraMemory, MemoryAgent, MemoryParts, MemoryRun } from "../memory/memory.ts";
import type { Storage } from "../storage/storage.ts";

export interface ControllerMemoryOptions {
  storage(): Storage;
  choose(run: MemoryRun): Promise<MastraMemory>;
  /** The memories of all modes. */
  all(): Promise<Iterable<MastraMemory>>;
  /** The controller's agent, as its memories see it. */
  agent(own: MemoryAgent): MemoryAgent;
}

/** The memory of a controller's runs: one store for all threads, and per run the memory of its mode. */
export class ControllerMemory implements MastraMemory {
  readonly #options: ControllerMemoryOptions;

  constructor(options: ControllerMemoryOptions) {
    this.#options = options;
  }

  get storage(): Storage {
    return this.#options.storage();
  }

  useStorage(): void {}

  async prepareRun(run: MemoryRun): Promise<MemoryParts> {
    const { choose, agent } = this.#options;
    const memory = await choose(run);
    checkStore(memory, this.storage);
    return memory.prepareRun({ ...run, agent: run.agent && agent(run.agent) });
  }

  async serve(own: MemoryAgent): Promise<void> {
    const { all, agent } = this.#options;
    for (const memory of await all()) await memory.serve?.(agent(own));
  }
}

/** Gives a memory the store, unless it has one. Two stores would mean two histories. */
export function checkStore(memory: MastraMemory, storage: Storage): void {
  memory.useStorage(storage);
  if (memory.storage === storage) return;
  throw new AgentError(
    "invalid-argument",
    `The memory uses store "${memory.storage?.id}", but its controller uses "${storage.id}". Pass the same store to both, or only to the controller.`,
  );
}
