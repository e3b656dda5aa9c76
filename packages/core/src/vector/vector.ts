/** Mongo-style conditions on metadata: `{ topic: "x" }`, `{ n: { $gte: 3 } }`, `{ $or: [...] }`. */
export type VectorFilter = Record<string, unknown>;

export type VectorMetric = "cosine" | "euclidean" | "dotproduct";

export interface VectorResult {
  id: string;
  /** Higher is nearer, for every metric. Cosine similarity for `cosine`. */
  score: number;
  metadata?: Record<string, unknown>;
  document?: string;
  vector?: number[];
}

/** A search by words. `queryText` is plain text, never the syntax of a query language. */
export interface TextQuery {
  indexName: string;
  queryText: string;
  topK?: number;
  filter?: VectorFilter;
  includeVector?: boolean;
  minScore?: number;
}

export interface VectorIndexDescription {
  dimension: number;
  count: number;
  metric: VectorMetric;
  /** Another one after every change to the index, by any process. Absent where the store cannot tell. */
  revision?: string;
}

/** The vector contract. `testVector` in `@selvedge/testing` is the contract as a suite. */
export interface Vector {
  readonly id: string;
  /** Creating an index that exists with the same dimension and metric is fine; with others it is an error. */
  createIndex(options: { indexName: string; dimension: number; metric?: VectorMetric }): Promise<void>;
  listIndexes(): Promise<string[]>;
  describeIndex(options: { indexName: string }): Promise<VectorIndexDescription>;
  deleteIndex(options: { indexName: string }): Promise<void>;
  /** Inserts or replaces, all or nothing. Answers the ids, made where none were given. */
  upsert(options: {
    indexName: string;
    vectors: number[][];
    metadata?: Record<string, unknown>[];
    documents?: string[];
    ids?: string[];
  }): Promise<string[]>;
  query(options: {
    indexName: string;
    queryVector: number[];
    topK?: number;
    filter?: VectorFilter;
    includeVector?: boolean;
    minScore?: number;
  }): Promise<VectorResult[]>;
  /**
   * Full-text search, where the store has it: entries that hold any of the words, the best first, ties by id. The text of
   * an entry is its document, or where it has none, the string `metadata.text`. Scores are above 0 and up to 1: what the
   * entry holds of the question, rare words counting more, of all it could hold.
   */
  queryText?(options: TextQuery): Promise<VectorResult[]>;
  updateVector(options: {
    indexName: string;
    id: string;
    update: { vector?: number[]; metadata?: Record<string, unknown> };
  }): Promise<void>;
  deleteVector(options: { indexName: string; id: string }): Promise<void>;
  deleteVectors(options: { indexName: string; ids?: string[]; filter?: VectorFilter }): Promise<void>;
  close?(): Promise<void>;
}
