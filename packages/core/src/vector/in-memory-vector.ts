import { realSystem, type System } from "../system.ts";
import {
  checkDeletion,
  checkIndex,
  checkQuery,
  checkSameIndex,
  checkUpdate,
  encodeMetadata,
  noSuchIndex,
  noSuchVector,
  toEntries,
  toFloat32,
  toScore,
  type VectorEntry,
} from "./check-vector.ts";
import { compareCells } from "../storage/conditions.ts";
import { matchesFilter, parseFilter } from "./filter.ts";
import type { Vector, VectorMetric, VectorResult } from "./vector.ts";

interface Stored extends VectorEntry {
  /** The metadata once more, parsed, for filters to look at. Never handed out. */
  fields: unknown;
}

interface VectorIndex {
  dimension: number;
  metric: VectorMetric;
  entries: Map<string, Stored>;
}

/** Exact search in memory. Good for tests and for some tens of thousands of vectors. */
export class InMemoryVector implements Vector {
  readonly id: string;
  readonly #system: System;
  readonly #indexes = new Map<string, VectorIndex>();

  constructor(options: { id?: string; system?: System } = {}) {
    this.id = options.id ?? "in-memory-vector";
    this.#system = options.system ?? realSystem;
  }

  async createIndex(options: Parameters<Vector["createIndex"]>[0]): Promise<void> {
    const { indexName, dimension, metric } = checkIndex(options);
    const present = this.#indexes.get(indexName);
    if (present) checkSameIndex(indexName, { dimension, metric }, present);
    else this.#indexes.set(indexName, { dimension, metric, entries: new Map() });
  }

  async listIndexes(): Promise<string[]> {
    return [...this.#indexes.keys()].sort(compareCells);
  }

  async describeIndex({
    indexName,
  }: {
    indexName: string;
  }): Promise<{ dimension: number; count: number; metric: VectorMetric }> {
    const { dimension, metric, entries } = this.#index(indexName);
    return { dimension, metric, count: entries.size };
  }

  async deleteIndex({ indexName }: { indexName: string }): Promise<void> {
    this.#indexes.delete(indexName);
  }

  async upsert(options: Parameters<Vector["upsert"]>[0]): Promise<string[]> {
    const { dimension, entries } = this.#index(options.indexName);
    const added = toEntries(options, dimension, this.#system);
    for (const entry of added) entries.set(entry.id, { ...entry, fields: parse(entry.metadata) });
    return added.map((entry) => entry.id);
  }

  async query(options: Parameters<Vector["query"]>[0]): Promise<VectorResult[]> {
    const { topK, minScore } = checkQuery(options);
    const { dimension, metric, entries } = this.#index(options.indexName);
    const wanted = toFloat32(options.indexName, dimension, options.queryVector);
    const filter = parseFilter(options.filter);
    const found: { entry: Stored; score: number }[] = [];
    for (const entry of entries.values()) {
      if (!matchesFilter(filter, entry.fields)) continue;
      const score = toScore(metric, measure(metric, wanted, entry.vector));
      if (score >= minScore) found.push({ entry, score });
    }
    found.sort((a, b) => b.score - a.score || compareCells(a.entry.id, b.entry.id));
    return found.slice(0, topK).map(({ entry, score }) => ({
      id: entry.id,
      score,
      ...(entry.metadata !== null && { metadata: parse(entry.metadata) as Record<string, unknown> }),
      ...(entry.document !== null && { document: entry.document }),
      ...(options.includeVector && { vector: [...entry.vector] }),
    }));
  }

  async updateVector(options: Parameters<Vector["updateVector"]>[0]): Promise<void> {
    checkUpdate(options);
    const { indexName, id, update } = options;
    const { dimension, entries } = this.#index(indexName);
    const entry = entries.get(id);
    if (!entry) throw noSuchVector(indexName, id);
    const metadata = update.metadata ? encodeMetadata(update.metadata) : entry.metadata;
    const vector = update.vector ? toFloat32(indexName, dimension, update.vector) : entry.vector;
    entries.set(id, { ...entry, vector, metadata, fields: parse(metadata) });
  }

  async deleteVector({ indexName, id }: { indexName: string; id: string }): Promise<void> {
    this.#index(indexName).entries.delete(id);
  }

  async deleteVectors(options: Parameters<Vector["deleteVectors"]>[0]): Promise<void> {
    checkDeletion(options);
    const { entries } = this.#index(options.indexName);
    for (const id of options.ids ?? []) entries.delete(id);
    if (options.ids) return;
    const filter = parseFilter(options.filter);
    for (const entry of entries.values()) {
      if (matchesFilter(filter, entry.fields)) entries.delete(entry.id);
    }
  }

  async close(): Promise<void> {
    this.#indexes.clear();
  }

  #index(indexName: string): VectorIndex {
    const index = this.#indexes.get(indexName);
    if (!index) throw noSuchIndex(indexName);
    return index;
  }
}

function parse(metadata: string | null): unknown {
  return metadata === null ? undefined : JSON.parse(metadata);
}

/** The cosine, the distance or the product; `null` where there is no angle to speak of. */
function measure(metric: VectorMetric, a: Float32Array, b: Float32Array): number | null {
  let dot = 0;
  let normA = 0;
  let normB = 0;
  let distance = 0;
  for (let index = 0; index < a.length; index++) {
    const x = a[index]!;
    const y = b[index]!;
    dot += x * y;
    normA += x * x;
    normB += y * y;
    distance += (x - y) * (x - y);
  }
  if (metric === "dotproduct") return dot;
  if (metric === "euclidean") return Math.sqrt(distance);
  return normA === 0 || normB === 0 ? null : dot / Math.sqrt(normA * normB);
}
