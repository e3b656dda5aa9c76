import { AgentError } from "@selvedge/core/errors";
import type { MemoryJournal } from "@selvedge/core/memory";
import type { ProcessInputArgs, Processor } from "@selvedge/core/processors";
import { showValue, type StoredMessage } from "@selvedge/protocol";
import { type ThreadSource, threadDomainOf } from "./thread-domain-of.ts";

export interface MessageHistoryOptions {
  storage: ThreadSource;
  /** Default: 10. */
  lastMessages?: number | undefined;
}

/** Puts the newest messages of the thread before the input. Reads only as many as it shows. */
export class MessageHistory implements Processor {
  readonly id = "message-history";
  readonly #recent: (threadId: string, limit: number) => Promise<StoredMessage[]>;
  readonly #lastMessages: number;

  /** On its own thread, a run has a shorter way to the newest messages: its journal. */
  constructor(
    { storage, lastMessages = 10 }: MessageHistoryOptions,
    journal?: Pick<MemoryJournal, "recentMessages">,
  ) {
    if (!Number.isSafeInteger(lastMessages) || lastMessages < 0) {
      throw new AgentError(
        "invalid-argument",
        `\`lastMessages\` of MessageHistory must be a whole number from 0, got ${showValue(lastMessages)}.`,
      );
    }
    const store = threadDomainOf(storage, "MessageHistory");
    this.#recent = async (threadId, limit) =>
      journal ? journal.recentMessages(limit) : (await store()).recentMessages({ threadId, limit });
    this.#lastMessages = lastMessages;
  }

  async processInput({ messageList, threadId }: ProcessInputArgs): Promise<void> {
    if (threadId === undefined || this.#lastMessages === 0) return;
    // The input is stored before the model is called, so it may be among the newest: it must not use up the history.
    const present = new Set(messageList.get.all.db().map((message) => message.id));
    const limit = this.#lastMessages + present.size;
    const newest = await this.#recent(threadId, limit);
    const older = newest.filter((message) => !present.has(message.id));
    messageList.prepend(older.slice(-this.#lastMessages));
  }
}
