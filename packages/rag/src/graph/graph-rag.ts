import { AgentError } from "@selvedge/core/errors";
import { dotProducts } from "@selvedge/core/vector";
import { type Graph, knnGraph, normalise, type Vectors } from "./knn-graph.ts";
import { Nearest } from "./nearest.ts";
import { walkShares } from "./random-walk.ts";

export interface GraphChunk {
  id?: string;
  text: string;
  metadata?: Record<string, unknown>;
}

export interface GraphNode {
  id: string;
  content: string;
  metadata: Record<string, unknown>;
}

export interface RankedNode extends GraphNode {
  /** The similarity to the query, adjusted by how often a walk from the best hits visits the passage. */
  score: number;
}

export interface GraphQuery {
  query: number[];
  topK?: number;
  randomWalkSteps?: number;
  restartProb?: number;
}

export interface GraphRAGOptions {
  /** The length of all vectors. Default: that of the first one. */
  dimension?: number;
  /** How similar two nodes must be to be connected, from 0 to 1. Default: 0.7. */
  threshold?: number;
  /** How many edges a node may choose. Default: 16. */
  neighbours?: number;
}

export const DEFAULT_WALK = { randomWalkSteps: 100, restartProb: 0.15 };
const DEFAULT_TOP_K = 10;
const MAX_STEPS = 10_000;
/** The walk starts from this many hits; a hit less similar by `FADE` counts for a third. */
const SEEDS = 10;
const FADE = 0.05;
/** The weight of the walk relative to the similarity. */
const WALK_WEIGHT = 0.2;

/**
 * Ranks passages by their similarity to a query and by their connections to other similar passages. The graph connects
 * near passages; a random walk that restarts at the best hits finds related ones.
 */
export class GraphRAG {
  readonly #options: Required<Omit<GraphRAGOptions, "dimension">>;
  #dimension: number | undefined;
  #nodes: GraphNode[] = [];
  #vectors: Vectors = { data: new Float32Array(0), count: 0, dimension: 1 };
  #graph: Graph = knnGraph(this.#vectors, { threshold: 0, neighbours: 1 });

  /** Accepts options, or a dimension and a threshold. */
  constructor(options: GraphRAGOptions | number = {}, threshold?: number) {
    const given =
      typeof options === "number"
        ? { dimension: options, ...(threshold !== undefined && { threshold }) }
        : options;
    this.#dimension = given.dimension;
    this.#options = { threshold: given.threshold ?? 0.7, neighbours: given.neighbours ?? 16 };
    checkGraphOptions(given);
  }

  get size(): number {
    return this.#nodes.length;
  }

  /** Rebuilds the graph from passages and their vectors. */
  createGraph(chunks: readonly GraphChunk[], embeddings: readonly { vector: readonly number[] }[]): void {
    if (!Array.isArray(chunks) || !Array.isArray(embeddings) || chunks.length !== embeddings.length) {
      throw new AgentError(
        "invalid-argument",
        `createGraph needs as many embeddings as chunks, got ${embeddings?.length} and ${chunks?.length}`,
      );
    }
    const dimension = this.#dimension ?? embeddings[0]?.vector.length ?? 1;
    const data = new Float32Array(chunks.length * dimension);
    embeddings.forEach(({ vector }, index) => data.set(checkVector(vector, dimension), index * dimension));
    const vectors = { data, count: chunks.length, dimension };
    normalise(vectors);
    this.#nodes = chunks.map(({ id, text, metadata }, index) => ({
      id: id ?? String(index),
      content: text,
      metadata: metadata ?? {},
    }));
    this.#vectors = vectors;
    this.#dimension = dimension;
    this.#graph = knnGraph(vectors, this.#options);
  }

  getNodes(): GraphNode[] {
    return [...this.#nodes];
  }

  getEdges(): { source: string; target: string; weight: number }[] {
    const { offsets, neighbours, weights } = this.#graph;
    return this.#nodes.flatMap(({ id }, node) =>
      Array.from(neighbours.subarray(offsets[node], offsets[node + 1]), (other, index) => ({
        source: id,
        target: this.#nodes[other]!.id,
        weight: weights[offsets[node]! + index]!,
      })),
    );
  }

  /** The best passages first. The same query always returns the same result. */
  query(options: GraphQuery): RankedNode[] {
    const { topK, randomWalkSteps, restartProb } = checkWalk(options);
    if (this.#nodes.length === 0) return [];
    const similarities = this.#similarities(options.query);
    const order = best(similarities, Math.max(SEEDS, topK));
    const nearest = similarities[order[0]!]!;
    const seeds = order.slice(0, SEEDS).map((node): [number, number] => {
      return [node, Math.exp((similarities[node]! - nearest) / FADE)];
    });
    const shares = walkShares(this.#graph, new Map(seeds), { steps: randomWalkSteps, restart: restartProb });
    const mostVisited = shares.reduce((most, share) => Math.max(most, share), 0);
    const scale = Math.abs(nearest);
    const scores = similarities.map(
      (similarity, node) =>
        (1 - WALK_WEIGHT) * similarity + (WALK_WEIGHT * scale * shares[node]!) / mostVisited,
    );
    return best(scores, topK).map((node) => ({ ...this.#nodes[node]!, score: scores[node]! }));
  }

  #similarities(query: readonly number[]): Float64Array {
    const { count, dimension } = this.#vectors;
    const wanted = { data: Float32Array.from(checkVector(query, dimension)), count: 1, dimension };
    normalise(wanted);
    return dotProducts(this.#vectors, wanted.data, count);
  }
}

/** The nodes with the highest values, best first; earlier nodes first among equals. */
function best(values: Float64Array, count: number): number[] {
  const nearest = new Nearest(Math.min(count, values.length));
  for (let node = 0; node < values.length; node++) nearest.offer(node, values[node]!);
  return [...nearest.ids()];
}

export function checkGraphOptions({ dimension, threshold, neighbours }: GraphRAGOptions): void {
  if (dimension !== undefined && (!Number.isSafeInteger(dimension) || dimension < 1)) {
    throw invalid("dimension must be a whole number, 1 or more", dimension);
  }
  if (threshold !== undefined && !(typeof threshold === "number" && threshold >= 0 && threshold <= 1)) {
    throw invalid("threshold must be between 0 and 1", threshold);
  }
  if (neighbours !== undefined && (!Number.isSafeInteger(neighbours) || neighbours < 1 || neighbours > 256)) {
    throw invalid("neighbours must be between 1 and 256", neighbours);
  }
}

export function checkWalk(options: Omit<GraphQuery, "query">): Required<Omit<GraphQuery, "query">> {
  const { topK = DEFAULT_TOP_K, randomWalkSteps, restartProb } = { ...DEFAULT_WALK, ...options };
  if (!Number.isSafeInteger(topK) || topK < 1) throw invalid("topK must be a whole number, 1 or more", topK);
  if (!Number.isSafeInteger(randomWalkSteps) || randomWalkSteps < 1 || randomWalkSteps > MAX_STEPS) {
    throw invalid(`randomWalkSteps must be between 1 and ${MAX_STEPS}`, randomWalkSteps);
  }
  if (!(typeof restartProb === "number" && restartProb > 0 && restartProb < 1)) {
    throw invalid("restartProb must be above 0 and below 1", restartProb);
  }
  return { topK, randomWalkSteps, restartProb };
}

function checkVector(vector: unknown, dimension: number): readonly number[] {
  if (!Array.isArray(vector) || vector.length !== dimension) {
    throw invalid(
      `vectors must have ${dimension} numbers`,
      Array.isArray(vector) ? vector.length : typeof vector,
    );
  }
  for (let index = 0; index < dimension; index++) {
    if (!Number.isFinite(vector[index]))
      throw invalid(`vectors must contain finite numbers, but not at position ${index}`, vector[index]);
  }
  return vector as number[];
}

function invalid(problem: string, value: unknown): AgentError {
  const shown = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  return new AgentError("invalid-argument", `GraphRAG: ${problem}, got ${shown}`);
}
