import { AgentError } from "../errors.ts";
import { checkId, checkMetadata, cleanText } from "../storage/check-id.ts";
import { encodeJson } from "../storage/row-codec.ts";
import type { System } from "../system.ts";
import type { TextQuery, Vector, VectorMetric } from "./vector.ts";

const MAX_TOP_K = 10_000;
const MAX_METADATA_LENGTH = 1_048_576;
const MAX_DOCUMENT_LENGTH = 8_388_608;
const METRICS: readonly VectorMetric[] = ["cosine", "euclidean", "dotproduct"];

/** The checks shared by all vector stores, so that they refuse the same input with the same message. */
export function checkIndex(options: Parameters<Vector["createIndex"]>[0]): Required<typeof options> {
  const { dimension, metric = "cosine" } = options;
  const indexName = checkId("indexName", options.indexName);
  if (!Number.isSafeInteger(dimension) || dimension < 1 || dimension > 65_536) {
    throw new AgentError(
      "invalid-argument",
      `dimension must be between 1 and 65536, got ${String(dimension)}`,
    );
  }
  if (!METRICS.includes(metric)) {
    throw new AgentError(
      "invalid-argument",
      `metric must be one of ${METRICS.join(", ")}, got ${String(metric)}`,
    );
  }
  return { indexName, dimension, metric };
}

export function checkSameIndex(
  indexName: string,
  wanted: { dimension: number; metric: VectorMetric },
  present: { dimension: number; metric: VectorMetric },
): void {
  if (wanted.dimension === present.dimension && wanted.metric === present.metric) return;
  throw new AgentError(
    "invalid-argument",
    `Index ${indexName} exists with dimension ${present.dimension} and metric ${present.metric}, ` +
      `not ${wanted.dimension} and ${wanted.metric}; delete it first or use another name`,
  );
}

export function noSuchIndex(indexName: string): AgentError {
  return new AgentError("not-found", `There is no vector index ${indexName}; create it with createIndex`);
}

export function noSuchVector(indexName: string, id: string): AgentError {
  return new AgentError("not-found", `There is no vector ${id} in index ${indexName}`);
}

/** The vector in single precision, which every store keeps. */
export function toFloat32(indexName: string, dimension: number, vector: readonly number[]): Float32Array {
  if (!Array.isArray(vector) || vector.length !== dimension) {
    const length = Array.isArray(vector) ? `${vector.length} numbers` : typeof vector;
    throw new AgentError(
      "invalid-argument",
      `Index ${indexName} contains vectors of ${dimension} numbers, got ${length}`,
    );
  }
  const floats = Float32Array.from(vector);
  const bad = floats.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) {
    throw new AgentError(
      "invalid-argument",
      `A vector must contain finite single-precision numbers, got ${String(vector[bad])} at position ${bad}`,
    );
  }
  return floats;
}

export interface VectorEntry {
  id: string;
  vector: Float32Array;
  metadata: string | null;
  document: string | null;
}

export function toEntries(
  options: Parameters<Vector["upsert"]>[0],
  dimension: number,
  system: System,
): VectorEntry[] {
  const { indexName, vectors, metadata, documents, ids } = options;
  for (const [name, list] of Object.entries({ metadata, documents, ids })) {
    if (list !== undefined && list.length !== vectors.length) {
      throw new AgentError(
        "invalid-argument",
        `${name} must be as long as vectors (${vectors.length}), got ${list.length}`,
      );
    }
  }
  return vectors.map((vector, index) => ({
    id: ids ? checkId(`ids[${index}]`, ids[index]) : system.newId(),
    vector: toFloat32(indexName, dimension, vector),
    metadata: metadata?.[index] ? encodeMetadata(metadata[index]) : null,
    document: documents?.[index] === undefined ? null : checkDocument(documents[index]),
  }));
}

function checkDocument(document: unknown): string {
  if (typeof document !== "string") {
    throw new AgentError("invalid-argument", `documents must be strings, got ${typeof document}`);
  }
  if (document.length > MAX_DOCUMENT_LENGTH) {
    throw new AgentError(
      "limit-exceeded",
      `A document may have at most ${MAX_DOCUMENT_LENGTH} characters, got ${document.length}`,
    );
  }
  return cleanText(document);
}

/** The text that full-text search indexes: an entry's document, otherwise the string `metadata.text`. */
export function textOf(metadata: string | null, document: string | null): string {
  if (document !== null || metadata === null) return document ?? "";
  const text = (JSON.parse(metadata) as Record<string, unknown>)["text"];
  return typeof text === "string" ? text : "";
}

export function encodeMetadata(metadata: Record<string, unknown>): string {
  let text = encodeJson("metadata", checkMetadata("metadata", metadata));
  // Not every database can store NUL inside JSON. The match may also be harmless text, which stays.
  if (text.includes("\\u0000")) text = JSON.stringify(withoutNul(JSON.parse(text)));
  if (text.length > MAX_METADATA_LENGTH) {
    throw new AgentError(
      "limit-exceeded",
      `The metadata of a vector may have at most ${MAX_METADATA_LENGTH} characters of JSON, got ${text.length}`,
    );
  }
  return text;
}

function withoutNul(value: unknown): unknown {
  if (typeof value === "string") return cleanText(value);
  if (Array.isArray(value)) return value.map(withoutNul);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [cleanText(key), withoutNul(item)]));
}

/** Options that restrict which entries are seen: a store that ignored one would return too many. */
const SCOPES = ["namespace", "sparseVector", "where", "whereDocument"] as const;

/** `own` names this store's additional options. */
export function checkQuery(
  options: Parameters<Vector["query"]>[0],
  own: readonly string[] = [],
): { topK: number; minScore: number } {
  const { topK = 10, minScore = -Infinity } = options;
  if (!Number.isSafeInteger(topK) || topK < 0 || topK > MAX_TOP_K) {
    throw new AgentError("invalid-argument", `topK must be between 0 and ${MAX_TOP_K}, got ${String(topK)}`);
  }
  if (typeof minScore !== "number" || Number.isNaN(minScore)) {
    throw new AgentError("invalid-argument", `minScore must be a number, got ${String(minScore)}`);
  }
  for (const name of SCOPES) {
    if ((options as Record<string, unknown>)[name] === undefined || own.includes(name)) continue;
    throw new AgentError("invalid-argument", `This vector store has no option ${name}; use filter instead`);
  }
  return { topK, minScore };
}

/** Checks a full-text query; its text is never query syntax. */
export function checkTextQuery(options: TextQuery): { topK: number; minScore: number } {
  if (typeof options.queryText !== "string") {
    throw new AgentError("invalid-argument", `queryText must be a string, got ${typeof options.queryText}`);
  }
  return checkQuery({ ...options, queryVector: [] });
}

/** Requires something to change, and an id or a non-empty filter. */
export function checkUpdate({ id, filter, update }: Parameters<Vector["updateVector"]>[0]): void {
  if (update?.vector === undefined && update?.metadata === undefined)
    throw new AgentError("invalid-argument", "updateVector needs a vector or metadata to change");
  const byFilter = filter !== undefined && Object.keys(filter).length > 0;
  if ((id !== undefined) === byFilter)
    throw new AgentError("invalid-argument", "updateVector needs either an id or a non-empty filter");
}

/** Requires ids or a non-empty filter: emptying an index takes `truncateIndex`. */
export function checkDeletion({ ids, filter }: Parameters<Vector["deleteVectors"]>[0]): void {
  const byFilter = filter !== undefined && Object.keys(filter).length > 0;
  if ((ids !== undefined) === byFilter) {
    throw new AgentError("invalid-argument", "deleteVectors needs either ids or a non-empty filter");
  }
}

/** The similarity of two vectors. A zero vector has cosine 0 to everything. */
export function toScore(metric: VectorMetric, measured: number | null): number {
  if (metric === "cosine") return measured === null ? 0 : Math.max(-1, Math.min(1, measured));
  if (metric === "euclidean") return 1 / (1 + (measured ?? 0));
  return measured ?? 0;
}
