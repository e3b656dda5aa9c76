import { realSystem, type System } from "@selvedge/core/storage";
import {
  checkDeletion,
  checkIndex,
  checkQuery,
  checkSameIndex,
  checkTextQuery,
  checkUpdate,
  encodeMetadata,
  noSuchIndex,
  noSuchVector,
  parseFilter,
  toEntries,
  toFloat32,
  toQuestion,
  toScore,
  type TextQuery,
  type Vector,
  type VectorEntry,
  type VectorIndexDescription,
  type VectorMetric,
  type VectorResult,
} from "@selvedge/core/vector";
import { AgentError } from "@selvedge/core/errors";
import { Connection } from "./connection.ts";
import { filterSql } from "./filter-sql.ts";
import { HnswCache } from "./hnsw-cache.ts";
import { loadUsearch, type Usearch } from "./load-usearch.ts";
import type { Sql } from "./sql-writer.ts";
import type { Param } from "./statement.ts";
import { askedWords, wordScores } from "./word-query.ts";
import {
  createRegistry,
  createTables,
  dropTables,
  INDEXES,
  setWords,
  tableOf,
  wordsOf,
  type IndexRow,
} from "./vector-tables.ts";

export interface LibSQLVectorOptions {
  /** `file:<path>` or `:memory:`. May be the file of a `LibSQLStore`. `connectionUrl` is another name for it. */
  url?: string;
  connectionUrl?: string;
  id?: string;
  /** Has no effect: vectors need a file. */
  authToken?: string;
  /**
   * From this many entries on, an index is searched through an HNSW graph if the package `usearch` is installed.
   * Default: 20,000. `false` keeps every search exact.
   */
  approximateFrom?: number | false;
  system?: System;
}

interface StoredRow {
  key: number;
  metadata: string | null;
  document: string | null;
}

interface FoundRow {
  id: string;
  metadata: string | null;
  document: string | null;
  vector?: Uint8Array | ArrayBuffer;
  measured: number | null;
}

const APPROXIMATE_FROM = 20_000;
/** An exact search reads the whole table; one that fits here takes half the time. */
const CACHE_KIB = 131_072;
const MAX_APPROXIMATE_TOP_K = 1_000;

/** What is measured, whether higher is nearer, and the resulting order. */
const MEASURES: Readonly<Record<VectorMetric, { measured: string; order: string }>> = {
  cosine: { measured: "1 - vector_distance_cos(vector, ?)", order: "coalesce(measured, 0) DESC" },
  euclidean: { measured: "vector_distance_l2(vector, ?)", order: "measured" },
  // There is no function for it; the cosine and the lengths give the same result.
  dotproduct: {
    measured: "coalesce(1 - vector_distance_cos(vector, ?), 0) * length * ?",
    order: "measured DESC",
  },
};

/**
 * Vectors in a libSQL file, one table per index, with full-text search. The search is exact: it compares every vector
 * that matches the filter, which up to some tens of thousands is both faster and smaller than libSQL's approximate
 * index. Beyond that, `HnswCache` proposes candidates if `usearch` is installed.
 */
export class LibSQLVector implements Vector {
  readonly id: string;
  readonly #connection: Connection;
  readonly #system: System;
  readonly #approximateFrom: number;
  /** Looked up when an index is first large enough; `null` if it is not installed. */
  #usearch: Usearch | null | undefined;
  /** By the number of the index. */
  readonly #caches = new Map<number, HnswCache>();

  constructor(options: LibSQLVectorOptions) {
    this.id = options.id ?? "libsql-vector";
    this.#system = options.system ?? realSystem;
    this.#approximateFrom = checkApproximateFrom(options.approximateFrom);
    this.#connection = new Connection({
      url: (options.url ?? options.connectionUrl) as string,
      system: options.system,
      cacheKib: CACHE_KIB,
      prepare: createRegistry,
    });
  }

  async createIndex(options: Parameters<Vector["createIndex"]>[0]): Promise<void> {
    const { indexName, dimension, metric } = checkIndex(options);
    await this.#connection.write(() => {
      const present = this.#find(indexName);
      if (present) return checkSameIndex(indexName, { dimension, metric }, present);
      const { lastInsertRowid } = this.#connection.run(
        `INSERT INTO ${INDEXES} (name, dimension, metric) VALUES (?, ?, ?)`,
        [indexName, dimension, metric],
      );
      createTables(this.#connection, { number: Number(lastInsertRowid), dimension });
    });
  }

  async listIndexes(): Promise<string[]> {
    const rows = await this.#connection.read(() =>
      this.#connection.all<{ name: string }>(`SELECT name FROM ${INDEXES} ORDER BY name`),
    );
    return rows.map(({ name }) => name);
  }

  async describeIndex({ indexName }: { indexName: string }): Promise<VectorIndexDescription> {
    const index = await this.#connection.read(() => this.#index(indexName));
    const { dimension, metric, count } = index;
    return { dimension, metric, count, revision: `${index.number}.${index.revision}` };
  }

  async deleteIndex({ indexName }: { indexName: string }): Promise<void> {
    const index = await this.#connection.write(() => {
      const present = this.#find(indexName);
      if (!present) return undefined;
      dropTables(this.#connection, present);
      this.#connection.run(`DELETE FROM ${INDEXES} WHERE name = ?`, [indexName]);
      return present;
    });
    if (!index) return;
    await this.#caches.get(index.number)?.close();
    this.#caches.delete(index.number);
    await HnswCache.deleteFiles(this.#connection.path, index.number);
  }

  async upsert(options: Parameters<Vector["upsert"]>[0]): Promise<string[]> {
    return this.#connection.write(() => {
      const index = this.#index(options.indexName);
      const entries = toEntries(options, index.dimension, this.#system);
      if (entries.length === 0) return [];
      const revision = index.revision + 1;
      let added = 0;
      for (const entry of entries) if (this.#put(index, entry, revision)) added++;
      this.#changed(index, added);
      return entries.map((entry) => entry.id);
    });
  }

  async query(options: Parameters<Vector["query"]>[0]): Promise<VectorResult[]> {
    const { topK, minScore } = checkQuery(options);
    const where = filterSql("metadata", parseFilter(options.filter));
    return this.#connection.read(() => {
      const index = this.#index(options.indexName);
      const wanted = toFloat32(options.indexName, index.dimension, options.queryVector);
      const search = (condition: Sql): VectorResult[] =>
        this.#search(index, wanted, condition, topK, options.includeVector === true);
      const keys = this.#candidates(index, wanted, topK, options.filter);
      let results = keys && search(among(keys, where));
      // Too few rows matched the filter, or too many of the proposed rows are gone.
      if (!results || results.length < Math.min(topK, index.count)) results = search(where);
      return results.filter((result) => result.score >= minScore);
    });
  }

  async queryText(options: TextQuery): Promise<VectorResult[]> {
    const { topK, minScore } = checkTextQuery(options);
    const where = filterSql("metadata", parseFilter(options.filter));
    const question = toQuestion(options.queryText);
    return this.#connection.read(() => {
      const index = this.#index(options.indexName);
      const words = askedWords(this.#connection, index, question);
      if (words.length === 0) return [];
      const found =
        `SELECT key, measured FROM (${wordScores(index)}) JOIN ${tableOf(index)} USING (key) ` +
        `WHERE ${where.text} ORDER BY measured DESC, id LIMIT ?`;
      const text =
        `SELECT id, metadata, document${options.includeVector ? ", vector" : ""}, measured ` +
        `FROM (${found}) JOIN ${tableOf(index)} USING (key) ORDER BY measured DESC, id`;
      return this.#connection
        .all<FoundRow>(text, [JSON.stringify(words), ...where.params, topK])
        .map((row) => toResult(row, row.measured ?? 0))
        .filter((result) => result.score >= minScore);
    });
  }

  async updateVector(options: Parameters<Vector["updateVector"]>[0]): Promise<void> {
    checkUpdate(options);
    const { indexName, id, update } = options;
    const where =
      id === undefined
        ? filterSql("metadata", parseFilter(options.filter))
        : { text: "id = ?", params: [id] };
    await this.#connection.write(() => {
      const index = this.#index(indexName);
      const set: Record<string, Param> = { revision: index.revision + 1 };
      if (update.vector) {
        const vector = toFloat32(indexName, index.dimension, update.vector);
        set["vector"] = toBlob(vector);
        set["length"] = lengthOf(vector);
      }
      if (update.metadata) set["metadata"] = encodeMetadata(update.metadata);
      const columns = Object.keys(set).map((column) => `${column} = ?`);
      const entries = this.#connection.all<StoredRow>(
        `UPDATE ${tableOf(index)} SET ${columns.join(", ")} WHERE ${where.text} RETURNING key, metadata, document`,
        [...Object.values(set), ...where.params],
      );
      if (id !== undefined && entries.length === 0) throw noSuchVector(indexName, id);
      if (update.metadata) for (const entry of entries) setWords(this.#connection, index, entry, false);
      if (entries.length > 0) this.#changed(index, 0);
    });
  }

  async deleteVector({ indexName, id }: { indexName: string; id: string }): Promise<void> {
    await this.deleteVectors({ indexName, ids: [id] });
  }

  async deleteVectors(options: Parameters<Vector["deleteVectors"]>[0]): Promise<void> {
    checkDeletion(options);
    const where = options.ids
      ? { text: "id IN (SELECT value FROM json_each(?))", params: [JSON.stringify(options.ids)] }
      : filterSql("metadata", parseFilter(options.filter));
    await this.#delete(options.indexName, where);
  }

  async truncateIndex({ indexName }: { indexName: string }): Promise<void> {
    await this.#delete(indexName, { text: "TRUE", params: [] });
  }

  async #delete(indexName: string, where: { text: string; params: Param[] }): Promise<void> {
    await this.#connection.write(() => {
      const index = this.#index(indexName);
      this.#connection.run(
        `DELETE FROM ${wordsOf(index)} WHERE rowid IN (SELECT key FROM ${tableOf(index)} WHERE ${where.text})`,
        where.params,
      );
      const { changes } = this.#connection.run(
        `DELETE FROM ${tableOf(index)} WHERE ${where.text}`,
        where.params,
      );
      if (changes > 0) this.#changed(index, -changes);
    });
  }

  /**
   * Builds or updates the HNSW graph of an index that is large enough for one, and saves it beside the database.
   * Searches do this automatically, but the first ones are exact until it is done.
   */
  async buildIndex({ indexName }: { indexName: string }): Promise<void> {
    const cache = await this.#connection.read(() => this.#cacheOf(this.#index(indexName)));
    await cache?.prepare();
  }

  async close(): Promise<void> {
    for (const cache of this.#caches.values()) await cache.close();
    this.#caches.clear();
    await this.#connection.close();
  }

  /** Returns whether the entry is new. */
  #put(index: IndexRow, entry: VectorEntry, revision: number): boolean {
    const values: Param[] = [
      toBlob(entry.vector),
      lengthOf(entry.vector),
      entry.metadata,
      entry.document,
      revision,
      entry.id,
    ];
    const [known] = this.#connection.all<{ key: number }>(
      `UPDATE ${tableOf(index)} SET vector = ?, length = ?, metadata = ?, document = ?, revision = ? ` +
        "WHERE id = ? RETURNING key",
      values,
    );
    const key =
      known?.key ??
      Number(
        this.#connection.run(
          `INSERT INTO ${tableOf(index)} (vector, length, metadata, document, revision, id) VALUES (?, ?, ?, ?, ?, ?)`,
          values,
        ).lastInsertRowid,
      );
    setWords(this.#connection, index, { ...entry, key }, known === undefined);
    return known === undefined;
  }

  #changed(index: IndexRow, added: number): void {
    this.#connection.run(
      `UPDATE ${INDEXES} SET revision = revision + 1, count = count + ? WHERE number = ?`,
      [added, index.number],
    );
  }

  #search(
    index: IndexRow,
    wanted: Float32Array,
    where: Sql,
    topK: number,
    includeVector: boolean,
  ): VectorResult[] {
    const { measured, order } = MEASURES[index.metric];
    const text =
      `SELECT id, metadata, document${includeVector ? ", vector" : ""}, ${measured} AS measured ` +
      `FROM ${tableOf(index)} WHERE ${where.text} ORDER BY ${order}, id LIMIT ?`;
    const target: Param[] =
      index.metric === "dotproduct" ? [toBlob(wanted), lengthOf(wanted)] : [toBlob(wanted)];
    return this.#connection
      .all<FoundRow>(text, [...target, ...where.params, topK])
      .map((row) => toResult(row, toScore(index.metric, row.measured)));
  }

  /** Keys of rows likely to be among the nearest, or `undefined` if every row must be compared. */
  #candidates(
    index: IndexRow,
    wanted: Float32Array,
    topK: number,
    filter: Parameters<Vector["query"]>[0]["filter"],
  ): number[] | undefined {
    if (topK === 0 || topK > MAX_APPROXIMATE_TOP_K) return undefined;
    if (index.metric === "cosine" && lengthOf(wanted) === 0) return undefined;
    const isFiltered = filter !== undefined && Object.keys(filter).length > 0;
    const count = isFiltered ? Math.max(200, 10 * topK) : Math.max(64, 2 * topK);
    return this.#cacheOf(index)?.nearest(wanted, count, index);
  }

  #cacheOf(index: IndexRow): HnswCache | undefined {
    if (index.count < this.#approximateFrom) return undefined;
    const known = this.#caches.get(index.number);
    if (known) return known;
    if (this.#usearch === undefined) this.#usearch = loadUsearch() ?? null;
    if (this.#usearch === null) return undefined;
    const cache = new HnswCache({
      connection: this.#connection,
      system: this.#system,
      usearch: this.#usearch,
      index,
    });
    this.#caches.set(index.number, cache);
    return cache;
  }

  #find(indexName: string): IndexRow | undefined {
    const text = `SELECT number, dimension, metric, revision, count, cache FROM ${INDEXES} WHERE name = ?`;
    return this.#connection.all<IndexRow>(text, [indexName])[0];
  }

  #index(indexName: string): IndexRow {
    const index = this.#find(indexName);
    if (!index) throw noSuchIndex(indexName);
    return index;
  }
}

function checkApproximateFrom(from: number | false = APPROXIMATE_FROM): number {
  if (from === false) return Infinity;
  if (Number.isSafeInteger(from) && from >= 0) return from;
  throw new AgentError(
    "invalid-argument",
    `approximateFrom must be a number of entries or false, got ${String(from)}`,
  );
}

function among(keys: readonly number[], where: Sql): Sql {
  return {
    text: `key IN (SELECT value FROM json_each(?)) AND ${where.text}`,
    params: [JSON.stringify(keys), ...where.params],
  };
}

function toBlob(vector: Float32Array): Uint8Array {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

function lengthOf(vector: Float32Array): number {
  return Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
}

function toResult(row: FoundRow, score: number): VectorResult {
  return {
    id: row.id,
    score,
    ...(row.metadata !== null && { metadata: JSON.parse(row.metadata) as Record<string, unknown> }),
    ...(row.document !== null && { document: row.document }),
    ...(row.vector && { vector: fromBlob(row.vector) }),
  };
}

/** Depending on how rows are read, the driver returns a Buffer or an ArrayBuffer. */
function fromBlob(blob: Uint8Array | ArrayBuffer): number[] {
  return Array.from(new Float32Array(new Uint8Array(blob).slice().buffer));
}
