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

/** A full-text search. `queryText` is plain text, never query syntax. */
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
  /** Changes with every change to the index, by any process. Absent if the store cannot tell. */
  revision?: string;
}

/** The vector contract. `testVector` in `@selvedge/testing` is its test suite. */
export interface Vector {
  readonly id: string;
  /** Creating an existing index with the same dimension and metric succeeds; with others it fails. */
  createIndex(options: { indexName: string; dimension: number; metric?: VectorMetric }): Promise<void>;
  listIndexes(): Promise<string[]>;
  describeIndex(options: { indexName: string }): Promise<VectorIndexDescription>;
  deleteIndex(options: { indexName: string }): Promise<void>;
  /** Inserts or replaces, all or nothing. Returns the ids, generated where none were given. */
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
   * Full-text search, if the store supports it: entries that contain any of the words, best first, ties by id. The text
   * of an entry is its document, otherwise the string `metadata.text`. Scores are above 0 and up to 1: the share of the
   * query that the entry matches, with rare words weighing more.
   */
  queryText?(options: TextQuery): Promise<VectorResult[]>;
  /** Changes one entry by `id`, or all that match `filter`. Metadata is replaced as a whole. */
  updateVector(options: {
    indexName: string;
    id?: string;
    filter?: VectorFilter;
    update: { vector?: number[]; metadata?: Record<string, unknown> };
  }): Promise<void>;
  deleteVector(options: { indexName: string; id: string }): Promise<void>;
  deleteVectors(options: { indexName: string; ids?: string[]; filter?: VectorFilter }): Promise<void>;
  /** Deletes all entries; the index stays. */
  truncateIndex(options: { indexName: string }): Promise<void>;
  close?(): Promise<void>;
}
