import type { System } from "@selvedge/core/storage";
import type { Vector, VectorFilter, VectorIndexDescription } from "@selvedge/core/vector";
import type { GraphRAG } from "./graph-rag.ts";

/** A graph over everything a filter matches, or a note that this is too much for one. */
export type CachedGraph = { graph: GraphRAG } | { graph?: undefined };

export interface GraphScope {
  store: Vector;
  indexName: string;
  filter: VectorFilter | undefined;
  /** The tenant of the request. A graph is never shared between tenants. */
  tenant: string;
}

interface Entry {
  state: string;
  builtAt: number;
  size: number;
  graph: Promise<CachedGraph>;
}

const MAX_GRAPHS = 32;
const MAX_NODES = 40_000;
/** For stores that cannot report changes to an index. */
const MAX_AGE_MS = 60_000;

/**
 * Caches graphs, one per store, index, filter and tenant, until the index changes. The least recently used is evicted
 * first.
 */
export class GraphCache {
  readonly #system: System;
  readonly #entries = new Map<string, Entry>();
  readonly #stores = new WeakMap<Vector, number>();
  #storeCount = 0;

  constructor(system: System) {
    this.#system = system;
  }

  /** The graph of a scope, created by `build` if there is none. Concurrent callers share one build. */
  get(
    scope: GraphScope,
    index: VectorIndexDescription,
    build: () => Promise<CachedGraph>,
  ): Promise<CachedGraph> {
    const key = this.#key(scope);
    const state = `${index.revision ?? ""}:${index.count}`;
    const known = this.#entries.get(key);
    const now = this.#system.monotonic();
    const isFresh =
      known?.state === state && (index.revision !== undefined || now - known.builtAt < MAX_AGE_MS);
    this.#entries.delete(key);
    if (isFresh) {
      this.#entries.set(key, known!);
      return known!.graph;
    }
    const entry: Entry = { state, builtAt: now, size: 0, graph: build() };
    this.#entries.set(key, entry);
    entry.graph.then(
      ({ graph }) => {
        entry.size = graph?.size ?? 0;
        this.#shrink();
      },
      () => this.#entries.get(key) === entry && this.#entries.delete(key),
    );
    return entry.graph;
  }

  #shrink(): void {
    let nodes = 0;
    for (const { size } of this.#entries.values()) nodes += size;
    for (const [key, { size }] of this.#entries) {
      if (this.#entries.size <= MAX_GRAPHS && nodes <= MAX_NODES) return;
      this.#entries.delete(key);
      nodes -= size;
    }
  }

  #key({ store, indexName, filter, tenant }: GraphScope): string {
    let number = this.#stores.get(store);
    if (number === undefined) this.#stores.set(store, (number = ++this.#storeCount));
    return JSON.stringify([number, indexName, tenant, filter ?? null], sortedKeys);
  }
}

/** Filters that differ only in key order are equal. */
function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
