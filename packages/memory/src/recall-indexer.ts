import type { System } from "@selvedge/core/memory";
import type { ProcessOutputResultArgs, Processor } from "@selvedge/core/processors";
import type { StoredMessage } from "@selvedge/protocol";
import type { MessageIndex } from "./message-index.ts";
import { type ThreadSource, threadDomainOf } from "./thread-domain-of.ts";
import type { Warn } from "./warning.ts";
import { within } from "./within.ts";

const PATIENCE_MS = 60_000;

/** Indexes the messages of a run after it. Runs in the background and never fails the answer. */
export class RecallIndexer implements Processor {
  readonly id = "recall-indexer";
  readonly #storage: ThreadSource;
  readonly #index: MessageIndex;
  readonly #system: System;
  readonly #warn: Warn;

  constructor(options: { storage: ThreadSource; index: MessageIndex; system: System; warn: Warn }) {
    this.#storage = options.storage;
    this.#index = options.index;
    this.#system = options.system;
    this.#warn = options.warn;
  }

  processOutputResult(args: ProcessOutputResultArgs): void {
    const { messageList, threadId, resourceId } = args;
    if (threadId === undefined || resourceId === undefined) return;
    const added = [...messageList.get.input.db(), ...messageList.get.response.db()];
    const owner = { threadId, resourceId };
    const work = within(this.#system, PATIENCE_MS, (signal) => this.#add(added, owner, signal));
    args.waitUntil(
      work.catch((error: unknown) => this.#warn(`Indexing messages of thread "${threadId}" failed.`, error)),
    );
  }

  async #add(
    messages: StoredMessage[],
    owner: { threadId: string; resourceId: string },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#index.add(messages, owner, signal);
    // The thread may have been deleted while its messages were being embedded.
    const store = await threadDomainOf(this.#storage, "RecallIndexer")();
    const thread = await store.getThreadById({ threadId: owner.threadId });
    if (!thread) await this.#index.removeThread(owner.threadId);
  }
}
