import type { MastraMemory, MemoryParts } from "../memory/memory.ts";
import type { Processor } from "../processor/processor.ts";
import type { Storage } from "../storage/storage.ts";

/** How many messages a model sees by default. */
const LAST_MESSAGES = 40;

/** Plain history of a thread, for controllers with a store and no memory. */
export class PlainHistory implements MastraMemory {
  readonly storage: Storage;

  constructor(storage: Storage) {
    this.storage = storage;
  }

  useStorage(): void {}

  async prepareRun({ threadId }: { threadId: string }): Promise<MemoryParts> {
    const { storage } = this;
    const history: Processor = {
      id: "plain-history",
      async processInput({ messageList }) {
        // The input may already be stored: it must not use up the history.
        const present = new Set(messageList.get.all.db().map((message) => message.id));
        const domain = await storage.getStore("memory");
        const newest =
          (await domain?.recentMessages({ threadId, limit: LAST_MESSAGES + present.size })) ?? [];
        messageList.prepend(newest.filter((message) => !present.has(message.id)).slice(-LAST_MESSAGES));
      },
    };
    return { inputProcessors: [history], outputProcessors: [], tools: {} };
  }
}
