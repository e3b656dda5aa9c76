import { AgentError, showValue } from "../../errors.ts";
import { BestRows } from "../../vector/best-rows.ts";
import { matchesFilter, parseFilter } from "../../vector/filter.ts";
import { TextIndex } from "../../vector/text-index.ts";
import type { Vector, VectorFilter } from "../../vector/vector.ts";
import { SearchNotAvailableError } from "../workspace-errors.ts";
import type { Embed } from "./search-embedder.ts";
import { type Passage, toPassages } from "./to-passages.ts";

const MODES = ["bm25", "vector", "hybrid"] as const;
export type SearchMode = (typeof MODES)[number];

export interface SearchOptions {
  /** Default: 10. */
  topK?: number;
  /** Default: the best that is configured. */
  mode?: SearchMode;
  minScore?: number;
  /** The weight of vectors in a hybrid search, from 0 to 1. Default: 0.5. */
  vectorWeight?: number;
  /** Conditions on metadata. */
  filter?: VectorFilter;
}

/** A passage that was found. */
export interface SearchHit extends StoredPassage {
  score: number;
  scoreDetails: { bm25?: number; vector?: number };
}

/** A text to index. */
export interface SearchDocument {
  path: string;
  content: string;
  metadata?: Record<string, unknown> | undefined;
  startLineOffset?: number | undefined;
}

interface StoredPassage extends Omit<Passage, "text"> {
  path: string;
  metadata: Record<string, unknown> | undefined;
}

const TOP_K = 10;
const MOST_RESULTS = 1000;
/** A hybrid search asks for more passages than it returns: the words decide, too. */
const CANDIDATES = 50;
const UPSERT = 100;

/** Passages of texts, found by their words, by vectors, or by both. */
export class SearchIndex {
  readonly #words: TextIndex | undefined;
  readonly #vectors: { store: Vector; embed: Embed; indexName: string } | undefined;
  readonly #passages = new Map<string, StoredPassage>();
  readonly #idsOf = new Map<string, string[]>();
  #hasVectorIndex = false;

  constructor(options: {
    bm25?: { k1: number; b: number; toWords?: (text: string) => string[] } | undefined;
    vectors?: { store: Vector; embed: Embed; indexName: string } | undefined;
  }) {
    this.#words = options.bm25 && new TextIndex({ ...options.bm25, splitNames: true });
    this.#vectors = options.vectors;
  }

  get size(): number {
    return this.#idsOf.size;
  }

  has(path: string): boolean {
    return this.#idsOf.has(path);
  }

  /** Indexes these texts again. `pause` is called between passages. */
  async put(documents: readonly SearchDocument[], pause: () => Promise<void> | void): Promise<void> {
    const added: { id: string; text: string; passage: StoredPassage }[] = [];
    for (const { path, content, metadata, startLineOffset } of documents) {
      this.#forget(path);
      const ids: string[] = [];
      for (const { text, ...place } of toPassages(content, startLineOffset)) {
        const id = `${path}#${ids.length}`;
        const passage = { path, ...place, metadata };
        ids.push(id);
        this.#passages.set(id, passage);
        this.#words?.set(id, text);
        if (this.#vectors) added.push({ id, text, passage });
        await pause();
      }
      this.#idsOf.set(path, ids);
    }
    if (this.#vectors)
      await this.#putVectors(
        documents.map(({ path }) => path),
        added,
      );
  }

  async remove(paths: readonly string[]): Promise<void> {
    for (const path of paths) this.#forget(path);
    if (this.#vectors && this.#hasVectorIndex) await this.#deleteVectors(paths);
  }

  /** Returns the requested mode, or the best one that is configured. */
  modeOf(wanted: SearchMode | undefined): SearchMode {
    if (wanted !== undefined && !MODES.includes(wanted))
      throw new AgentError(
        "invalid-argument",
        `mode must be ${MODES.map((mode) => `"${mode}"`).join(" or ")}, but got ${showValue(wanted)}.`,
      );
    const best =
      this.#vectors && this.#words ? "hybrid" : this.#vectors ? "vector" : this.#words ? "bm25" : undefined;
    if (best === undefined || (wanted !== undefined && wanted !== best && best !== "hybrid"))
      throw new SearchNotAvailableError(wanted, best);
    return wanted ?? best;
  }

  /** Best first. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchHit[]> {
    const { topK = TOP_K, minScore = 0, vectorWeight = 0.5, filter } = options;
    checkOptions(query, topK, vectorWeight);
    const mode = this.modeOf(options.mode);
    const conditions = filter && parseFilter(filter);
    const byWords = mode === "vector" ? [] : this.#words!.score(query);
    const byVectors = mode === "bm25" ? new Map<string, number>() : await this.#nearest(query, topK, filter);
    const candidates: { id: string; bm25?: number; vector?: number }[] = [];
    for (const [id, bm25] of byWords) {
      const vector = byVectors.get(id);
      candidates.push(vector === undefined ? { id, bm25 } : { id, bm25, vector });
      byVectors.delete(id);
    }
    for (const [id, vector] of byVectors) candidates.push({ id, vector });
    const best = new BestRows(topK, (row, other) => candidates[row]!.id < candidates[other]!.id);
    for (const [row, { id, bm25 = 0, vector = 0 }] of candidates.entries()) {
      const score = scoreOf(mode, bm25, vector, vectorWeight);
      if (score <= 0 || score < minScore) continue;
      const passage = this.#passages.get(id);
      if (!passage || (conditions && !matchesFilter(conditions, passage.metadata ?? {}))) continue;
      best.offer(row, score);
    }
    return best.sorted().map(({ row, score }) => {
      const { id, ...scoreDetails } = candidates[row]!;
      return { ...this.#passages.get(id)!, score, scoreDetails };
    });
  }

  #forget(path: string): void {
    for (const id of this.#idsOf.get(path) ?? []) {
      this.#passages.delete(id);
      this.#words?.delete(id);
    }
    this.#idsOf.delete(path);
  }

  async #nearest(
    query: string,
    topK: number,
    filter: VectorFilter | undefined,
  ): Promise<Map<string, number>> {
    if (!this.#hasVectorIndex) return new Map();
    const { store, embed, indexName } = this.#vectors!;
    const [queryVector] = await embed([query]);
    const found = await store.query({
      indexName,
      queryVector: queryVector!,
      topK: Math.max(topK, CANDIDATES),
      ...(filter && { filter }),
    });
    return new Map(found.map(({ id, score }) => [id, score]));
  }

  async #putVectors(
    paths: readonly string[],
    added: readonly { id: string; text: string; passage: StoredPassage }[],
  ): Promise<void> {
    const { store, embed, indexName } = this.#vectors!;
    const vectors = await embed(added.map(({ text }) => text));
    const dimension = vectors[0]?.length;
    if (!this.#hasVectorIndex && dimension !== undefined) {
      await store.createIndex({ indexName, dimension, metric: "cosine" });
      this.#hasVectorIndex = true;
    }
    if (!this.#hasVectorIndex) return;
    await this.#deleteVectors(paths);
    for (let at = 0; at < added.length; at += UPSERT) {
      const part = added.slice(at, at + UPSERT);
      await store.upsert({
        indexName,
        ids: part.map(({ id }) => id),
        vectors: vectors.slice(at, at + UPSERT),
        metadata: part.map(({ passage: { path, start, end, metadata } }) => ({
          ...metadata,
          path,
          startLine: start,
          endLine: end,
        })),
      });
    }
  }

  async #deleteVectors(paths: readonly string[]): Promise<void> {
    const { store, indexName } = this.#vectors!;
    for (let at = 0; at < paths.length; at += UPSERT)
      await store.deleteVectors({ indexName, filter: { path: { $in: paths.slice(at, at + UPSERT) } } });
  }
}

function scoreOf(mode: SearchMode, words: number, vector: number, vectorWeight: number): number {
  if (mode === "bm25") return words;
  if (mode === "vector") return vector;
  return (1 - vectorWeight) * words + vectorWeight * Math.max(0, vector);
}

function checkOptions(query: string, topK: number, vectorWeight: number): void {
  if (typeof query !== "string" || query.trim() === "")
    throw new AgentError(
      "invalid-argument",
      `query must be a non-empty string, but got ${showValue(query)}.`,
    );
  if (!Number.isInteger(topK) || topK < 1 || topK > MOST_RESULTS) {
    throw new AgentError(
      "invalid-argument",
      `topK must be an integer from 1 to ${MOST_RESULTS}, but got ${showValue(topK)}.`,
    );
  }
  if (!(vectorWeight >= 0 && vectorWeight <= 1)) {
    throw new AgentError(
      "invalid-argument",
      `vectorWeight must be a number from 0 to 1, but got ${showValue(vectorWeight)}.`,
    );
  }
}
