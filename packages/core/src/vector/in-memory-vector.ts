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
import { BestRows } from "./best-rows.ts";
import { dotProducts } from "./dot-products.ts";
import { matchesFilter, parseFilter } from "./filter.ts";
import { TextIndex } from "./text-index.ts";
import { squareOf, VectorTable } from "./vector-table.ts";
import type {
  TextQuery,
  Vector,
  VectorFilter,
  VectorIndexDescription,
  VectorMetric,
  VectorResult,
} from "./vector.ts";

interface Stored extends Omit<VectorEntry, "vector"> {
  /** A parsed copy of the metadata for filters. Never returned to callers. */
  fields: unknown;
}

interface VectorIndex {
  dimension: number;
  metric: VectorMetric;
  /** The entry of each row of the table. */
  entries: Stored[];
  table: VectorTable;
  rows: Map<string, number>;
  revision: number;
  /** Created on the first full-text search and maintained from then on. */
  texts?: TextIndex;
}

/** Exact search in memory, by vectors and by words. Suited to tests and some tens of thousands of vectors. */
export class InMemoryVector implements Vector {
  readonly id: string;
  readonly #system: System;
  readonly #indexes = new Map<string, VectorIndex>();
  /** Counts across all indexes, so that a deleted and recreated index gets a new version. */
  #revision = 0;

  constructor(options: { id?: string; system?: System } = {}) {
    this.id = options.id ?? "in-memory-vector";
    this.#system = options.system ?? realSystem;
  }

  async createIndex(options: Parameters<Vector["createIndex"]>[0]): Promise<void> {
    const { indexName, dimension, metric } = checkIndex(options);
    const present = this.#indexes.get(indexName);
    if (present) checkSameIndex(indexName, { dimension, metric }, present);
    else {
      this.#indexes.set(indexName, {
        dimension,
        metric,
        entries: [],
        table: new VectorTable(dimension),
        rows: new Map(),
        revision: ++this.#revision,
      });
    }
  }

  async listIndexes(): Promise<string[]> {
    return [...this.#indexes.keys()].sort(compareCells);
  }

  async describeIndex({ indexName }: { indexName: string }): Promise<VectorIndexDescription> {
    const { dimension, metric, entries, revision } = this.#index(indexName);
    return { dimension, metric, count: entries.length, revision: String(revision) };
  }

  async deleteIndex({ indexName }: { indexName: string }): Promise<void> {
    this.#indexes.delete(indexName);
  }

  async upsert(options: Parameters<Vector["upsert"]>[0]): Promise<string[]> {
    const index = this.#index(options.indexName);
    const added = toEntries(options, index.dimension, this.#system);
    for (const { vector, ...entry } of added) {
      this.#put(index, { ...entry, fields: parse(entry.metadata) }, vector);
    }
    return added.map((entry) => entry.id);
  }

  async query(options: Parameters<Vector["query"]>[0]): Promise<VectorResult[]> {
    const { topK, minScore } = checkQuery(options);
    const index = this.#index(options.indexName);
    const { dimension, metric, entries, table } = index;
    const wanted = toFloat32(options.indexName, dimension, options.queryVector);
    const rows = rowsThatMatch(entries, options.filter);
    const measured = measure(metric, table, wanted, rows);
    const best = this.#best(index, topK);
    for (let place = 0; place < measured.length; place++) {
      const value = measured[place]!;
      const score = toScore(metric, Number.isNaN(value) ? null : value);
      if (score >= minScore) best.offer(typeof rows === "number" ? place : rows[place]!, score);
    }
    return toResults(index, best, options.includeVector);
  }

  async queryText(options: TextQuery): Promise<VectorResult[]> {
    const { topK, minScore } = checkTextQuery(options);
    const index = this.#index(options.indexName);
    const filter = parseFilter(options.filter);
    index.texts ??= indexTexts(index.entries);
    const best = this.#best(index, topK);
    for (const [id, score] of index.texts.score(options.queryText)) {
      const row = index.rows.get(id)!;
      if (score >= minScore && matchesFilter(filter, index.entries[row]!.fields)) best.offer(row, score);
    }
    return toResults(index, best, options.includeVector);
  }

  async updateVector(options: Parameters<Vector["updateVector"]>[0]): Promise<void> {
    checkUpdate(options);
    const { indexName, id, update } = options;
    const index = this.#index(indexName);
    const filter = parseFilter(options.filter);
    const ids =
      id === undefined
        ? index.entries.filter(({ fields }) => matchesFilter(filter, fields)).map((entry) => entry.id)
        : [id];
    for (const one of ids) {
      const row = index.rows.get(one);
      if (row === undefined) throw noSuchVector(indexName, one);
      const entry = index.entries[row]!;
      const metadata = update.metadata ? encodeMetadata(update.metadata) : entry.metadata;
      const vector = update.vector
        ? toFloat32(indexName, index.dimension, update.vector)
        : index.table.at(row);
      this.#put(index, { ...entry, metadata, fields: parse(metadata) }, vector);
    }
  }

  async truncateIndex({ indexName }: { indexName: string }): Promise<void> {
    const index = this.#index(indexName);
    while (index.entries.length > 0) this.#remove(index, index.entries.at(-1)!.id);
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
    for (const entry of index.entries.filter(({ fields }) => matchesFilter(filter, fields))) {
      this.#remove(index, entry.id);
    }
  }

  async close(): Promise<void> {
    this.#indexes.clear();
  }

  #put(index: VectorIndex, entry: Stored, vector: Float32Array): void {
    const known = index.rows.get(entry.id);
    if (known === undefined) index.rows.set(entry.id, index.table.push(vector));
    else index.table.set(known, vector);
    index.entries[known ?? index.entries.length] = entry;
    index.texts?.set(entry.id, textOf(entry));
    index.revision = ++this.#revision;
  }

  #remove(index: VectorIndex, id: string): void {
    index.revision = ++this.#revision;
    index.texts?.delete(id);
    const row = index.rows.get(id);
    if (row === undefined) return;
    const last = index.entries.pop()!;
    index.table.remove(row);
    index.rows.delete(id);
    if (last.id === id) return;
    index.entries[row] = last;
    index.rows.set(last.id, row);
  }

  #best({ entries }: VectorIndex, topK: number): BestRows {
    return new BestRows(topK, (row, other) => compareCells(entries[row]!.id, entries[other]!.id) < 0);
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

function indexTexts(entries: readonly Stored[]): TextIndex {
  const texts = new TextIndex();
  for (const entry of entries) texts.set(entry.id, textOf(entry));
  return texts;
}

function textOf({ document, fields }: Stored): string {
  if (document !== null) return document;
  const text = (fields as { text?: unknown } | undefined)?.text;
  return typeof text === "string" ? text : "";
}

function toResults(
  { entries, table }: VectorIndex,
  best: BestRows,
  includeVector: boolean | undefined,
): VectorResult[] {
  return best.sorted().map(({ row, score }) => {
    const { id, metadata, document } = entries[row]!;
    return {
      id,
      score,
      ...(metadata !== null && { metadata: parse(metadata) as Record<string, unknown> }),
      ...(document !== null && { document }),
      ...(includeVector && { vector: [...table.at(row)] }),
    };
  });
}

/** The rows that match a filter, or the row count if all match. */
function rowsThatMatch(entries: readonly Stored[], given: VectorFilter | undefined): number | Int32Array {
  const filter = parseFilter(given);
  if (given === undefined || Object.keys(given).length === 0) return entries.length;
  const rows: number[] = [];
  entries.forEach(({ fields }, row) => {
    if (matchesFilter(filter, fields)) rows.push(row);
  });
  return Int32Array.from(rows);
}

/** The cosine, distance or product for each row; `NaN` for the cosine of a zero vector. */
function measure(
  metric: VectorMetric,
  table: VectorTable,
  wanted: Float32Array,
  rows: number | Int32Array,
): Float64Array {
  const rowAt = (place: number): number => (typeof rows === "number" ? place : rows[place]!);
  if (metric === "euclidean") {
    const count = typeof rows === "number" ? rows : rows.length;
    return Float64Array.from({ length: count }, (_, place) => distance(table.at(rowAt(place)), wanted));
  }
  const measured = dotProducts(table, wanted, rows);
  if (metric === "dotproduct") return measured;
  const square = squareOf(wanted);
  for (let place = 0; place < measured.length; place++) {
    measured[place]! /= Math.sqrt(square * table.squareAt(rowAt(place)));
  }
  return measured;
}

function distance(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index]! - b[index]!) ** 2;
  return Math.sqrt(sum);
}
