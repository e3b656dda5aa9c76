import { AgentError } from "@selvedge/core/errors";
import { createTool, type Tool } from "@selvedge/core/tools";
import { toEmbedder, type Vector, type VectorResult } from "@selvedge/core/vector";
import { type OwnSchema, trustedSchema } from "../schema/own-schema.ts";
import { type DatabaseConfig, flattenDatabaseConfig } from "./database-config.ts";
import { embedQuery } from "./embed-query.ts";
import { checkHybridWeights, hybridSearch, type HybridWeights } from "./hybrid-search.ts";
import { type QueryInput, queryInput, type ReadQuery } from "./query-input.ts";
import { RETRIEVAL_OUTPUT, type RetrievalOutput, toModelOutput, toOutput } from "./query-result.ts";
import { checkRerankerOptions, rerank, type RerankConfig } from "./rerank.ts";
import {
  checkToolOptions,
  filterFor,
  indexNameFor,
  type RetrievalOptions,
  setting,
  storeFor,
  topKFor,
} from "./retrieval-settings.ts";
import { searchFailed } from "./search-failed.ts";

export interface VectorQueryToolOptions extends RetrievalOptions {
  includeVectors?: boolean;
  /** Reranks the results with a language model or a scorer. */
  reranker?: RerankConfig;
  databaseConfig?: DatabaseConfig;
  /** Also searches by words, if the store supports it. */
  hybrid?: boolean | { weights?: HybridWeights };
}

const DESCRIPTION = "Access the knowledge base to find information needed to answer user questions";

/** Creates a tool that searches a vector store. A failure is an error the model can read, never an empty result. */
export function createVectorQueryTool(
  options: VectorQueryToolOptions,
): Tool<OwnSchema<QueryInput, ReadQuery>, OwnSchema<RetrievalOutput>> {
  checkToolOptions("createVectorQueryTool", options);
  checkReranker(options.reranker);
  flattenDatabaseConfig(options.databaseConfig);
  if (typeof options.hybrid === "object")
    if (options.hybrid.weights) checkHybridWeights(options.hybrid.weights);
  return createTool({
    id:
      options.id ??
      `VectorQuery ${options.vectorStoreName ?? ""} ${options.indexName ?? ""} Tool`.replaceAll(
        / {2,}/g,
        " ",
      ),
    description: options.description ?? DESCRIPTION,
    inputSchema: queryInput(options.enableFilter ?? false),
    outputSchema: trustedSchema<RetrievalOutput>(RETRIEVAL_OUTPUT),
    idempotent: true,
    toModelOutput,
    execute: async (call, { abortSignal }) => {
      const { queryText, topK: asked, filter } = call.context;
      const indexName = indexNameFor(call, options);
      const store = await storeFor(call, options);
      const reranker = setting(call, "reranker", options.reranker);
      checkReranker(reranker);
      const topK = topKFor(call, asked);
      const results = await search(store, {
        indexName,
        queryText,
        topK,
        filter: filterFor(call, options, filter),
        includeVector: setting(call, "includeVectors", options.includeVectors) ?? false,
        queryOptions: flattenDatabaseConfig(setting(call, "databaseConfig", options.databaseConfig)),
        embedder: toEmbedder(setting(call, "model", options.model), providerOptionsOf(call, options)),
        hybrid: options.hybrid ?? false,
        abortSignal,
      });
      const ranked = reranker ? await rerankBy(reranker, results, queryText, topK, abortSignal) : results;
      return toOutput(ranked, setting(call, "includeSources", options.includeSources) ?? true);
    },
  });
}

interface Search {
  indexName: string;
  queryText: string;
  topK: number;
  filter: Parameters<Vector["query"]>[0]["filter"];
  includeVector: boolean;
  queryOptions: Record<string, unknown>;
  embedder: ReturnType<typeof toEmbedder>;
  hybrid: boolean | { weights?: HybridWeights };
  abortSignal: AbortSignal;
}

async function search(
  store: Vector,
  { embedder, queryText, hybrid, ...rest }: Search,
): Promise<VectorResult[]> {
  const { indexName, topK, filter, includeVector, queryOptions, abortSignal } = rest;
  const queryVector = await embedQuery(embedder, queryText, { abortSignal });
  try {
    if (hybrid) {
      const weights = typeof hybrid === "object" ? hybrid.weights : undefined;
      const both = { vectorStore: store, queryText, queryVector, ...rest };
      return await hybridSearch(weights ? { ...both, weights } : both);
    }
    const query = { indexName, queryVector, topK, includeVector, ...(filter && { filter }) };
    return await store.query({ ...queryOptions, ...query });
  } catch (error) {
    throw searchFailed(indexName, error);
  }
}

async function rerankBy(
  { model, options }: RerankConfig,
  results: VectorResult[],
  queryText: string,
  topK: number,
  abortSignal: AbortSignal,
): Promise<VectorResult[]> {
  const ranked = await rerank(results, queryText, model, { topK, ...options, abortSignal });
  return ranked.map(({ result, score }) => ({ ...result, score }));
}

function checkReranker(reranker: RerankConfig | undefined): void {
  if (reranker === undefined) return;
  if (typeof reranker !== "object" || reranker === null || !reranker.model) {
    throw new AgentError("invalid-argument", "reranker needs a model: a language model or a scorer");
  }
  checkRerankerOptions(reranker.options);
}

function providerOptionsOf(
  call: Parameters<typeof setting>[0],
  options: RetrievalOptions,
): { providerOptions?: Record<string, Record<string, unknown>> } {
  const providerOptions = setting(call, "providerOptions", options.providerOptions);
  return providerOptions ? { providerOptions } : {};
}
