// The contract, for vector store users.
export type {
  TextQuery,
  Vector,
  VectorFilter,
  VectorIndexDescription,
  VectorMetric,
  VectorResult,
} from "../vector/vector.ts";
export { MastraVector } from "../switching/mastra-vector.ts";
export { InMemoryVector } from "../vector/in-memory-vector.ts";

// Embedders.
export type { Embedder } from "../vector/embedder.ts";
export { toEmbedder } from "../vector/to-embedder.ts";
export type { EmbedderConfig, EmbeddingModel, ToEmbedderOptions } from "../vector/to-embedder.ts";

// For vector store authors.
export { FILTER_PROMPT } from "../vector/filter-prompt.ts";
export { matchesFilter, parseFilter } from "../vector/filter.ts";
export type { FilterNode, FilterScalar } from "../vector/filter.ts";
export {
  checkDeletion,
  checkIndex,
  checkQuery,
  checkSameIndex,
  checkTextQuery,
  checkUpdate,
  encodeMetadata,
  noSuchIndex,
  noSuchVector,
  textOf,
  toEntries,
  toFloat32,
  toScore,
} from "../vector/check-vector.ts";
export { dotProducts } from "../vector/dot-products.ts";
export { toQuestion, weighWords } from "../vector/question.ts";
export { toWords } from "../vector/to-words.ts";
export type { VectorEntry } from "../vector/check-vector.ts";
export { fromFlatMetadata, toFlatMetadata, toRemoteFilter } from "../vector/remote-record.ts";
export type { FlatMetadata } from "../vector/remote-record.ts";
