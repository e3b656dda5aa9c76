import { AgentError, errorMessage } from "@selvedge/core/errors";
import { realSystem, type System } from "@selvedge/core/storage";
import {
  checkDeletion,
  checkIndex,
  checkQuery,
  checkSameIndex,
  checkUpdate,
  encodeMetadata,
  fromFlatMetadata,
  matchesFilter,
  noSuchIndex,
  noSuchVector,
  parseFilter,
  toEntries,
  toFlatMetadata,
  toFloat32,
  toRemoteFilter,
  toScore,
  type FilterNode,
  type FlatMetadata,
  type Vector,
  type VectorIndexDescription,
  type VectorMetric,
  type VectorResult,
} from "@selvedge/core/vector";
import type { ChromaClient, ChromaClientArgs, Collection, Where, WhereDocument } from "chromadb";

export interface ChromaVectorOptions extends Partial<ChromaClientArgs> {
  /** Your own `chromadb` client, instead of `host`, `port` and the rest. */
  client?: ChromaClient;
  id?: string;
  system?: System;
}

/** The contract's query with Chroma's own options. */
export interface ChromaVectorQuery {
  /** Conditions in Chroma's own syntax; combined with `filter`. */
  where?: Record<string, unknown>;
  /** Conditions on documents, such as `{ $contains: "word" }`. */
  whereDocument?: Record<string, unknown>;
}

const STORE = { name: "Chroma", exists: false };
const SPACES = { cosine: "cosine", euclidean: "l2", dotproduct: "ip" } as const;
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]$/;
const BATCH = 300;
const PAGE = 1_000;

/**
 * Vectors in Chroma, through its official client. Metadata is stored flat so that Chroma can filter by it, with the
 * original as JSON. Chroma's results are filtered again with our own filter.
 */
export class ChromaVector implements Vector {
  readonly id: string;
  readonly #options: ChromaVectorOptions;
  readonly #system: System;
  #client: Promise<ChromaClient> | undefined;

  constructor(options: ChromaVectorOptions = {}) {
    this.id = options.id ?? "chroma-vector";
    this.#options = options;
    this.#system = options.system ?? realSystem;
  }

  async createIndex(options: Parameters<Vector["createIndex"]>[0]): Promise<void> {
    const { indexName, dimension, metric } = checkIndex(options);
    if (!NAME.test(indexName)) {
      throw new AgentError(
        "invalid-argument",
        `A Chroma index name must have 3 to 512 letters, digits, dots, dashes and underscores, got ${JSON.stringify(indexName)}`,
      );
    }
    const client = await this.#open();
    const present = await this.#find(indexName);
    if (present) return checkSameIndex(indexName, { dimension, metric }, describe(present));
    await guarded(() =>
      client.createCollection({
        name: indexName,
        metadata: { selvedge_dimension: dimension, selvedge_metric: metric },
        configuration: { hnsw: { space: SPACES[metric] } },
        embeddingFunction: null,
      }),
    );
  }

  async listIndexes(): Promise<string[]> {
    const client = await this.#open();
    const names: string[] = [];
    for (let offset = 0; ; offset += PAGE) {
      const page = await guarded(() => client.listCollections({ limit: PAGE, offset }));
      names.push(...page.map(({ name }) => name));
      if (page.length < PAGE) return names.sort((a, b) => (a < b ? -1 : 1));
    }
  }

  async describeIndex({ indexName }: { indexName: string }): Promise<VectorIndexDescription> {
    const collection = await this.#collection(indexName);
    return { ...describe(collection), count: await guarded(() => collection.count()) };
  }

  async deleteIndex({ indexName }: { indexName: string }): Promise<void> {
    const client = await this.#open();
    await guarded(() => client.deleteCollection({ name: indexName })).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }

  /** Chroma accepts a few hundred entries at once: a larger upsert is split, and not all or nothing. */
  async upsert(options: Parameters<Vector["upsert"]>[0]): Promise<string[]> {
    const collection = await this.#collection(options.indexName);
    const entries = toEntries(options, describe(collection).dimension, this.#system);
    const unique = [...new Map(entries.map((entry) => [entry.id, entry])).values()];
    for (let start = 0; start < unique.length; start += BATCH) {
      const batch = unique.slice(start, start + BATCH);
      await guarded(() =>
        collection.upsert({
          ids: batch.map((entry) => entry.id),
          embeddings: batch.map((entry) => [...entry.vector]),
          metadatas: batch.map((entry) => replacing(toFlatMetadata(entry.metadata, entry.document))),
          // Chroma's own document search needs them there.
          documents: batch.map((entry) => entry.document ?? ""),
        }),
      );
    }
    return entries.map((entry) => entry.id);
  }

  async query(options: Parameters<Vector["query"]>[0] & ChromaVectorQuery): Promise<VectorResult[]> {
    const { topK, minScore } = checkQuery(options, ["where", "whereDocument"]);
    const filter = parseFilter(options.filter);
    const where = joined(toRemoteFilter(filter, STORE), options.where);
    const collection = await this.#collection(options.indexName);
    const { dimension, metric } = describe(collection);
    const wanted = toFloat32(options.indexName, dimension, options.queryVector);
    if (topK === 0) return [];
    const found = await guarded(() =>
      collection.query({
        queryEmbeddings: [[...wanted]],
        nResults: topK,
        ...(where && { where: where as Where }),
        ...(options.whereDocument && { whereDocument: options.whereDocument as WhereDocument }),
        include: ["metadatas", "distances", ...(options.includeVector ? (["embeddings"] as const) : [])],
      }),
    );
    const rows = found.ids[0] ?? [];
    const results = rows.map((id, index) => ({
      id,
      score: scoreOf(metric, found.distances[0]?.[index] ?? null),
      ...fromFlatMetadata(found.metadatas[0]?.[index]),
      ...(options.includeVector && { vector: found.embeddings[0]?.[index] ?? [] }),
    }));
    return results
      .filter((result) => result.score >= minScore && matchesFilter(filter, result.metadata))
      .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
  }

  async updateVector(options: Parameters<Vector["updateVector"]>[0]): Promise<void> {
    checkUpdate(options);
    const { indexName, update } = options;
    const collection = await this.#collection(indexName);
    if (options.id !== undefined) return this.#update(collection, indexName, options.id, update);
    const filter = parseFilter(options.filter);
    for (const id of await this.#matching(collection, toRemoteFilter(filter, STORE), filter))
      await this.#update(collection, indexName, id, update);
  }

  async #update(
    collection: Collection,
    indexName: string,
    id: string,
    update: Parameters<Vector["updateVector"]>[0]["update"],
  ): Promise<void> {
    const { dimension } = describe(collection);
    const found = await guarded(() => collection.get({ ids: [id], include: ["metadatas", "embeddings"] }));
    if (found.ids.length === 0) throw noSuchVector(indexName, id);
    const present = fromFlatMetadata(found.metadatas[0]);
    const metadata = update.metadata ?? present.metadata;
    const vector = update.vector
      ? [...toFloat32(indexName, dimension, update.vector)]
      : [...(found.embeddings[0] ?? [])];
    const flat = toFlatMetadata(metadata ? encodeMetadata(metadata) : null, present.document ?? null);
    await guarded(() =>
      collection.upsert({
        ids: [id],
        embeddings: [vector],
        metadatas: [replacing(flat)],
        documents: [present.document ?? ""],
      }),
    );
  }

  async deleteVector({ indexName, id }: { indexName: string; id: string }): Promise<void> {
    await this.deleteVectors({ indexName, ids: [id] });
  }

  async deleteVectors(options: Parameters<Vector["deleteVectors"]>[0]): Promise<void> {
    checkDeletion(options);
    const filter = parseFilter(options.filter);
    const where = toRemoteFilter(filter, STORE);
    const collection = await this.#collection(options.indexName);
    await this.#remove(collection, options.ids ?? (await this.#matching(collection, where, filter)));
  }

  async truncateIndex({ indexName }: { indexName: string }): Promise<void> {
    const collection = await this.#collection(indexName);
    await this.#remove(collection, await this.#matching(collection, undefined, parseFilter({})));
  }

  async #remove(collection: Collection, ids: readonly string[]): Promise<void> {
    for (let start = 0; start < ids.length; start += BATCH) {
      const batch = ids.slice(start, start + BATCH);
      await guarded(() => collection.delete({ ids: batch }));
    }
  }

  /** Filtered with our own filter first: a deletion cannot be undone. */
  async #matching(
    collection: Collection,
    where: Record<string, unknown> | undefined,
    filter: FilterNode,
  ): Promise<string[]> {
    const ids: string[] = [];
    for (let offset = 0; ; offset += PAGE) {
      const page = await guarded(() =>
        collection.get({
          ...(where && { where: where as Where }),
          include: ["metadatas"],
          limit: PAGE,
          offset,
        }),
      );
      for (const [index, id] of page.ids.entries()) {
        if (matchesFilter(filter, fromFlatMetadata(page.metadatas[index]).metadata)) ids.push(id);
      }
      if (page.ids.length < PAGE) return ids;
    }
  }

  async #find(indexName: string): Promise<Collection | undefined> {
    const client = await this.#open();
    try {
      return await guarded(() => client.getCollection({ name: indexName }));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #collection(indexName: string): Promise<Collection> {
    const collection = await this.#find(indexName);
    if (!collection) throw noSuchIndex(indexName);
    return collection;
  }

  #open(): Promise<ChromaClient> {
    this.#client ??= this.#connect();
    return this.#client;
  }

  async #connect(): Promise<ChromaClient> {
    const { client, id: _id, system: _system, ...args } = this.#options;
    if (client) return client;
    const chroma = await import("chromadb");
    return new chroma.ChromaClient(args);
  }
}

function describe(collection: Collection): { dimension: number; metric: VectorMetric; count: number } {
  const { selvedge_dimension: dimension, selvedge_metric: metric } = collection.metadata ?? {};
  if (
    typeof dimension === "number" &&
    (metric === "cosine" || metric === "euclidean" || metric === "dotproduct")
  ) {
    return { dimension, metric, count: 0 };
  }
  throw new AgentError(
    "invalid-argument",
    `The collection ${collection.name} was not created with createIndex, so its dimension and metric are unknown`,
  );
}

/** Chroma returns distances: one minus the cosine or product, or the squared distance. */
function scoreOf(metric: VectorMetric, distance: number | null): number {
  if (distance === null) return toScore(metric, null);
  return metric === "euclidean"
    ? toScore(metric, Math.sqrt(Math.max(0, distance)))
    : toScore(metric, 1 - distance);
}

/**
 * Chroma merges metadata, and its client cannot delete a key. Our two keys are therefore always written; other keys may
 * stay behind, and our own filter catches what they let through.
 */
function replacing(flat: FlatMetadata): FlatMetadata {
  return { selvedge_metadata: "null", selvedge_document: "", ...flat };
}

function joined(
  filter: Record<string, unknown> | undefined,
  where: Record<string, unknown> | undefined,
): Record<string, unknown> | undefined {
  return filter && where ? { $and: [filter, where] } : (filter ?? where);
}

async function guarded<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (AgentError.is(cause)) throw cause;
    const code =
      cause instanceof Error && cause.name === "ChromaNotFoundError" ? "not-found" : "storage-failed";
    throw new AgentError(code, `Chroma: ${errorMessage(cause)}`, { cause });
  }
}

function isNotFound(error: unknown): boolean {
  return AgentError.is(error) && error.code === "not-found";
}
