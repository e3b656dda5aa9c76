import { isObject } from "@selvedge/core/guards";
import { AgentError } from "@selvedge/core/errors";

/**
 * Options by kind of store. Those of the store in use reach its `query`; a store refuses an option that it would
 * otherwise ignore and return too much.
 */
export interface DatabaseConfig {
  pinecone?: { namespace?: string; sparseVector?: { indices: number[]; values: number[] } };
  pgvector?: { minScore?: number; ef?: number; probes?: number };
  chroma?: { where?: Record<string, unknown>; whereDocument?: Record<string, unknown> };
  /** Your own stores. */
  [store: string]: Record<string, unknown> | undefined;
}

const RESERVED = new Set(["indexName", "queryVector", "queryText", "topK", "filter", "includeVector"]);

const CHECKS: Readonly<Record<string, (value: unknown) => boolean>> = {
  "pinecone.namespace": (value) => typeof value === "string",
  "pinecone.sparseVector": isSparse,
  "pgvector.minScore": (value) => typeof value === "number" && !Number.isNaN(value),
  "pgvector.ef": isCount,
  "pgvector.probes": isCount,
  "chroma.where": isObject,
  "chroma.whereDocument": isObject,
};

/** The options of all blocks, flattened for `query`. */
export function flattenDatabaseConfig(config: unknown): Record<string, unknown> {
  if (config === undefined || config === null) return {};
  if (!isObject(config)) throw invalid("must be an object with a block for each store", config);
  const flat: Record<string, unknown> = {};
  for (const [store, block] of Object.entries(config)) {
    if (block === undefined) continue;
    if (!isObject(block)) throw invalid(`${store} must be an object`, block);
    for (const [key, value] of Object.entries(block)) {
      const name = `${store}.${key}`;
      if (value === undefined) continue;
      if (RESERVED.has(key)) throw invalid(`${name} is an option of the tool itself`, value);
      const fits = Object.hasOwn(CHECKS, name) ? CHECKS[name]!(value) : !isKnownStore(store);
      if (!fits) throw invalid(`${name} is not an option of ${store} or has an invalid value`, value);
      flat[key] = value;
    }
  }
  return flat;
}

function isKnownStore(store: string): boolean {
  return store === "pinecone" || store === "pgvector" || store === "chroma";
}
function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}

function isSparse(value: unknown): boolean {
  if (!isObject(value) || !Array.isArray(value.indices) || !Array.isArray(value.values)) return false;
  const { indices, values } = value as { indices: unknown[]; values: unknown[] };
  return (
    indices.length === values.length &&
    indices.every((index) => Number.isSafeInteger(index)) &&
    values.every((number) => typeof number === "number" && Number.isFinite(number))
  );
}

function invalid(problem: string, value: unknown): AgentError {
  const shown = (JSON.stringify(value) ?? String(value)).slice(0, 100);
  return new AgentError("invalid-argument", `databaseConfig: ${problem}, got ${shown}`);
}
