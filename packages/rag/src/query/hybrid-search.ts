import { AgentError } from "@selvedge/core/errors";
import {
  type EmbedderConfig,
  toEmbedder,
  toScore,
  type Vector,
  type VectorFilter,
  type VectorMetric,
  type VectorResult,
} from "@selvedge/core/vector";
import { cosine } from "../cosine.ts";
import { embedQuery } from "./embed-query.ts";

export interface HybridWeights {
  /** The weight of semantic similarity. */
  vector: number;
  /** The weight of shared words. */
  text: number;
}

export interface HybridSearchOptions {
  vectorStore: Vector;
  indexName: string;
  queryText: string;
  /** Embeds the query; or pass its vector. */
  model?: EmbedderConfig;
  queryVector?: number[];
  topK?: number;
  filter?: VectorFilter | undefined;
  includeVector?: boolean;
  /** They sum to 1. Default: a half each. */
  weights?: HybridWeights;
  /** Further options for the store's `query`. */
  queryOptions?: Record<string, unknown>;
  abortSignal?: AbortSignal | undefined;
}

/** Each side is asked for more than requested: what one ranks low, the other may rank high. */
const MORE = 5;
const LEAST = 100;
const MOST = 1_000;
const ALIKE: HybridWeights = { vector: 0.5, text: 0.5 };

/**
 * Searches by meaning and by words and adds both scores. Neither side is rescaled to fill the range: a score says how
 * near a passage is and how much of the query it contains, so nothing scores high when nothing fits. Vectors that
 * separate passages clearly thus weigh more than vectors that find all of them about equally near.
 */
export async function hybridSearch(options: HybridSearchOptions): Promise<VectorResult[]> {
  const { vectorStore, indexName, queryText, topK = 10, filter, abortSignal } = options;
  const weights = options.weights ? checkHybridWeights(options.weights) : ALIKE;
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
    weights,
    await measureFor(vectorStore, indexName, queryVector, near, worded),
  );
  return fused.slice(0, topK).map(({ vector, ...result }) => ({
    ...result,
    ...(options.includeVector && vector && { vector }),
  }));
}

/** The similarity of an entry that the vector search did not reach. */
type Measure = (result: VectorResult) => number;

function fuse(
  near: VectorResult[],
  worded: VectorResult[],
  weights: HybridWeights,
  measure: Measure,
): VectorResult[] {
  const found = new Map<string, { result: VectorResult; near: number; worded: number }>();
  for (const result of near) found.set(result.id, { result, near: result.score, worded: 0 });
  for (const result of worded) {
    const known = found.get(result.id);
    if (known) known.worded = result.score;
    else found.set(result.id, { result, near: measure(result), worded: result.score });
  }
  const nearest = Math.max(1, ...near.map(({ score }) => score));
  const best = worded[0]?.score ?? 0;
  return [...found.values()]
    .map((entry) => ({
      ...entry,
      score:
        weights.vector * Math.max(0, entry.near / nearest) + weights.text * wordShare(entry.worded, best),
    }))
    .sort((a, b) => b.score - a.score || b.worded - a.worded || (a.result.id < b.result.id ? -1 : 1))
    .map(({ result, score }) => ({ ...result, score }));
}

/**
 * The word score of a passage, from 0 to 1: the geometric mean of its share of the query and its share of the best
 * passage. By the query alone, words would count less the longer the query; by the best passage alone, a passage with
 * one word of ten could count as much as one with all.
 */
function wordShare(score: number, best: number): number {
  if (score <= 0) return 0;
  return best > 1 ? score / best : score / Math.sqrt(best);
}

async function measureFor(
  store: Vector,
  indexName: string,
  queryVector: number[],
  near: VectorResult[],
  worded: VectorResult[],
): Promise<Measure> {
  const known = new Set(near.map(({ id }) => id));
  // At most as near as what was found; nothing more is known about an entry without its vector.
  const farthest = near.at(-1)?.score ?? 0;
  if (worded.every(({ id }) => known.has(id))) return () => farthest;
  const { metric } = await store.describeIndex({ indexName });
  return ({ vector }) => (vector ? nearness(metric, vector, queryVector) : farthest);
}

function nearness(metric: VectorMetric, a: readonly number[], b: readonly number[]): number {
  if (metric === "cosine") return cosine(a, b);
  const sum = a.reduce(
    (total, value, index) => total + (metric === "euclidean" ? (value - b[index]!) ** 2 : value * b[index]!),
    0,
  );
  return toScore(metric, metric === "euclidean" ? Math.sqrt(sum) : sum);
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
    `The weights of a hybrid search are { vector, text }, 0 or more, with the sum 1, got ${JSON.stringify(weights)}`,
  );
}
