import { AgentError } from "@selvedge/core/errors";
import type { SemanticRecallConfig } from "@selvedge/core/memory";
import type { Embedder, Vector, VectorFilter } from "@selvedge/core/vector";
import type { StoredMessage } from "@selvedge/protocol";
import { isFromPerson } from "./is-from-person.ts";
import { messageText } from "./message-text.ts";
import { textPieces } from "./text-pieces.ts";

export interface MessageMatch {
  messageId: string;
  threadId: string;
  score: number;
}

const PREFIX = "memory_messages";
const BATCH = 100;

/**
 * The texts of stored messages as vectors, for search by meaning. It contains only ids and texts: the caller's `filter`
 * decides who may see a message, and the message itself is in the store.
 */
export class MessageIndex {
  readonly #vector: Vector;
  readonly #embedder: Embedder;
  readonly #indexName: string | undefined;
  readonly #indexConfig: SemanticRecallConfig["indexConfig"];
  readonly #prefix: string;
  readonly #created = new Map<string, Promise<void>>();

  constructor(options: {
    vector: Vector;
    embedder: Embedder;
    indexName?: string | undefined;
    indexConfig?: SemanticRecallConfig["indexConfig"];
    /** How the names of its indexes begin. */
    prefix?: string;
  }) {
    this.#prefix = options.prefix ?? PREFIX;
    this.#vector = options.vector;
    this.#embedder = options.embedder;
    this.#indexName = options.indexName;
    this.#indexConfig = options.indexConfig;
  }

  /** The messages nearest in meaning, best first, each once. */
  async search(query: {
    text: string;
    topK: number;
    filter: VectorFilter;
    threshold?: number | undefined;
    abortSignal?: AbortSignal | undefined;
  }): Promise<MessageMatch[]> {
    const text = textPieces(query.text)[0];
    if (text === undefined) return [];
    const [queryVector] = await this.#embed([text], query.abortSignal);
    const results = await this.#vector.query({
      indexName: await this.#indexFor(queryVector as number[]),
      queryVector: queryVector as number[],
      topK: query.topK,
      filter: query.filter,
      ...(query.threshold !== undefined && { minScore: query.threshold }),
    });
    const best = new Map<string, MessageMatch>();
    for (const { score, metadata } of results) {
      const messageId = metadata?.["message_id"];
      const threadId = metadata?.["thread_id"];
      if (typeof messageId !== "string" || typeof threadId !== "string" || best.has(messageId)) continue;
      best.set(messageId, { messageId, threadId, score });
    }
    return [...best.values()];
  }

  /** Indexes the user and assistant messages that have text. Indexing one again changes nothing. */
  async add(
    messages: readonly StoredMessage[],
    owner: { threadId: string; resourceId: string },
    abortSignal?: AbortSignal,
  ): Promise<void> {
    const pieces = messages.flatMap((message) =>
      message.role === "assistant" || isFromPerson(message) ? toPieces(message) : [],
    );
    for (let start = 0; start < pieces.length; start += BATCH) {
      const batch = pieces.slice(start, start + BATCH);
      const vectors = await this.#embed(
        batch.map((piece) => piece.text),
        abortSignal,
      );
      // Abandoned: what was embedded in the meantime is not needed.
      abortSignal?.throwIfAborted();
      await this.#vector.upsert({
        indexName: await this.#indexFor(vectors[0] as number[]),
        vectors,
        ids: batch.map((piece) => piece.id),
        metadata: batch.map(({ message }) => ({
          message_id: message.id,
          thread_id: owner.threadId,
          resource_id: owner.resourceId,
          role: message.role,
        })),
      });
    }
  }

  async removeThread(threadId: string): Promise<void> {
    for (const indexName of await this.#indexes()) {
      await this.#vector.deleteVectors({ indexName, filter: { thread_id: threadId } });
    }
  }

  async removeMessages(messageIds: readonly string[]): Promise<void> {
    for (const indexName of await this.#indexes()) {
      for (let start = 0; start < messageIds.length; start += BATCH) {
        const ids = messageIds.slice(start, start + BATCH);
        await this.#vector.deleteVectors({ indexName, filter: { message_id: { $in: ids } } });
      }
    }
  }

  async #embed(texts: string[], abortSignal?: AbortSignal): Promise<number[][]> {
    const vectors = await this.#embedder.embed(texts, abortSignal ? { abortSignal } : {});
    if (vectors.length !== texts.length || vectors.some((vector) => vector.length === 0)) {
      throw new AgentError(
        "model-failed",
        `Embedder "${this.#embedder.id}" returned ${vectors.length} vectors for ${texts.length} texts.`,
      );
    }
    return vectors;
  }

  /** One index per embedder and dimension: vectors of different models must not mix. */
  async #indexFor(vector: number[]): Promise<string> {
    const dimension = vector.length;
    const slug = this.#embedder.id
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "_")
      .slice(0, 32);
    const indexName = this.#indexName ?? `${this.#prefix}_${slug}_${dimension}`;
    let created = this.#created.get(indexName);
    if (!created) {
      const { metric = "cosine", ...indexConfig } = this.#indexConfig ?? {};
      created = this.#vector.createIndex({
        indexName,
        dimension,
        metric,
        ...(Object.keys(indexConfig).length > 0 && { indexConfig }),
      });
      this.#created.set(indexName, created);
      // A failed attempt is forgotten, so that a later call can succeed.
      created.catch(() => this.#created.delete(indexName));
    }
    await created;
    return indexName;
  }

  /** Every index that may contain messages, including those of earlier embedders. */
  async #indexes(): Promise<string[]> {
    const names = await this.#vector.listIndexes();
    return names.filter((name) => name === this.#indexName || name.startsWith(`${this.#prefix}_`));
  }
}

function toPieces(message: StoredMessage): { id: string; text: string; message: StoredMessage }[] {
  return textPieces(messageText(message)).map((text, piece) => ({
    id: piece === 0 ? message.id : `${message.id}#${piece}`,
    text,
    message,
  }));
}
