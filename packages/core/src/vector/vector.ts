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

/** The vector contract. `testVector` in `@selvedge/testing` is the contract as a suite. */
export interface Vector {
  readonly id: string;
  /** Creating an index that exists with the same dimension and metric is fine; with others it is an error. */
  createIndex(options: { indexName: string; dimension: number; metric?: VectorMetric }): Promise<void>;
  listIndexes(): Promise<string[]>;
  describeIndex(options: {
    indexName: string;
  }): Promise<{ dimension: number; count: number; metric: VectorMetric }>;
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
  updateVector(options: {
    indexName: string;
    id: string;
    update: { vector?: number[]; metadata?: Record<string, unknown> };
  }): Promise<void>;
  deleteVector(options: { indexName: string; id: string }): Promise<void>;
  deleteVectors(options: { indexName: string; ids?: string[]; filter?: VectorFilter }): Promise<void>;
  close?(): Promise<void>;
}
