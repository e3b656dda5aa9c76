import type { System } from "@selvedge/core/memory";
import { OM_CHUNKS, type OmChunkRow, type Storage } from "@selvedge/core/storage";
import type { StoredMessage } from "@selvedge/protocol";
import { MessageIndex } from "../message-index.ts";
import type { Warn } from "../warning.ts";
import { within } from "../within.ts";
import type { FoundNote } from "./recall-port.ts";

const PATIENCE_MS = 60_000;

/** The notes as vectors, a group per chunk, for `recall` by meaning. */
export class NoteIndex {
  readonly #index: MessageIndex;
  readonly #storage: () => Storage;
  readonly #system: System;
  readonly #warn: Warn;

  constructor(options: {
    index: Omit<ConstructorParameters<typeof MessageIndex>[0], "indexName" | "prefix">;
    storage: () => Storage;
    system: System;
    warn: Warn;
  }) {
    this.#index = new MessageIndex({ ...options.index, prefix: "memory_notes" });
    this.#storage = options.storage;
    this.#system = options.system;
    this.#warn = options.warn;
  }

  /** Indexes a stored chunk, or its new text. Never fails: the notes can still be found by words. */
  async add(
    { id, text }: Pick<OmChunkRow, "id" | "text">,
    owner: { threadId: string; resourceId: string },
  ): Promise<void> {
    const group: StoredMessage = {
      id,
      role: "assistant",
      createdAt: new Date(this.#system.now()),
      content: { format: 2, parts: [{ type: "text", text }] },
    };
    try {
      await within(this.#system, PATIENCE_MS, async (signal) => {
        await this.#index.removeMessages([id]);
        if (text !== "") await this.#index.add([group], owner, signal);
      });
    } catch (error) {
      this.#warn(`Indexing notes of thread "${owner.threadId}" failed.`, error);
    }
  }

  /** The groups nearest in meaning, best first. */
  async search(
    text: string,
    { resourceId, threadId, limit }: { resourceId: string; threadId: string | undefined; limit: number },
  ): Promise<(FoundNote & { threadId: string })[]> {
    const filter = { resource_id: resourceId, ...(threadId !== undefined && { thread_id: threadId }) };
    const ids = (await this.#index.search({ text, topK: limit, filter })).map(({ messageId }) => messageId);
    const rows = await this.#storage().select({ table: OM_CHUNKS, where: { id: { in: ids } } });
    return rows
      .toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
      .flatMap(({ text: notes, source, first_id: firstId, last_id: lastId }) =>
        firstId === null || lastId === null ? [] : [{ text: notes, firstId, lastId, threadId: source }],
      );
  }

  removeThread(threadId: string): Promise<void> {
    return this.#index.removeThread(threadId);
  }
}
