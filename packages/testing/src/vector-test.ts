import type { Vector, VectorMetric, VectorResult } from "@selvedge/core/vector";

export interface VectorHarness {
  vector: Vector;
  /** For stores that outlive their process: the same data, opened anew. The suite closes `vector` first. */
  reopen?: () => Promise<Vector>;
  close(): Promise<void>;
}

export type VectorTestBody = (vector: Vector, harness: VectorHarness) => Promise<void>;
export type VectorTest = {
  (title: string, body: VectorTestBody): void;
  (title: string, options: { timeout: number }, body: VectorTestBody): void;
};

export const indexName = "docs";

/** Three axes as `x`, `y`, `z`. */
export async function axes(vector: Vector, metric: VectorMetric = "cosine"): Promise<void> {
  await vector.createIndex({ indexName, dimension: 3, metric });
  await vector.upsert({
    indexName,
    vectors: [
      [1, 0, 0],
      [0, 2, 0],
      [0, 0, 3],
    ],
    ids: ["x", "y", "z"],
    metadata: [{ axis: "x" }, { axis: "y" }, { axis: "z" }],
    documents: ["the x axis", "the y axis", "the z axis"],
  });
}

export const scores = (results: VectorResult[]): [string, number][] =>
  results.map(({ id, score }) => [id, Math.round(score * 1e4) / 1e4]);
