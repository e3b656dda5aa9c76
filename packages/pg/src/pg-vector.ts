import { AgentError } from "@selvedge/core/errors";
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
  textOf,
  toEntries,
  toFloat32,
  toScore,
  type TextQuery,
  type Vector,
  type VectorEntry,
  type VectorIndexDescription,
  type VectorResult,
} from "@selvedge/core/vector";
import type { Pool, PoolClient, PoolConfig } from "pg";
import { Database } from "./database.ts";
import { filterSql, Params } from "./filter-sql.ts";
import { checkIndexConfig, within, type PgIndexConfig } from "./index-config.ts";
import { searchSettings } from "./search-settings.ts";
import { Tables, type IndexRow } from "./tables.ts";
import { textQuery, toTsvectorText, type TextStatistics } from "./text-query.ts";
import { codeOf } from "./to-pg-error.ts";
import { exactQuery, nearQuery } from "./vector-query.ts";

export interface PgVectorOptions {
  /** `postgresql://user:password@host:5432/database` */
  connectionString?: string;
  /** Your own `pg` pool. You close it. */
  pool?: Pool;
  /** Any other `pg` option: host, port, user, ssl, max, statement_timeout, … */
  poolConfig?: PoolConfig;
  id?: string;
  /** The schema of the tables. Default: `public`. Created if absent. */
  schemaName?: string;
  /** The text search configuration of new indexes. Default: `english`. `simple` only finds exact word forms. */
  language?: string;
  system?: System;
}

/** The contract's query with pgvector's own options. */
export interface PgVectorQuery {
  /** The search breadth of an HNSW index, 1 to 1,000. Default: 100. More finds more and is slower. */
  ef?: number;
  /** How many lists of an IVFFlat index to search. Default: the square root of their number. */
  probes?: number;
}

interface FoundRow {
  id: string;
  metadata: Record<string, unknown> | null;
  document: string | null;
  vector?: string;
  measured: number | null;
}

/** Rows per upsert statement. */
const BATCH = 500;

/**
 * Vectors in PostgreSQL with pgvector, one table per index. Filters become part of the statement, and values are always
 * parameters. An approximate index only selects candidates: if it yields too few, the search is repeated exactly.
 */
export class PgVector implements Vector {
  readonly id: string;
  readonly #system: System;
  readonly #tables: Tables;
  readonly #database: Database;
  readonly #language: string;
  /** Registry rows. A number is never reused, so an outdated row leads to a missing table. */
  readonly #known = new Map<string, IndexRow>();
  readonly #statistics = new Map<number, TextStatistics & { revision: string }>();

  constructor(options: PgVectorOptions) {
    this.id = options.id ?? "pg-vector";
    this.#system = options.system ?? realSystem;
    this.#language = options.language ?? "english";
    this.#tables = new Tables(options.schemaName ?? "public");
    this.#database = new Database({
      ...(options.connectionString !== undefined && { connectionString: options.connectionString }),
      ...(options.pool && { pool: options.pool }),
      ...(options.poolConfig && { poolConfig: options.poolConfig }),
      prepare: (client) => this.#tables.prepare(client),
    });
  }

  /**
   * `indexConfig` says how entries are found. `buildIndex` creates an IVFFlat index once the entries are in; with
   * `buildIndex: false` also an HNSW index, which makes filling a large one faster.
   */
  async createIndex(
    options: Parameters<Vector["createIndex"]>[0] & {
      indexConfig?: PgIndexConfig;
      buildIndex?: boolean;
      language?: string;
    },
  ): Promise<void> {
    const { indexName, dimension, metric } = checkIndex(options);
    const config = checkIndexConfig(options.indexConfig, dimension);
    const language = options.language ?? this.#language;
    await this.#database.transaction(async (client) => {
      const present = await this.#tables.find(client, indexName);
      if (present) return checkSameIndex(indexName, { dimension, metric }, present);
      const index = await this.#tables.create(client, { indexName, dimension, metric, language });
      if (config.type === "hnsw" && options.buildIndex !== false) {
        await this.#tables.build(client, index, config);
      }
    });
  }

  async listIndexes(): Promise<string[]> {
    return this.#database.transaction((client) => this.#tables.list(client));
  }

  async describeIndex({ indexName }: { indexName: string }): Promise<VectorIndexDescription> {
    return this.#database.transaction(async (client) => {
      const index = await this.#tables.find(client, indexName);
      if (!index) throw noSuchIndex(indexName);
      const { rows } = await client.query<{ n: string }>(
        `SELECT count(*) AS n FROM ${this.#tables.entries(index)}`,
      );
      const { dimension, metric, number, revision } = index;
      return { dimension, metric, count: Number(rows[0]!.n), revision: `${number}.${revision}` };
    });
  }

  async deleteIndex({ indexName }: { indexName: string }): Promise<void> {
    this.#known.delete(indexName);
    await this.#database.transaction((client) => this.#tables.drop(client, indexName));
  }

  /** Replaces the search index. Writers wait until it is done. */
  async buildIndex(options: { indexName: string; indexConfig?: PgIndexConfig }): Promise<void> {
    const { indexName, indexConfig } = options;
    await this.#database.transaction(async (client) => {
      const index = await this.#tables.find(client, indexName);
      if (!index) throw noSuchIndex(indexName);
      await this.#tables.build(client, index, checkIndexConfig(indexConfig, index.dimension));
    });
    this.#known.delete(indexName);
  }

  async upsert(options: Parameters<Vector["upsert"]>[0]): Promise<string[]> {
    return this.#withIndex(options.indexName, async (client, index) => {
      const entries = toEntries(options, index.dimension, this.#system);
      // In one global order, so that two writers never deadlock; the last of equal ids wins.
      const byId = new Map(entries.map((entry) => [entry.id, entry]));
      const ordered = [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
      for (let start = 0; start < ordered.length; start += BATCH) {
        await this.#insert(client, index, ordered.slice(start, start + BATCH));
      }
      if (ordered.length > 0) await this.#tables.changed(client, index, options.indexName);
      return entries.map((entry) => entry.id);
    });
  }

  async query(options: Parameters<Vector["query"]>[0] & PgVectorQuery): Promise<VectorResult[]> {
    const { topK, minScore } = checkQuery(options);
    const filter = parseFilter(options.filter);
    const asked = {
      ...(options.ef !== undefined && { ef: within("ef", options.ef, 1, 1_000) }),
      ...(options.probes !== undefined && { probes: within("probes", options.probes, 1, 32_768) }),
    };
    const includeVector = options.includeVector === true;
    return this.#withIndex(
      options.indexName,
      async (client, index) => {
        const wanted = toFloat32(options.indexName, index.dimension, options.queryVector);
        if (topK === 0) return [];
        const table = this.#tables.entries(index);
        const search = { index, table, wanted, filter, topK, includeVector };
        const near = nearQuery(search);
        let rows = near && (await client.query<FoundRow>(near.text, near.values)).rows;
        if (!rows || rows.length < topK) {
          const exact = exactQuery(search);
          rows = (await client.query<FoundRow>(exact.text, exact.values)).rows;
        }
        return rows
          .map((row) => toResult(row, toScore(index.metric, row.measured)))
          .filter((result) => result.score >= minScore);
      },
      (index) => searchSettings(index, this.#tables.extensionVersion, topK, asked),
    );
  }

  async queryText(options: TextQuery): Promise<VectorResult[]> {
    const { topK, minScore } = checkTextQuery(options);
    const filter = parseFilter(options.filter);
    return this.#withIndex(options.indexName, async (client, index) => {
      const table = this.#tables.entries(index);
      const query = await textQuery(client, {
        index,
        table,
        queryText: options.queryText,
        statistics: () => this.#statisticsOf(client, index, options.indexName),
      });
      if (!query || topK === 0) return [];
      const { params, score, matches } = query;
      const columns = `id, metadata, document${options.includeVector ? ", vector::text AS vector" : ""}`;
      const { rows } = await client.query<FoundRow>(
        `SELECT ${columns}, ${score} AS measured FROM ${table} WHERE ${matches} AND ${filterSql(filter, params)} ` +
          `ORDER BY measured DESC, id LIMIT ${params.add(topK, "int")}`,
        params.values,
      );
      return rows.map((row) => toResult(row, row.measured ?? 0)).filter((result) => result.score >= minScore);
    });
  }

  async updateVector(options: Parameters<Vector["updateVector"]>[0]): Promise<void> {
    checkUpdate(options);
    const { indexName, id, update } = options;
    await this.#withIndex(indexName, async (client, index) => {
      const params = new Params();
      const set: string[] = [];
      if (update.vector) {
        const vector = toFloat32(indexName, index.dimension, update.vector);
        set.push(`vector = ${params.add(toText(vector), "vector")}`);
      }
      if (update.metadata) set.push(`metadata = ${params.add(encodeMetadata(update.metadata), "jsonb")}`);
      const table = this.#tables.entries(index);
      const where =
        id === undefined ? filterSql(parseFilter(options.filter), params) : `id = ${params.add(id, "text")}`;
      const { rows } = await client.query<{ id: string; metadata: unknown; document: string | null }>(
        `UPDATE ${table} SET ${set.join(", ")} WHERE ${where} RETURNING id, metadata, document`,
        params.values,
      );
      if (id !== undefined && rows.length === 0) throw noSuchVector(indexName, id);
      const [entry] = rows;
      if (!entry) return;
      if (update.metadata) {
        // All have the same metadata now, and those without a document the same text.
        const { text, count } = toTsvectorText(textOf(JSON.stringify(entry.metadata), null));
        await client.query(
          `UPDATE ${table} SET words = to_tsvector($1::regconfig, $2), word_count = $3 WHERE id = ANY($4) AND document IS NULL`,
          [index.language, text, count, rows.map((row) => row.id)],
        );
      }
      await this.#tables.changed(client, index, indexName);
    });
  }

  async deleteVector({ indexName, id }: { indexName: string; id: string }): Promise<void> {
    await this.deleteVectors({ indexName, ids: [id] });
  }

  async deleteVectors(options: Parameters<Vector["deleteVectors"]>[0]): Promise<void> {
    checkDeletion(options);
    const params = new Params();
    const where = options.ids
      ? `id = ANY(${params.add(options.ids, "text[]")})`
      : filterSql(parseFilter(options.filter), params);
    await this.#withIndex(options.indexName, async (client, index) => {
      const { rowCount } = await client.query(
        `DELETE FROM ${this.#tables.entries(index)} WHERE ${where}`,
        params.values,
      );
      if (rowCount) await this.#tables.changed(client, index, options.indexName);
    });
  }

  async truncateIndex({ indexName }: { indexName: string }): Promise<void> {
    await this.#withIndex(indexName, async (client, index) => {
      const { rowCount } = await client.query(`DELETE FROM ${this.#tables.entries(index)}`);
      if (rowCount) await this.#tables.changed(client, index, indexName);
    });
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  /** Runs `work` in a transaction with the index. An outdated registry row is read again. */
  async #withIndex<T>(
    indexName: string,
    work: (client: PoolClient, index: IndexRow) => Promise<T>,
    settings: (index: IndexRow) => string = () => "",
  ): Promise<T> {
    const known = this.#known.get(indexName);
    const index =
      known ?? (await this.#database.transaction((client) => this.#tables.find(client, indexName)));
    if (!index) throw noSuchIndex(indexName);
    this.#known.set(indexName, index);
    try {
      return await this.#database.transaction((client) => work(client, index), `BEGIN; ${settings(index)}`);
    } catch (error) {
      this.#known.delete(indexName);
      // Its table is gone, or it was refused based on an outdated row.
      const mayBeStale = isMissingTable(error) || (AgentError.is(error) && error.code === "invalid-argument");
      if (!known || !mayBeStale) throw error;
      const now = await this.#database.transaction((client) => this.#tables.find(client, indexName));
      if (now?.number === known.number) throw error;
    }
    return this.#withIndex(indexName, work, settings);
  }

  async #insert(client: PoolClient, index: IndexRow, entries: readonly VectorEntry[]): Promise<void> {
    const words = entries.map((entry) => toTsvectorText(textOf(entry.metadata, entry.document)));
    await client.query(
      `INSERT INTO ${this.#tables.entries(index)} (id, vector, metadata, document, words, word_count) ` +
        "SELECT id, vector::vector, metadata::jsonb, document, to_tsvector($7::regconfig, words), word_count " +
        "FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int[]) " +
        "AS entry (id, vector, metadata, document, words, word_count) " +
        "ON CONFLICT (id) DO UPDATE SET vector = excluded.vector, metadata = excluded.metadata, " +
        "document = excluded.document, words = excluded.words, word_count = excluded.word_count",
      [
        entries.map((entry) => entry.id),
        entries.map((entry) => toText(entry.vector)),
        entries.map((entry) => entry.metadata),
        entries.map((entry) => entry.document),
        words.map(({ text }) => text),
        words.map(({ count }) => count),
        index.language,
      ],
    );
  }

  /** The number of entries with words and their average length, read again when the index changes. */
  async #statisticsOf(client: PoolClient, index: IndexRow, indexName: string): Promise<TextStatistics> {
    const now = await this.#tables.find(client, indexName);
    const known = this.#statistics.get(index.number);
    if (known && known.revision === now?.revision) return known;
    const { rows } = await client.query<{ n: string; mean: number | null }>(
      `SELECT count(*) AS n, avg(word_count)::float8 AS mean FROM ${this.#tables.entries(index)} WHERE word_count > 0`,
    );
    const statistics = { count: Number(rows[0]!.n), meanLength: rows[0]!.mean ?? 1 };
    if (now) this.#statistics.set(index.number, { ...statistics, revision: now.revision });
    return statistics;
  }
}

function isMissingTable(error: unknown): boolean {
  return codeOf(error instanceof Error && error.cause ? error.cause : error) === "42P01";
}

function toText(vector: Float32Array): string {
  return `[${vector.join(",")}]`;
}

function toResult(row: FoundRow, score: number): VectorResult {
  return {
    id: row.id,
    score,
    ...(row.metadata !== null && { metadata: row.metadata }),
    ...(row.document !== null && { document: row.document }),
    ...(row.vector !== undefined && { vector: (JSON.parse(row.vector) as number[]).map(Math.fround) }),
  };
}
