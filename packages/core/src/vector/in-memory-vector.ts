import { realSystem, type System } from "../system.ts";
import {
  checkDeletion,
  checkIndex,
  checkQuery,
  checkSameIndex,
  checkTextQuery,
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
import { TextIndex } from "./text-index.ts";
import type { TextQuery, Vector, VectorIndexDescription, VectorMetric, VectorResult } from "./vector.ts";

interface Stored extends VectorEntry {
  /** The metadata once more, parsed, for filters to look at. Never handed out. */
  fields: unknown;
}

interface VectorIndex {
  dimension: number;
  metric: VectorMetric;
  entries: Map<string, Stored>;
  revision: number;
  /** Made when the first search by words comes, and kept up from then on. */
  texts?: TextIndex;
}

/** Exact search in memory, by vectors and by words. Good for tests and for some tens of thousands of vectors. */
export class InMemoryVector implements Vector {
  readonly id: string;
  readonly #system: System;
  readonly #indexes = new Map<string, VectorIndex>();
  /** Counts over all indexes, so that one that was deleted and made again is told apart. */
  #revision = 0;

  constructor(options: { id?: string; system?: System } = {}) {
    this.id = options.id ?? "in-memory-vector";
    this.#system = options.system ?? realSystem;
  }

  async createIndex(options: Parameters<Vector["createIndex"]>[0]): Promise<void> {
    const { indexName, dimension, metric } = checkIndex(options);
    const present = this.#indexes.get(indexName);
    if (present) checkSameIndex(indexName, { dimension, metric }, present);
    else this.#indexes.set(indexName, { dimension, metric, entries: new Map(), revision: ++this.#revision });
  }

  async listIndexes(): Promise<string[]> {
    return [...this.#indexes.keys()].sort(compareCells);
  }

  async describeIndex({ indexName }: { indexName: string }): Promise<VectorIndexDescription> {
    const { dimension, metric, entries, revision } = this.#index(indexName);
    return { dimension, metric, count: entries.size, revision: String(revision) };
  }

  async deleteIndex({ indexName }: { indexName: string }): Promise<void> {
    this.#indexes.delete(indexName);
  }

  async upsert(options: Parameters<Vector["upsert"]>[0]): Promise<string[]> {
    const index = this.#index(options.indexName);
    const added = toEntries(options, index.dimension, this.#system);
    for (const entry of added) this.#put(index, { ...entry, fields: parse(entry.metadata) });
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
    return found.slice(0, topK).map(({ entry, score }) => toResult(entry, score, options.includeVector));
  }

  async queryText(options: TextQuery): Promise<VectorResult[]> {
    const { topK, minScore } = checkTextQuery(options);
    const index = this.#index(options.indexName);
    const filter = parseFilter(options.filter);
    index.texts ??= indexTexts(index.entries);
    const found: { entry: Stored; score: number }[] = [];
    for (const [id, score] of index.texts.score(options.queryText)) {
      const entry = index.entries.get(id)!;
      if (score >= minScore && matchesFilter(filter, entry.fields)) found.push({ entry, score });
    }
    found.sort((a, b) => b.score - a.score || compareCells(a.entry.id, b.entry.id));
    return found.slice(0, topK).map(({ entry, score }) => toResult(entry, score, options.includeVector));
  }

  async updateVector(options: Parameters<Vector["updateVector"]>[0]): Promise<void> {
    checkUpdate(options);
    const { indexName, id, update } = options;
    const index = this.#index(indexName);
    const entry = index.entries.get(id);
    if (!entry) throw noSuchVector(indexName, id);
    const metadata = update.metadata ? encodeMetadata(update.metadata) : entry.metadata;
    const vector = update.vector ? toFloat32(indexName, index.dimension, update.vector) : entry.vector;
    this.#put(index, { ...entry, vector, metadata, fields: parse(metadata) });
  }

  async deleteVector({ indexName, id }: { indexName: string; id: string }): Promise<void> {
    this.#remove(this.#index(indexName), id);
  }

  async deleteVectors(options: Parameters<Vector["deleteVectors"]>[0]): Promise<void> {
    checkDeletion(options);
    const index = this.#index(options.indexName);
    for (const id of options.ids ?? []) this.#remove(index, id);
    if (options.ids) return;
    const filter = parseFilter(options.filter);
    for (const entry of index.entries.values()) {
      if (matchesFilter(filter, entry.fields)) this.#remove(index, entry.id);
    }
  }

  async close(): Promise<void> {
    this.#indexes.clear();
  }

  #put(index: VectorIndex, entry: Stored): void {
    index.entries.set(entry.id, entry);
    index.texts?.set(entry.id, textOf(entry));
    index.revision = ++this.#revision;
  }

  #remove(index: VectorIndex, id: string): void {
    index.entries.delete(id);
    index.texts?.delete(id);
    index.revision = ++this.#revision;
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

function indexTexts(entries: ReadonlyMap<string, Stored>): TextIndex {
  const texts = new TextIndex();
  for (const entry of entries.values()) texts.set(entry.id, textOf(entry));
  return texts;
}

function textOf({ document, fields }: Stored): string {
  if (document !== null) return document;
  const text = (fields as { text?: unknown } | undefined)?.text;
  return typeof text === "string" ? text : "";
}

function toResult(entry: Stored, score: number, includeVector: boolean | undefined): VectorResult {
  return {
    id: entry.id,
    score,
    ...(entry.metadata !== null && { metadata: parse(entry.metadata) as Record<string, unknown> }),
    ...(entry.document !== null && { document: entry.document }),
    ...(includeVector && { vector: [...entry.vector] }),
  };
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
