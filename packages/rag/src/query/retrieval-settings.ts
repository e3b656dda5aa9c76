import { AgentError } from "@selvedge/core/errors";
import { type RequestContext } from "@selvedge/core/request-context";
import {
  type EmbedderConfig,
  parseFilter,
  toEmbedder,
  type Vector,
  type VectorFilter,
} from "@selvedge/core/vector";

/** A store, or a function that returns the store for a request (one per tenant, for example). */
export type VectorStoreSource =
  | Vector
  | ((call: { requestContext: RequestContext; mastra?: unknown }) => Vector | Promise<Vector>);

/** Settings of both retrieval tools. The request context can override most of them, under the same names. */
export interface RetrievalOptions {
  id?: string;
  description?: string;
  /** Embeds the query. Must be the embedder of the documents. */
  model: EmbedderConfig;
  /** The name of a store registered with the `Mastra` host. Not needed with `vectorStore`. */
  vectorStoreName?: string;
  /** Takes precedence over `vectorStoreName`. */
  vectorStore?: VectorStoreSource;
  indexName?: string;
  /** Let the model filter by metadata. */
  enableFilter?: boolean;
  /** Default: `true`. */
  includeSources?: boolean;
  /** Passed to the embedding model. */
  providerOptions?: Record<string, Record<string, unknown>>;
}

interface Call {
  requestContext: RequestContext;
  mastra?: unknown;
}

const MAX_TOP_K = 1_000;
export const DEFAULT_TOP_K = 10;

/** Checked when a tool is created, not at the first query. */
export function checkToolOptions(name: string, options: RetrievalOptions): void {
  if (typeof options !== "object" || options === null) {
    throw new AgentError(
      "invalid-argument",
      `${name} needs an object with a model and an index, got ${typeof options}`,
    );
  }
  toEmbedder(options.model);
}

/** The value in the request context, or the tool's setting. */
export function setting<Value>(call: Call, name: string, own: Value): Value {
  return (call.requestContext.get(name) as Value | undefined) ?? own;
}

/** The index to search, by name. */
export function indexNameFor(call: Call, options: RetrievalOptions): string {
  const name = setting(call, "indexName", options.indexName);
  if (typeof name === "string" && name !== "") return name;
  throw new AgentError(
    "invalid-argument",
    "This tool has no indexName: set it when you create the tool, or in the request context",
  );
}

export async function storeFor(call: Call, options: RetrievalOptions): Promise<Vector> {
  const { vectorStore } = options;
  if (typeof vectorStore === "function") return checkStore(await vectorStore(call));
  if (vectorStore) return checkStore(vectorStore);
  const name = setting(call, "vectorStoreName", options.vectorStoreName);
  if (typeof name !== "string" || name === "") {
    throw new AgentError(
      "invalid-argument",
      "This tool has no vectorStoreName: set it when you create the tool or in the request context, or pass a vectorStore",
    );
  }
  const host = call.mastra as { getVector?: (name: string) => Vector } | undefined;
  if (typeof host?.getVector !== "function") {
    throw new AgentError(
      "storage-required",
      `The vector store ${JSON.stringify(name)} is looked up in a Mastra host, and there is none: register the agent with ` +
        "new Mastra({ agents, vectors }), or pass a vectorStore to the tool",
    );
  }
  return checkStore(host.getVector(name));
}

function checkStore(store: unknown): Vector {
  if (typeof (store as Vector | undefined)?.query === "function") return store as Vector;
  throw new AgentError("invalid-argument", "The vector store of this tool has no query method");
}

/**
 * The filter to apply. A filter in the request context always applies: it keeps tenants apart. A model's filter can
 * only narrow it further.
 */
export function filterFor(
  call: Call,
  options: RetrievalOptions,
  asked: VectorFilter | undefined,
): VectorFilter | undefined {
  const set = call.requestContext.get("filter") as VectorFilter | undefined;
  const filters = [set, options.enableFilter ? asked : undefined].filter((filter) => filter !== undefined);
  // Each is parsed separately, so that an error refers to what its author wrote.
  for (const filter of filters) parseFilter(filter);
  const said = filters.filter((filter) => Object.keys(filter).length > 0);
  return said.length > 1 ? { $and: said } : said[0];
}

/** How many passages to return: from the request context, or from the model. */
export function topKFor(call: Call, asked: number | undefined): number {
  const set = call.requestContext.get("topK") as unknown;
  return set === undefined ? (asked ?? DEFAULT_TOP_K) : toTopK(set);
}

/** Models write numbers in many ways; nonsense becomes the default. */
export function toTopK(value: unknown): number {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number) || number < 1) return DEFAULT_TOP_K;
  return Math.min(Math.floor(number), MAX_TOP_K);
}
