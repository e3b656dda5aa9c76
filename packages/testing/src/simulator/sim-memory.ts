import type { MastraMemory, MemoryParts } from "@selvedge/core/memory";
import type { Processor } from "@selvedge/core/processors";
import type { CloneThreadOptions, CloneThreadResult, Storage } from "@selvedge/core/storage";

/** A memory that shows a run the whole history of its thread. */
export class SimMemory implements MastraMemory {
  readonly storage: Storage;

  constructor(storage: Storage) {
    this.storage = storage;
  }

  useStorage(): void {}

  async cloneThread(options: CloneThreadOptions): Promise<CloneThreadResult> {
    return (await this.storage.getStore("memory"))!.cloneThread(options);
  }

  async prepareRun(): Promise<MemoryParts> {
    const store = await this.storage.getStore("memory");
    const history: Processor = {
      id: "history",
      async processInput({ messageList, threadId }) {
        if (threadId === undefined) return;
        messageList.prepend((await store?.recentMessages({ threadId, limit: 1000 })) ?? []);
      },
    };
    return { inputProcessors: [history], outputProcessors: [], tools: {} };
  }
}
