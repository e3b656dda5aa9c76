import { AgentError } from "@selvedge/core/errors";
import type { VectorResult } from "@selvedge/core/vector";
import { textOfResult } from "./query-result.ts";
import {
  type RelevanceScorer,
  type RelevanceScoreProvider,
  type RerankModel,
  toScorer,
} from "./relevance-scorer.ts";

/** The weight of each score. They sum to 1. */
export interface WeightConfig {
  /** The score of the model or scorer. Default: 0.4. */
  semantic?: number;
  /** The search score. Default: 0.4. */
  vector?: number;
  /** The position in the search results. Default: 0.2. */
  position?: number;
}

export interface RerankerOptions {
  weights?: WeightConfig;
  /** How many results to return. Default: 3. */
  topK?: number;
  abortSignal?: AbortSignal | undefined;
}

export interface RerankConfig {
  model: RerankModel;
  options?: Omit<RerankerOptions, "abortSignal">;
}

export interface RerankResult<Result extends VectorResult = VectorResult> {
  result: Result;
  score: number;
  details: { semantic: number; vector: number; position: number };
}

const DEFAULT_WEIGHTS = { semantic: 0.4, vector: 0.4, position: 0.2 };
const DEFAULT_TOP_K = 3;
/** Weights such as 0.7, 0.2 and 0.1 do not sum to exactly 1. */
const TOLERANCE = 1e-6;

/** Ranks search results by a model's or scorer's judgement, their search score and their position. */
export async function rerank<Result extends VectorResult>(
  results: Result[],
  query: string,
  model: RerankModel,
  options: RerankerOptions = {},
): Promise<RerankResult<Result>[]> {
  const { weights, topK } = checkRerankerOptions(options);
  checkResults(results);
  if (results.length === 0) return [];
  const { abortSignal } = options;
  const texts = results.map(textOfResult);
  const scores = checkScores(
    await toScorer(model).score(query, texts, abortSignal ? { abortSignal } : {}),
    results.length,
  );
  return results
    .map((result, index) => {
      const details = {
        semantic: scores[index]!,
        vector: result.score,
        position: 1 - index / results.length,
      };
      const score =
        weights.semantic * details.semantic +
        weights.vector * details.vector +
        weights.position * details.position;
      return { result, score, details };
    })
    .sort((a, b) => b.score - a.score)
    .slice(0, topK);
}

/** `rerank` with named arguments. */
export function rerankWithScorer<Result extends VectorResult>({
  results,
  query,
  scorer,
  options,
}: {
  results: Result[];
  query: string;
  scorer: RelevanceScorer | RelevanceScoreProvider;
  options?: RerankerOptions;
}): Promise<RerankResult<Result>[]> {
  return rerank(results, query, scorer, options);
}

/** Checked when a tool is created, not at the first query. */
export function checkRerankerOptions(options: RerankerOptions = {}): {
  weights: Required<WeightConfig>;
  topK: number;
} {
  if (typeof options !== "object" || options === null) {
    throw new AgentError(
      "invalid-argument",
      `The options of a reranker must be an object, got ${String(options)}`,
    );
  }
  const { topK = DEFAULT_TOP_K } = options;
  if (!Number.isSafeInteger(topK) || topK < 1) {
    throw new AgentError(
      "invalid-argument",
      `topK of a reranker must be a whole number, 1 or more, got ${String(topK)}`,
    );
  }
  return { weights: checkWeights(options.weights), topK };
}

function checkResults(results: unknown): void {
  if (!Array.isArray(results)) {
    throw new AgentError("invalid-argument", `rerank needs a list of search results, got ${String(results)}`);
  }
  const bad = results.findIndex((result: VectorResult | null) => !Number.isFinite(result?.score));
  if (bad < 0) return;
  throw new AgentError(
    "invalid-argument",
    `rerank needs results with a score, but the one at position ${bad} has none`,
  );
}

function checkWeights(weights: WeightConfig | null | undefined): Required<WeightConfig> {
  if (weights === undefined) return DEFAULT_WEIGHTS;
  const { semantic = 0, vector = 0, position = 0 } = weights ?? {};
  const all = { semantic, vector, position };
  const sum = semantic + vector + position;
  const fits = Object.values(all).every((weight) => typeof weight === "number" && weight >= 0);
  if (fits && Math.abs(sum - 1) <= TOLERANCE) return all;
  throw new AgentError(
    "invalid-argument",
    `The weights of a reranker must be numbers, 0 or more, with the sum 1, got ${JSON.stringify(weights)}` +
      (fits ? `, which sum to ${sum}` : ""),
  );
}

function checkScores(scores: unknown, count: number): number[] {
  if (Array.isArray(scores) && scores.length === count && scores.every((score) => Number.isFinite(score))) {
    return scores.map((score: number) => Math.max(0, Math.min(1, score)));
  }
  throw new AgentError(
    "model-failed",
    `The scorer must return ${count} numbers, one for each result, got ${(JSON.stringify(scores) ?? typeof scores).slice(0, 100)}`,
  );
}
