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
  type Vector,
  type VectorIndexDescription,
  type VectorMetric,
  type VectorResult,
} from "@selvedge/core/vector";
import type { Index, Pinecone, PineconeConfiguration } from "@pinecone-database/pinecone";

export interface PineconeVectorOptions {
  apiKey?: string;
  /** Your own `@pinecone-database/pinecone` client, instead of a key. */
  client?: Pinecone;
  /** Any other option of the client. */
  config?: Omit<PineconeConfiguration, "apiKey">;
  /** Where to create indexes. Default: AWS us-east-1. */
  cloud?: "aws" | "gcp" | "azure";
  region?: string;
  /** The namespace for calls that name none. */
  namespace?: string;
  id?: string;
  system?: System;
}

/** The contract's query with Pinecone's own options. */
export interface PineconeVectorQuery {
  namespace?: string;
  sparseVector?: { indices: number[]; values: number[] };
}

type Namespaced<T> = T & { namespace?: string };

const STORE = { name: "Pinecone", exists: true };
const NAME = /^[a-z0-9]([a-z0-9-]{0,43}[a-z0-9])?$/;
const BATCH = 100;

/**
 * Vectors in Pinecone, through its official client. Metadata is stored flat so that Pinecone can filter by it, with the
 * original as JSON. Writes become visible with a short delay.
 */
export class PineconeVector implements Vector {
  readonly id: string;
  readonly #options: PineconeVectorOptions;
  readonly #system: System;
  #client: Promise<Pinecone> | undefined;
  /** Index hosts, which the client would otherwise request before every call. */
  readonly #known = new Map<string, { host: string; dimension: number; metric: VectorMetric }>();

  constructor(options: PineconeVectorOptions) {
    if (!options.client && (typeof options.apiKey !== "string" || options.apiKey === "")) {
      throw new AgentError("invalid-argument", "PineconeVector needs an apiKey or a client");
    }
    this.id = options.id ?? "pinecone-vector";
    this.#options = options;
    this.#system = options.system ?? realSystem;
  }

  async createIndex(options: Parameters<Vector["createIndex"]>[0]): Promise<void> {
    const { indexName, dimension, metric } = checkIndex(options);
    if (!NAME.test(indexName)) {
      throw new AgentError(
        "invalid-argument",
        `A Pinecone index name must have at most 45 lower-case letters, digits and dashes, got ${JSON.stringify(indexName)}`,
      );
    }
    const present = await this.#find(indexName);
    if (present) return checkSameIndex(indexName, { dimension, metric }, present);
    const client = await this.#open();
    const { cloud = "aws", region = "us-east-1" } = this.#options;
    await guarded(() =>
      client.createIndex({
        name: indexName,
        dimension,
        metric,
        spec: { serverless: { cloud, region } },
        waitUntilReady: true,
      }),
    );
  }

  async listIndexes(): Promise<string[]> {
    const client = await this.#open();
    const { indexes } = await guarded(() => client.listIndexes());
    return (indexes ?? []).map(({ name }) => name).sort((a, b) => (a < b ? -1 : 1));
  }

  async describeIndex({ indexName }: { indexName: string }): Promise<VectorIndexDescription> {
    const { dimension, metric } = await this.#describe(indexName);
    const index = await this.#index(indexName);
    const { totalRecordCount } = await guarded(() => index.describeIndexStats());
    return { dimension, metric, count: totalRecordCount ?? 0 };
  }

  async deleteIndex({ indexName }: { indexName: string }): Promise<void> {
    this.#known.delete(indexName);
    const client = await this.#open();
    await guarded(() => client.deleteIndex(indexName)).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }

  /** Pinecone accepts a hundred entries at once: a larger upsert is split, and not all or nothing. */
  async upsert(options: Namespaced<Parameters<Vector["upsert"]>[0]>): Promise<string[]> {
    const { dimension } = await this.#describe(options.indexName);
    const entries = toEntries(options, dimension, this.#system);
    const index = await this.#index(options.indexName, options.namespace);
    const unique = [...new Map(entries.map((entry) => [entry.id, entry])).values()];
    for (let start = 0; start < unique.length; start += BATCH) {
      const records = unique.slice(start, start + BATCH).map((entry) => ({
        id: entry.id,
        values: [...entry.vector],
        metadata: toFlatMetadata(entry.metadata, entry.document),
      }));
      await guarded(() => index.upsert({ records }));
    }
    return entries.map((entry) => entry.id);
  }

  async query(options: Parameters<Vector["query"]>[0] & PineconeVectorQuery): Promise<VectorResult[]> {
    const { topK, minScore } = checkQuery(options, ["namespace", "sparseVector"]);
    const parsed = parseFilter(options.filter);
    const filter = toRemoteFilter(parsed, STORE);
    const { dimension, metric } = await this.#describe(options.indexName);
    const vector = [...toFloat32(options.indexName, dimension, options.queryVector)];
    if (topK === 0) return [];
    const index = await this.#index(options.indexName, options.namespace);
    const { matches } = await guarded(() =>
      index.query({
        vector,
        topK,
        includeMetadata: true,
        includeValues: options.includeVector === true,
        ...(filter && { filter }),
        ...(options.sparseVector && { sparseVector: options.sparseVector }),
      }),
    );
    return matches
      .map((match) => ({
        id: match.id,
        score: scoreOf(metric, match.score ?? 0),
        ...fromFlatMetadata(match.metadata),
        ...(options.includeVector && { vector: match.values }),
      }))
      .filter((result) => result.score >= minScore && matchesFilter(parsed, result.metadata))
      .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
  }

  async updateVector(options: Namespaced<Parameters<Vector["updateVector"]>[0]>): Promise<void> {
    checkUpdate(options);
    const { indexName, id, update } = options;
    if (id === undefined)
      throw new AgentError(
        "not-supported",
        "Pinecone cannot list entries by filter. Call updateVector with the id of each entry.",
      );
    const { dimension } = await this.#describe(indexName);
    const index = await this.#index(indexName, options.namespace);
    const { records } = await guarded(() => index.fetch({ ids: [id] }));
    const record = Object.hasOwn(records, id) ? records[id] : undefined;
    if (!record) throw noSuchVector(indexName, id);
    const present = fromFlatMetadata(record.metadata);
    const metadata = update.metadata ?? present.metadata;
    // Pinecone merges metadata in an update; rewriting the entry removes deleted keys.
    await guarded(() =>
      index.upsert({
        records: [
          {
            id,
            values: update.vector
              ? [...toFloat32(indexName, dimension, update.vector)]
              : (record.values ?? []),
            metadata: toFlatMetadata(metadata ? encodeMetadata(metadata) : null, present.document ?? null),
          },
        ],
      }),
    );
  }

  async deleteVector(options: { indexName: string; id: string; namespace?: string }): Promise<void> {
    const { id, ...rest } = options;
    await this.deleteVectors({ ...rest, ids: [id] });
  }

  async deleteVectors(options: Namespaced<Parameters<Vector["deleteVectors"]>[0]>): Promise<void> {
    checkDeletion(options);
    const filter = toRemoteFilter(parseFilter(options.filter), STORE);
    await this.#describe(options.indexName);
    const index = await this.#index(options.indexName, options.namespace);
    if (!options.ids) {
      // An empty filter would delete everything.
      if (!filter) throw new AgentError("invalid-argument", "deleteVectors needs a non-empty filter");
      await guarded(() => index.deleteMany({ filter }));
      return;
    }
    for (let start = 0; start < options.ids.length; start += BATCH) {
      const ids = options.ids.slice(start, start + BATCH);
      await guarded(() => index.deleteMany({ ids }));
    }
  }

  async truncateIndex(options: Namespaced<{ indexName: string }>): Promise<void> {
    await this.#describe(options.indexName);
    const index = await this.#index(options.indexName, options.namespace);
    await guarded(() => index.deleteAll());
  }

  async #index(indexName: string, namespace = this.#options.namespace): Promise<Index> {
    const { host } = await this.#describe(indexName);
    const client = await this.#open();
    return client.index({ name: indexName, host, ...(namespace !== undefined && { namespace }) });
  }

  async #describe(indexName: string): Promise<{ host: string; dimension: number; metric: VectorMetric }> {
    const known = this.#known.get(indexName) ?? (await this.#find(indexName));
    if (!known) throw noSuchIndex(indexName);
    this.#known.set(indexName, known);
    return known;
  }

  async #find(
    indexName: string,
  ): Promise<{ host: string; dimension: number; metric: VectorMetric } | undefined> {
    const client = await this.#open();
    try {
      // Reading these throws for indexes that have no single dense vector.
      const { host, dimension, metric } = await guarded(async () => {
        const model = await client.describeIndex(indexName);
        return { host: model.host, dimension: model.dimension, metric: model.metric };
      });
      if (dimension === undefined) {
        throw new AgentError("not-supported", `The Pinecone index ${indexName} contains no dense vectors`);
      }
      return { host, dimension, metric: metric as VectorMetric };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #open(): Promise<Pinecone> {
    this.#client ??= this.#connect();
    return this.#client;
  }

  async #connect(): Promise<Pinecone> {
    const { client, apiKey, config } = this.#options;
    if (client) return client;
    const pinecone = await import("@pinecone-database/pinecone");
    return new pinecone.Pinecone({ ...config, apiKey: apiKey! });
  }
}

/** For `euclidean`, Pinecone returns the squared distance. */
function scoreOf(metric: VectorMetric, score: number): number {
  return metric === "euclidean" ? 1 / (1 + Math.sqrt(Math.max(0, score))) : score;
}

async function guarded<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (AgentError.is(cause)) throw cause;
    const code =
      cause instanceof Error && cause.name === "PineconeNotFoundError" ? "not-found" : "storage-failed";
    throw new AgentError(code, `Pinecone: ${errorMessage(cause)}`, { cause });
  }
}

function isNotFound(error: unknown): boolean {
  return AgentError.is(error) && error.code === "not-found";
}
