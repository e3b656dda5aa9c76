import { AgentError } from "@selvedge/core/errors";
import { RESOURCE_ID_KEY } from "@selvedge/core/request-context";
import { realSystem, type System } from "@selvedge/core/storage";
import { createTool, type Tool } from "@selvedge/core/tools";
import { toEmbedder, type Vector, type VectorResult } from "@selvedge/core/vector";
import { embedQuery } from "../query/embed-query.ts";
import { type QueryInput, queryInput, type ReadQuery } from "../query/query-input.ts";
import {
  RETRIEVAL_OUTPUT,
  type RetrievalOutput,
  textOfResult,
  toModelOutput,
  toOutput,
} from "../query/query-result.ts";
import {
  checkToolOptions,
  filterFor,
  indexNameFor,
  type RetrievalOptions,
  setting,
  storeFor,
  topKFor,
} from "../query/retrieval-settings.ts";
import { searchFailed } from "../query/search-failed.ts";
import { type OwnSchema, trustedSchema } from "../schema/own-schema.ts";
import { type CachedGraph, GraphCache, type GraphScope } from "./graph-cache.ts";
import { checkGraphOptions, checkWalk, DEFAULT_WALK, GraphRAG, type GraphRAGOptions } from "./graph-rag.ts";

export interface GraphOptions extends GraphRAGOptions {
  randomWalkSteps?: number;
  restartProb?: number;
  /**
   * Up to this many passages, the graph spans everything the filter matches. Beyond that, each query gets a graph of
   * its nearest passages. Default: 5000, at most 9999.
   */
  maxNodes?: number;
}

export interface GraphRAGToolOptions extends RetrievalOptions {
  graphOptions?: GraphOptions;
  system?: System;
}

const DESCRIPTION =
  "Access and analyze relationships between information in the knowledge base to answer complex questions about connections and patterns.";
const DEFAULT_MAX_NODES = 5_000;
/** How many passages the graph of a single query spans. */
const AROUND = 500;

/** Creates a tool that searches a vector store by similarity and by connections between passages. */
export function createGraphRAGTool(
  options: GraphRAGToolOptions,
): Tool<OwnSchema<QueryInput, ReadQuery>, OwnSchema<RetrievalOutput>> {
  checkToolOptions("createGraphRAGTool", options);
  const {
    maxNodes = DEFAULT_MAX_NODES,
    randomWalkSteps,
    restartProb,
    ...graphOptions
  } = options.graphOptions ?? {};
  checkGraphOptions(graphOptions);
  checkWalk({ ...DEFAULT_WALK, ...defined({ randomWalkSteps, restartProb }) });
  if (!Number.isSafeInteger(maxNodes) || maxNodes < 1 || maxNodes > 9_999) {
    throw new AgentError(
      "invalid-argument",
      `GraphRAG: maxNodes must be between 1 and 9999, got ${String(maxNodes)}`,
    );
  }
  const cache = new GraphCache(options.system ?? realSystem);
  return createTool({
    id:
      options.id ??
      `GraphRAG ${options.vectorStoreName ?? ""} ${options.indexName ?? ""} Tool`.replaceAll(/ {2,}/g, " "),
    description: options.description ?? DESCRIPTION,
    inputSchema: queryInput(options.enableFilter ?? false),
    outputSchema: trustedSchema<RetrievalOutput>(RETRIEVAL_OUTPUT),
    idempotent: true,
    toModelOutput,
    execute: async (call, { abortSignal }) => {
      const { queryText, topK: asked, filter: askedFilter } = call.context;
      const indexName = indexNameFor(call, options);
      const store = await storeFor(call, options);
      const filter = filterFor(call, options, askedFilter);
      const walk = checkWalk({
        topK: topKFor(call, asked),
        randomWalkSteps: setting(call, "randomWalkSteps", randomWalkSteps ?? DEFAULT_WALK.randomWalkSteps),
        restartProb: setting(call, "restartProb", restartProb ?? DEFAULT_WALK.restartProb),
      });
      const providerOptions = setting(call, "providerOptions", options.providerOptions);
      const embedder = toEmbedder(
        setting(call, "model", options.model),
        providerOptions ? { providerOptions } : {},
      );
      const query = await embedQuery(embedder, queryText, { abortSignal });
      const tenant = String(call.requestContext.get(RESOURCE_ID_KEY) ?? call.resourceId ?? "");
      const scope = { store, indexName, filter, tenant };
      const graph = await graphFor(scope, query, { cache, maxNodes, graphOptions }).catch(
        (error: unknown) => {
          throw searchFailed(indexName, error);
        },
      );
      const results = graph
        .query({ query, ...walk })
        .map(({ id, content, metadata, score }): VectorResult => {
          return { id, score, metadata: structuredClone(metadata), document: content };
        });
      return toOutput(results, setting(call, "includeSources", options.includeSources) ?? true);
    },
  });
}

interface GraphSettings {
  cache: GraphCache;
  maxNodes: number;
  graphOptions: GraphRAGOptions;
}

/** The graph of the whole scope if it is small enough, otherwise one around the query. */
async function graphFor(scope: GraphScope, query: number[], settings: GraphSettings): Promise<GraphRAG> {
  const { cache, maxNodes, graphOptions } = settings;
  const index = await scope.store.describeIndex({ indexName: scope.indexName });
  // An empty graph has no vectors to compare with.
  if (index.dimension > 0 && query.length !== index.dimension) {
    throw new AgentError(
      "invalid-argument",
      `Index ${scope.indexName} contains vectors of ${index.dimension} numbers, got ${query.length} numbers`,
    );
  }
  if (index.count <= maxNodes || scope.filter) {
    const cached = await cache.get(scope, index, async (): Promise<CachedGraph> => {
      const nodes = await fetchNodes(scope, query, maxNodes + 1);
      return nodes.length > maxNodes ? {} : { graph: build(nodes, scope.store, graphOptions) };
    });
    if (cached.graph) return cached.graph;
  }
  return build(await fetchNodes(scope, query, Math.min(AROUND, maxNodes)), scope.store, graphOptions);
}

function fetchNodes(
  { store, indexName, filter }: GraphScope,
  queryVector: number[],
  topK: number,
): Promise<VectorResult[]> {
  return store.query({ indexName, queryVector, topK, includeVector: true, ...(filter && { filter }) });
}

function build(nodes: VectorResult[], store: Vector, options: GraphRAGOptions): GraphRAG {
  const graph = new GraphRAG(options);
  // The order of hits depends on who asked first; the order of ids does not.
  const sorted = nodes.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const embeddings = sorted.map(({ vector }) => {
    if (vector && vector.length > 0) return { vector };
    throw new AgentError(
      "not-supported",
      `The vector store ${store.id} returned no vectors, which a graph is built from`,
    );
  });
  const chunks = sorted.map((node) => ({
    id: node.id,
    text: textOfResult(node),
    metadata: node.metadata ?? {},
  }));
  graph.createGraph(chunks, embeddings);
  return graph;
}

function defined<Values extends object>(
  values: Values,
): { [Key in keyof Values]?: NonNullable<Values[Key]> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof Values]?: NonNullable<Values[Key]> };
}
