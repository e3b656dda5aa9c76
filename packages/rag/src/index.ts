// Documents and chunks
export {
  MDocument,
  type DocumentChunk,
  type DocumentSource,
  type DocumentType,
  type MDocumentOptions,
} from "./document/mdocument.ts";
export type { ChunkParams, ChunkStrategy } from "./document/chunk-params.ts";
export { Language } from "./chunk/language.ts";
export type { CodeLanguage } from "./chunk/code-separators.ts";
export { htmlToText } from "./document/html-to-text.ts";
export { createDocumentChunkerTool } from "./document/document-chunker-tool.ts";

// Searching
export { createVectorQueryTool, type VectorQueryToolOptions } from "./query/vector-query-tool.ts";
export type { DatabaseConfig } from "./query/database-config.ts";
export type { QueryInput } from "./query/query-input.ts";
export type { QueryResult, RetrievalOutput } from "./query/query-result.ts";
export type { RetrievalOptions, VectorStoreSource } from "./query/retrieval-settings.ts";
export { hybridSearch, type HybridSearchOptions, type HybridWeights } from "./query/hybrid-search.ts";

// Ranking results
export {
  rerank,
  rerankWithScorer,
  type RerankConfig,
  type RerankerOptions,
  type RerankResult,
  type WeightConfig,
} from "./query/rerank.ts";
export type { RelevanceScorer, RelevanceScoreProvider, RerankModel } from "./query/relevance-scorer.ts";

// Graphs of passages
export { createGraphRAGTool, type GraphOptions, type GraphRAGToolOptions } from "./graph/graph-rag-tool.ts";
export {
  GraphRAG,
  type GraphChunk,
  type GraphNode,
  type GraphQuery,
  type GraphRAGOptions,
  type RankedNode,
} from "./graph/graph-rag.ts";
