import { AgentError } from "@selvedge/core/errors";
import {
  type EmbedderConfig,
  toEmbedder,
  type Vector,
  type VectorFilter,
  type VectorResult,
} from "@selvedge/core/vector";
import { cosine } from "../cosine.ts";
import { embedQuery } from "./embed-query.ts";
import { weightsFor } from "./word-weights.ts";

export interface HybridWeights {
  /** What nearness of meaning counts. */
  vector: number;
  /** What shared words count. */
  text: number;
}

export interface HybridSearchOptions {
  vectorStore: Vector;
  indexName: string;
  queryText: string;
  /** Embeds the query; or give its vector. */
  model?: EmbedderConfig;
  queryVector?: number[];
  topK?: number;
  filter?: VectorFilter | undefined;
  includeVector?: boolean;
  /** Together 1. If not given, each side counts as much as it tells the passages apart, which depends on the query. */
  weights?: HybridWeights;
  /** Further options for the store's `query`. */
  queryOptions?: Record<string, unknown>;
  abortSignal?: AbortSignal | undefined;
}

/** Each side is asked for more than is wanted: what one finds late the other may find early. */
const MORE = 5;
const LEAST = 50;
const MOST = 1_000;

/**
 * Searches by meaning and by words, and adds up what both say. Scores of each side are brought to 0 to 1 within the answer:
 * those of the vectors between the farthest and the nearest found, those of the words by the best. An entry that only words
 * found is measured against the query as well, so it is not taken for the farthest.
 */
export async function hybridSearch(options: HybridSearchOptions): Promise<VectorResult[]> {
  const { vectorStore, indexName, queryText, topK = 10, filter, abortSignal } = options;
  const given = options.weights && checkHybridWeights(options.weights);
  if (typeof vectorStore.queryText !== "function") {
    throw new AgentError(
      "not-supported",
      `The vector store ${vectorStore.id} has no full-text search, which a hybrid search needs`,
    );
  }
  const queryVector = options.queryVector ?? (await embed(options));
  abortSignal?.throwIfAborted();
  const search = {
    indexName,
    topK: Math.min(MOST, Math.max(topK * MORE, LEAST)),
    includeVector: true,
    ...(filter && { filter }),
  };
  const [near, worded] = await Promise.all([
    vectorStore.query({ ...options.queryOptions, ...search, queryVector }),
    vectorStore.queryText({ ...search, queryText }),
  ]);
  const fused = fuse(
    near,
    worded,
    given ?? weightsFor(queryText, worded, spreadOf(near, queryVector)),
    await measureFor(vectorStore, indexName, queryVector, near, worded),
  );
  return fused.slice(0, topK).map(({ vector, ...result }) => ({
    ...result,
    ...(options.includeVector && vector && { vector }),
  }));
}

/** How near an entry is that the search by vectors did not reach; `undefined` where that cannot be told here. */
type Measure = (result: VectorResult) => number | undefined;

function fuse(
  near: VectorResult[],
  worded: VectorResult[],
  weights: HybridWeights,
  measure: Measure,
): VectorResult[] {
  const found = new Map<string, { result: VectorResult; near: number | undefined; worded: number }>();
  for (const result of near) found.set(result.id, { result, near: result.score, worded: 0 });
  for (const result of worded) {
    const known = found.get(result.id);
    if (known) known.worded = result.score;
    else found.set(result.id, { result, near: measure(result), worded: result.score });
  }
  const distances = near.map(({ score }) => score);
  const nearest = Math.max(...distances);
  const farthest = Math.min(...distances);
  const best = Math.max(...worded.map(({ score }) => score));
  const share = (score: number | undefined): number => {
    if (score === undefined || near.length === 0) return 0;
    return nearest === farthest ? 1 : Math.max(0, Math.min(1, (score - farthest) / (nearest - farthest)));
  };
  return [...found.values()]
    .map((entry) => ({
      ...entry,
      score:
        weights.vector * share(entry.near) + (entry.worded > 0 ? (weights.text * entry.worded) / best : 0),
    }))
    .sort((a, b) => b.score - a.score || b.worded - a.worded || (a.result.id < b.result.id ? -1 : 1))
    .map(({ result, score }) => ({ ...result, score }));
}

/** How far apart the vectors put the best of what they found, whatever the metric of the index. */
function spreadOf(near: VectorResult[], queryVector: number[]): number {
  if (near.length === 0) return 0;
  const scores = near
    .slice(0, LEAST)
    .map(({ vector, score }) => (vector ? cosine(vector, queryVector) : score));
  return Math.max(...scores) - Math.min(...scores);
}

async function measureFor(
  store: Vector,
  indexName: string,
  queryVector: number[],
  near: VectorResult[],
  worded: VectorResult[],
): Promise<Measure> {
  const known = new Set(near.map(({ id }) => id));
  if (worded.every(({ id }) => known.has(id))) return () => undefined;
  const { metric } = await store.describeIndex({ indexName });
  return ({ vector }) => (vector && metric === "cosine" ? cosine(vector, queryVector) : undefined);
}

async function embed({ model, queryText, abortSignal }: HybridSearchOptions): Promise<number[]> {
  if (!model)
    throw new AgentError(
      "invalid-argument",
      "A hybrid search needs a model for the query, or its queryVector",
    );
  return embedQuery(toEmbedder(model), queryText, { abortSignal });
}

export function checkHybridWeights(weights: HybridWeights): HybridWeights {
  const { vector, text } = weights;
  const fits = [vector, text].every((weight) => typeof weight === "number" && weight >= 0);
  if (fits && Math.abs(vector + text - 1) <= 1e-6) return weights;
  throw new AgentError(
    "invalid-argument",
    `The weights of a hybrid search are { vector, text }, from 0 on and together 1, got ${JSON.stringify(weights)}`,
  );
}
