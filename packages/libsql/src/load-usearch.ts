import { createRequire } from "node:module";
import { AgentError } from "@selvedge/core/errors";

/** The part of `usearch` that is used. Keys are those of rows. */
export interface Hnsw {
  add(keys: bigint[], vectors: Float32Array[], threads: number): void;
  search(vector: Float32Array, count: number, threads: number): { keys: BigUint64Array };
  contains(key: bigint): boolean;
  remove(key: bigint): number;
  size(): number;
  dimensions(): number;
  save(path: string): void;
  load(path: string): void;
}

export interface Usearch {
  Index: new (options: {
    dimensions: number;
    metric: string;
    quantization: string;
    connectivity: number;
    expansion_add: number;
    expansion_search: number;
    multi: boolean;
  }) => Hnsw;
}

/** The optional package, or `undefined` if it is not installed. Its ESM entry does not find its own binary. */
export function loadUsearch(): Usearch | undefined {
  const require = createRequire(import.meta.url);
  try {
    require.resolve("usearch");
  } catch {
    return undefined;
  }
  try {
    return require("usearch") as Usearch;
  } catch (cause) {
    throw new AgentError("not-supported", "The package usearch is installed but does not load here", {
      cause,
    });
  }
}
