import type { System } from "@selvedge/core/memory";
import type { ProcessInputArgs, Processor } from "@selvedge/core/processors";
import type { ThreadDomain } from "@selvedge/core/storage";
import type { StoredMessage } from "@selvedge/protocol";
import { isFromPerson } from "./is-from-person.ts";
import { findMessages } from "./find-messages.ts";
import type { RecallSettings } from "./memory-settings.ts";
import type { MessageIndex } from "./message-index.ts";
import { messageText } from "./message-text.ts";
import { rememberedBlock } from "./remembered-block.ts";
import type { Warn } from "./warning.ts";
import { within } from "./within.ts";

/** Past this, an answer without recall is better than none. */
const PATIENCE_MS = 10_000;

/**
 * Brings back older messages that resemble the newest user message. Those of this thread go before the history; those
 * of other threads are quoted in one system message. When the search fails the run goes on without it.
 */
export class SemanticRecall implements Processor {
  readonly id = "semantic-recall";
  readonly #store: ThreadDomain;
  readonly #index: MessageIndex;
  readonly #settings: RecallSettings;
  readonly #system: System;
  readonly #warn: Warn;

  constructor(options: {
    store: ThreadDomain;
    index: MessageIndex;
    settings: RecallSettings;
    system: System;
    warn: Warn;
  }) {
    this.#store = options.store;
    this.#index = options.index;
    this.#settings = options.settings;
    this.#system = options.system;
    this.#warn = options.warn;
  }

  async processInput({ messageList, threadId, resourceId, abortSignal }: ProcessInputArgs): Promise<void> {
    const text = newestQuestion(messageList.get.input.db());
    if (text === "" || threadId === undefined || resourceId === undefined) return;
    const present = new Set(messageList.get.all.db().map((message) => message.id));
    let found: StoredMessage[];
    try {
      const search = { text, threadId, resourceId, present, settings: this.#settings };
      found = await within(
        this.#system,
        PATIENCE_MS,
        (signal) => findMessages(this.#store, this.#index, { ...search, abortSignal: signal }),
        abortSignal,
      );
    } catch (error) {
      if (!abortSignal.aborted) this.#warn("Semantic recall failed; the run continues without it.", error);
      return;
    }
    messageList.prepend(found.filter((message) => message.threadId === threadId));
    const block = rememberedBlock(found.filter((message) => message.threadId !== threadId));
    if (block !== undefined) messageList.addSystem({ role: "system", content: block });
  }
}

function newestQuestion(input: readonly StoredMessage[]): string {
  const newest = input.findLast(isFromPerson);
  return newest ? messageText(newest) : "";
}
