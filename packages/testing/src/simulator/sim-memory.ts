import type { MastraMemory, MemoryParts, MemoryRun } from "@selvedge/core/memory";
import type { Processor } from "@selvedge/core/processors";
import type { CloneThreadOptions, CloneThreadResult, Storage } from "@selvedge/core/storage";

const SHOWN = 1_000;

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

  historyLimit(): number {
    return SHOWN;
  }

  async prepareRun({ journal }: MemoryRun): Promise<MemoryParts> {
    const store = await this.storage.getStore("memory");
    const history: Processor = {
      id: "history",
      async processInput({ messageList, threadId }) {
        if (threadId === undefined) return;
        const newest = journal
          ? await journal.recentMessages(SHOWN)
          : await store?.recentMessages({ threadId, limit: SHOWN });
        messageList.prepend(newest ?? []);
      },
    };
    return { inputProcessors: [history], outputProcessors: [], tools: {} };
  }
}
