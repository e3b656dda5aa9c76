import { realSystem, type System } from "@selvedge/core/storage";
import {
  checkDeletion,
  checkIndex,
  checkQuery,
  checkSameIndex,
  checkUpdate,
  encodeMetadata,
  noSuchIndex,
  noSuchVector,
  parseFilter,
  toEntries,
  toFloat32,
  toScore,
  type Vector,
  type VectorEntry,
  type VectorMetric,
  type VectorResult,
} from "@selvedge/core/vector";
import { Connection, type Param } from "./connection.ts";
import { filterSql } from "./filter-sql.ts";

export interface LibSQLVectorOptions {
  /** `file:<path>` or `:memory:`. May be the file of a `LibSQLStore`. `connectionUrl` is another name for it. */
  url?: string;
  connectionUrl?: string;
  id?: string;
  /** For remote databases, which are not supported yet. */
  authToken?: string;
  system?: System;
}

interface IndexRow {
  number: number;
  dimension: number;
  metric: VectorMetric;
}

interface FoundRow {
  id: string;
  metadata: string | null;
  document: string | null;
  vector?: Uint8Array | ArrayBuffer;
  measured: number | null;
}

const INDEXES = "selvedge_vector_indexes";

/** What is measured, higher or lower, and the order in which the nearest come first. */
const MEASURES: Readonly<Record<VectorMetric, { measured: string; order: string }>> = {
  cosine: { measured: "1 - vector_distance_cos(vector, ?)", order: "coalesce(measured, 0) DESC" },
  euclidean: { measured: "vector_distance_l2(vector, ?)", order: "measured" },
  // There is no function for it; the cosine and the lengths say the same.
  dotproduct: {
    measured: "coalesce(1 - vector_distance_cos(vector, ?), 0) * length * ?",
    order: "measured DESC",
  },
};

/**
 * Vectors in a libSQL file, a table for each index. The search is exact: it looks at every vector that the filter lets
 * through, which up to some tens of thousands is both quicker and smaller than libSQL's approximate index.
 */
export class LibSQLVector implements Vector {
  readonly id: string;
  readonly #connection: Connection;
  readonly #system: System;

  constructor(options: LibSQLVectorOptions) {
    this.id = options.id ?? "libsql-vector";
    this.#system = options.system ?? realSystem;
    this.#connection = new Connection({
      url: (options.url ?? options.connectionUrl) as string,
      system: options.system,
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
      this.#connection.exec(
        `CREATE TABLE ${tableOf({ number: Number(lastInsertRowid) })} (id TEXT PRIMARY KEY, ` +
          `vector F32_BLOB(${dimension}) NOT NULL, length REAL NOT NULL, metadata TEXT, document TEXT)`,
      );
    });
  }

  async listIndexes(): Promise<string[]> {
    const rows = await this.#connection.read(() =>
      this.#connection.all<{ name: string }>(`SELECT name FROM ${INDEXES} ORDER BY name`),
    );
    return rows.map(({ name }) => name);
  }

  async describeIndex({
    indexName,
  }: {
    indexName: string;
  }): Promise<{ dimension: number; count: number; metric: VectorMetric }> {
    return this.#connection.read(() => {
      const index = this.#index(indexName);
      const [row] = this.#connection.all<{ count: number }>(
        `SELECT count(*) AS count FROM ${tableOf(index)}`,
      );
      return { dimension: index.dimension, metric: index.metric, count: row!.count };
    });
  }

  async deleteIndex({ indexName }: { indexName: string }): Promise<void> {
    await this.#connection.write(() => {
      const index = this.#find(indexName);
      if (!index) return;
      this.#connection.exec(`DROP TABLE IF EXISTS ${tableOf(index)}`);
      this.#connection.run(`DELETE FROM ${INDEXES} WHERE name = ?`, [indexName]);
    });
  }

  async upsert(options: Parameters<Vector["upsert"]>[0]): Promise<string[]> {
    return this.#connection.write(() => {
      const index = this.#index(options.indexName);
      const entries = toEntries(options, index.dimension, this.#system);
      const text =
        `INSERT INTO ${tableOf(index)} (id, vector, length, metadata, document) VALUES (?, ?, ?, ?, ?) ` +
        "ON CONFLICT (id) DO UPDATE SET vector = excluded.vector, length = excluded.length, " +
        "metadata = excluded.metadata, document = excluded.document";
      for (const entry of entries) this.#connection.run(text, entryParams(entry));
      return entries.map((entry) => entry.id);
    });
  }

  async query(options: Parameters<Vector["query"]>[0]): Promise<VectorResult[]> {
    const { topK, minScore } = checkQuery(options);
    const where = filterSql("metadata", parseFilter(options.filter));
    return this.#connection.read(() => {
      const index = this.#index(options.indexName);
      const wanted = toFloat32(options.indexName, index.dimension, options.queryVector);
      const { measured, order } = MEASURES[index.metric];
      const text =
        `SELECT id, metadata, document${options.includeVector ? ", vector" : ""}, ${measured} AS measured ` +
        `FROM ${tableOf(index)} WHERE ${where.text} ORDER BY ${order}, id LIMIT ?`;
      const target: Param[] =
        index.metric === "dotproduct" ? [toBlob(wanted), lengthOf(wanted)] : [toBlob(wanted)];
      return this.#connection
        .all<FoundRow>(text, [...target, ...where.params, topK])
        .map((row) => toResult(row, index.metric))
        .filter((result) => result.score >= minScore);
    });
  }

  async updateVector(options: Parameters<Vector["updateVector"]>[0]): Promise<void> {
    checkUpdate(options);
    const { indexName, id, update } = options;
    await this.#connection.write(() => {
      const index = this.#index(indexName);
      const set: Record<string, Param> = {};
      if (update.vector) {
        const vector = toFloat32(indexName, index.dimension, update.vector);
        set.vector = toBlob(vector);
        set.length = lengthOf(vector);
      }
      if (update.metadata) set.metadata = encodeMetadata(update.metadata);
      const columns = Object.keys(set).map((column) => `${column} = ?`);
      const { changes } = this.#connection.run(
        `UPDATE ${tableOf(index)} SET ${columns.join(", ")} WHERE id = ?`,
        [...Object.values(set), id],
      );
      if (changes === 0) throw noSuchVector(indexName, id);
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
    await this.#connection.write(() => {
      this.#connection.run(
        `DELETE FROM ${tableOf(this.#index(options.indexName))} WHERE ${where.text}`,
        where.params,
      );
    });
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #find(indexName: string): IndexRow | undefined {
    const text = `SELECT number, dimension, metric FROM ${INDEXES} WHERE name = ?`;
    return this.#connection.all<IndexRow>(text, [indexName])[0];
  }

  #index(indexName: string): IndexRow {
    const index = this.#find(indexName);
    if (!index) throw noSuchIndex(indexName);
    return index;
  }
}

function createRegistry(connection: Connection): void {
  const known = connection.all("SELECT 1 FROM sqlite_master WHERE name = ?", [INDEXES]);
  if (known.length > 0) return;
  connection.transaction(() => {
    connection.exec(
      `CREATE TABLE IF NOT EXISTS ${INDEXES} (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, ` +
        "dimension INTEGER NOT NULL, metric TEXT NOT NULL)",
    );
  });
}

/** Tables are numbered: names of indexes may differ only in case, which names of tables may not. */
function tableOf({ number }: { number: number }): string {
  return `selvedge_vectors_${number}`;
}

function entryParams(entry: VectorEntry): Param[] {
  return [entry.id, toBlob(entry.vector), lengthOf(entry.vector), entry.metadata, entry.document];
}

function toBlob(vector: Float32Array): Uint8Array {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

function lengthOf(vector: Float32Array): number {
  return Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
}

function toResult(row: FoundRow, metric: VectorMetric): VectorResult {
  return {
    id: row.id,
    score: toScore(metric, row.measured),
    ...(row.metadata !== null && { metadata: JSON.parse(row.metadata) as Record<string, unknown> }),
    ...(row.document !== null && { document: row.document }),
    ...(row.vector && { vector: fromBlob(row.vector) }),
  };
}

/** Depending on how rows are read, the driver gives a Buffer or an ArrayBuffer. */
function fromBlob(blob: Uint8Array | ArrayBuffer): number[] {
  return Array.from(new Float32Array(new Uint8Array(blob).slice().buffer));
}
