import { AgentError } from "@selvedge/core/errors";
import type { VectorMetric } from "@selvedge/core/vector";

/**
 * How PostgreSQL finds neighbours. `hnsw` is fast and needs no data beforehand; `ivfflat` is smaller and faster to
 * build, and should be built after inserting the entries; `flat` scans every entry and is exact.
 */
export interface PgIndexConfig {
  type?: "hnsw" | "ivfflat" | "flat";
  /** Links per entry (default 16) and search breadth while building (default 64). */
  hnsw?: { m?: number; efConstruction?: number };
  /** The number of lists. Default: the square root of the number of entries. */
  ivf?: { lists?: number };
}

/** The part kept in the registry. */
export interface BuiltIndex {
  type: "hnsw" | "ivfflat" | "flat";
  m?: number;
  efConstruction?: number;
  lists?: number;
}

/** pgvector indexes single precision up to 2,000 dimensions and half precision up to 4,000. */
const MAX_INDEXED = 2_000;
const MAX_INDEXED_HALF = 4_000;
const MAX_DIMENSION = 16_000;

export const OPERATORS: Readonly<Record<VectorMetric, { distance: string; ops: string }>> = {
  cosine: { distance: "<=>", ops: "cosine_ops" },
  euclidean: { distance: "<->", ops: "l2_ops" },
  dotproduct: { distance: "<#>", ops: "ip_ops" },
};

/** The column as indexed. Half precision only selects candidates; scores come from the column itself. */
export function indexedExpression(dimension: number): { column: string; type: string } {
  if (dimension <= MAX_INDEXED) return { column: "vector", type: "vector" };
  return { column: `(vector::halfvec(${dimension}))`, type: "halfvec" };
}

export function checkIndexConfig(config: PgIndexConfig | undefined, dimension: number): BuiltIndex {
  if (dimension > MAX_DIMENSION) {
    throw new AgentError(
      "invalid-argument",
      `PostgreSQL stores vectors of up to ${MAX_DIMENSION} numbers, got ${dimension}`,
    );
  }
  const type = config?.type ?? (dimension > MAX_INDEXED_HALF ? "flat" : "hnsw");
  if (type !== "hnsw" && type !== "ivfflat" && type !== "flat") {
    throw new AgentError(
      "invalid-argument",
      `indexConfig.type must be "hnsw", "ivfflat" or "flat", got ${JSON.stringify(type)}`,
    );
  }
  if (type !== "flat" && dimension > MAX_INDEXED_HALF) {
    throw new AgentError(
      "invalid-argument",
      `pgvector indexes up to ${MAX_INDEXED_HALF} dimensions; use indexConfig: { type: "flat" } for ${dimension}`,
    );
  }
  if (type === "hnsw") {
    const m = within("indexConfig.hnsw.m", config?.hnsw?.m ?? 16, 2, 100);
    const efConstruction = within(
      "indexConfig.hnsw.efConstruction",
      config?.hnsw?.efConstruction ?? Math.max(64, 2 * m),
      4,
      1_000,
    );
    if (efConstruction < 2 * m) {
      throw new AgentError(
        "invalid-argument",
        `indexConfig.hnsw.efConstruction must be at least twice m (${2 * m}), got ${efConstruction}`,
      );
    }
    return { type, m, efConstruction };
  }
  const lists = config?.ivf?.lists;
  if (type === "ivfflat" && lists !== undefined) {
    return { type, lists: within("indexConfig.ivf.lists", lists, 1, 32_768) };
  }
  return { type };
}

export function within(name: string, value: unknown, least: number, most: number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most)
    return value;
  throw new AgentError(
    "invalid-argument",
    `${name} must be a whole number between ${least} and ${most}, got ${String(value)}`,
  );
}
