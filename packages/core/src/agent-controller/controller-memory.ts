import { AgentError } from "../errors.ts";
import type { MastraMemory, MemoryParts, MemoryRun } from "../memory/memory.ts";
import type { Storage } from "../storage/storage.ts";

/** The memory of a controller's runs: one store for all threads, and per run the memory of its mode. */
export class ControllerMemory implements MastraMemory {
  readonly #storage: () => Storage;
  readonly #choose: (run: MemoryRun) => Promise<MastraMemory>;

  constructor(storage: () => Storage, choose: (run: MemoryRun) => Promise<MastraMemory>) {
    this.#storage = storage;
    this.#choose = choose;
  }

  get storage(): Storage {
    return this.#storage();
  }

  useStorage(): void {}

  async prepareRun(run: MemoryRun): Promise<MemoryParts> {
    const memory = await this.#choose(run);
    checkStore(memory, this.storage);
    return memory.prepareRun(run);
  }
}

/** Gives a memory the store, unless it has one; two stores would be two histories. */
export function checkStore(memory: MastraMemory, storage: Storage): void {
  memory.useStorage(storage);
  if (memory.storage === storage) return;
  throw new AgentError(
    "invalid-argument",
    `A memory of the controller has another store ("${memory.storage?.id}") than the controller ("${storage.id}"). Give both the same object, or the memory none.`,
  );
}
