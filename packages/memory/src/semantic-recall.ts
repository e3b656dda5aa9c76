import { realSystem, type SemanticRecallConfig, type System } from "@selvedge/core/memory";
import type { ProcessInputArgs, Processor, ProcessOutputResultArgs } from "@selvedge/core/processors";
import { type Embedder, type EmbeddingModel, toEmbedder, type Vector } from "@selvedge/core/vector";
import type { StoredMessage } from "@selvedge/protocol";
import { isFromPerson } from "./is-from-person.ts";
import { findMessages } from "./find-messages.ts";
import { type RecallSettings, toMemorySettings } from "./memory-settings.ts";
import { MessageIndex } from "./message-index.ts";
import { messageText } from "./message-text.ts";
import { RecallIndexer } from "./recall-indexer.ts";
import { rememberedBlock } from "./remembered-block.ts";
import { type ThreadSource, threadDomainOf } from "./thread-domain-of.ts";
import { type MemoryWarning, toWarn, type Warn } from "./warning.ts";
import { within } from "./within.ts";

/** After this long, an answer without recall is better than none. */
const PATIENCE_MS = 10_000;

export interface SemanticRecallOptions extends SemanticRecallConfig {
  storage: ThreadSource;
  vector: Vector;
  embedder: Embedder | EmbeddingModel;
  /** Called when a search or the indexing fails. Default: `console.warn`. */
  onWarning?: ((warning: MemoryWarning) => void) | undefined;
  system?: System | undefined;
}

/** What a memory prepares for its runs. */
interface RecallParts {
  storage: ThreadSource;
  index: MessageIndex;
  settings: RecallSettings;
  system: System;
  warn: Warn;
}

/**
 * Recalls older messages that resemble the newest user message. Those of this thread precede the history; those of
 * other threads are quoted in one system message. If the search fails, the run continues without it. As an output
 * processor, it indexes the messages of the run.
 */
export class SemanticRecall implements Processor {
  readonly id = "semantic-recall";
  readonly #parts: RecallParts;
  readonly #indexer: RecallIndexer;

  constructor(options: SemanticRecallOptions | RecallParts) {
    this.#parts = "index" in options ? options : toParts(options);
    const { storage, index, system, warn } = this.#parts;
    this.#indexer = new RecallIndexer({ storage, index, system, warn });
  }

  processOutputResult(args: ProcessOutputResultArgs): void {
    this.#indexer.processOutputResult(args);
  }

  async processInput({ messageList, threadId, resourceId, abortSignal }: ProcessInputArgs): Promise<void> {
    const text = newestQuestion(messageList.get.input.db());
    if (text === "" || threadId === undefined || resourceId === undefined) return;
    const present = new Set(messageList.get.all.db().map((message) => message.id));
    const { storage, index, settings, system, warn } = this.#parts;
    let found: StoredMessage[];
    try {
      const store = await threadDomainOf(storage, "SemanticRecall")();
      const search = { text, threadId, resourceId, present, settings };
      found = await within(
        system,
        PATIENCE_MS,
        (signal) => findMessages(store, index, { ...search, abortSignal: signal }),
        abortSignal,
      );
    } catch (error) {
      if (!abortSignal.aborted) warn("Semantic recall failed; the run continues without it.", error);
      return;
    }
    messageList.prepend(found.filter((message) => message.threadId === threadId));
    const block = rememberedBlock(found.filter((message) => message.threadId !== threadId));
    if (block !== undefined) messageList.addSystem({ role: "system", content: block });
  }
}

function toParts(options: SemanticRecallOptions): RecallParts {
  const { storage, vector, embedder, onWarning, system = realSystem, ...config } = options;
  const has = { vector: !!vector, embedder: !!embedder };
  const settings = toMemorySettings({ semanticRecall: config }, undefined, has).recall!;
  const { indexName, indexConfig, embedderOptions } = settings;
  const index = new MessageIndex({
    vector,
    embedder: toEmbedder(embedder, embedderOptions),
    indexName,
    indexConfig,
  });
  return { storage, index, settings, system, warn: toWarn(onWarning) };
}

function newestQuestion(input: readonly StoredMessage[]): string {
  const newest = input.findLast(isFromPerson);
  return newest ? messageText(newest) : "";
}
