import type { ProcessInputArgs, Processor } from "@selvedge/core/processors";
import type { ThreadDomain } from "@selvedge/core/storage";

/** Puts the newest messages of the thread before the input. Reads only as many as it shows. */
export class MessageHistory implements Processor {
  readonly id = "message-history";
  readonly #store: ThreadDomain;
  readonly #lastMessages: number;

  constructor(options: { store: ThreadDomain; lastMessages: number }) {
    this.#store = options.store;
    this.#lastMessages = options.lastMessages;
  }

  async processInput({ messageList, threadId }: ProcessInputArgs): Promise<void> {
    if (threadId === undefined || this.#lastMessages === 0) return;
    // The input is stored before the model is called, so it may be among the newest: it must not use up the history.
    const present = new Set(messageList.get.all.db().map((message) => message.id));
    const limit = this.#lastMessages + present.size;
    const newest = await this.#store.recentMessages({ threadId, limit });
    const older = newest.filter((message) => !present.has(message.id));
    messageList.prepend(older.slice(-this.#lastMessages));
  }
}
