import type { MessagePart, StoredMessage } from "@selvedge/protocol";
import { AgentError, errorMessage } from "../errors.ts";
import {
  insertMessage,
  insertThread,
  putStep,
  setMessageMetadata,
  touchThread,
} from "../storage/message-writes.ts";
import type { Storage, Write } from "../storage/storage.ts";
import { MESSAGES, THREADS } from "../storage/tables.ts";
import type { System } from "../system.ts";

export interface RecorderThread {
  id: string;
  resourceId: string;
  title?: string;
  metadata?: Record<string, unknown>;
}

/**
 * Writes a run to its thread as it goes: the input before the first model call, then every step in one transaction
 * when it ends. Each write is as large as what it adds; none reads the history.
 */
export class Recorder {
  readonly #storage: Storage;
  readonly #thread: RecorderThread;
  readonly #system: System;
  /** Response messages that have a row. */
  readonly #begun = new Map<string, number>();

  constructor(storage: Storage, thread: RecorderThread, system: System) {
    this.#storage = storage;
    this.#thread = thread;
    this.#system = system;
  }

  /** Stores the thread, if it is new, and the input. Input that is already stored is left as it is. */
  async begin(messages: readonly StoredMessage[]): Promise<void> {
    const { id, resourceId, title, metadata } = this.#thread;
    const now = new Date(this.#system.now());
    const foreign = { id, resource_id: { ne: resourceId } };
    const writes: Write[] = [
      { op: "require", table: THREADS, where: foreign, exists: false },
      insertThread({
        id,
        resourceId,
        createdAt: now,
        updatedAt: now,
        ...(title !== undefined && { title }),
        ...(metadata && { metadata }),
      }),
    ];
    for (const message of messages) {
      const elsewhere = { id: message.id, thread_id: { ne: id } };
      writes.push({ op: "require", table: MESSAGES, where: elsewhere, exists: false });
      writes.push(insertMessage({ ...message, threadId: id, resourceId }, "ignore"));
    }
    writes.push(touchThread(id, now.getTime()));
    try {
      await this.#commit(writes);
    } catch (cause) {
      if (!AgentError.is(cause, "conflict")) throw cause;
      const ofThread = cause.details?.["index"] === 0;
      const what = ofThread
        ? `There is no thread "${id}" for resource "${resourceId}".`
        : `A message of this call has the id of a message on another thread. Leave the id out, or make it unique.`;
      throw new AgentError(ofThread ? "not-found" : "invalid-message", what, { cause });
    }
  }

  /** Stores what a step added to its response message; `metadata` goes on the message. */
  async step(
    message: StoredMessage,
    parts: readonly MessagePart[],
    metadata?: Record<string, unknown>,
  ): Promise<void> {
    const { id: threadId, resourceId } = this.#thread;
    const step = this.#begun.get(message.id) ?? 0;
    const writes: Write[] = [];
    if (step === 0) {
      const content = { ...message.content, parts: [], ...(metadata && { metadata }) };
      writes.push(insertMessage({ ...message, threadId, resourceId, content }));
    } else if (metadata) writes.push(setMessageMetadata(message.id, metadata));
    writes.push(
      putStep({ messageId: message.id, threadId, step, parts }),
      touchThread(threadId, this.#system.now()),
    );
    await this.#commit(writes);
    this.#begun.set(message.id, step + 1);
  }

  /** Puts the response messages of this run, changed, in the place of what was stored. */
  rewrite(messages: readonly StoredMessage[]): Promise<void> {
    return this.replace(messages.filter((message) => this.#begun.has(message.id)));
  }

  /** Puts whole messages in the place of what was stored of them. */
  async replace(messages: readonly StoredMessage[]): Promise<void> {
    if (messages.length === 0) return;
    const { id: threadId, resourceId } = this.#thread;
    const memory = await this.#storage.getStore("memory");
    await inOurWords(() =>
      memory?.saveMessages({ messages: messages.map((message) => ({ ...message, threadId, resourceId })) }),
    );
  }

  /** The newest messages of the thread, as far as they are this resource's. */
  async recent(): Promise<StoredMessage[]> {
    const { id: threadId, resourceId } = this.#thread;
    const memory = await this.#storage.getStore("memory");
    const messages = (await memory?.recentMessages({ threadId, limit: RECENT })) ?? [];
    return messages.filter((message) => message.resourceId === resourceId);
  }

  async #commit(writes: readonly Write[]): Promise<void> {
    await inOurWords(() => this.#storage.commit(writes));
  }
}

/** How far back the calls may be that a client answers. */
const RECENT = 20;

/** What a store throws in its own words, in ours. */
async function inOurWords(write: () => Promise<unknown> | undefined): Promise<void> {
  try {
    await write();
  } catch (cause) {
    if (AgentError.is(cause)) throw cause;
    throw new AgentError("storage-failed", `The store could not write: ${errorMessage(cause)}`, { cause });
  }
}
