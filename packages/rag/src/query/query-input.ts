import type { VectorFilter } from "@selvedge/core/vector";
import { type OwnSchema, ownSchema, type Reading } from "../schema/own-schema.ts";
import { DEFAULT_TOP_K, toTopK } from "./retrieval-settings.ts";

export interface QueryInput {
  queryText: string;
  topK?: number;
  /** Conditions on metadata, as JSON text or an object. */
  filter?: string | VectorFilter;
}

export interface ReadQuery {
  queryText: string;
  topK: number;
  filter?: VectorFilter;
}

const MAX_QUERY_LENGTH = 32_768;

const FILTER = {
  type: "string",
  description:
    'Conditions on metadata as a JSON object, such as {"version": {"$gt": 2}} or {"$or": [{"topic": "a"}, {"topic": "b"}]}. ' +
    "Operators: $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $contains, $not, $and, $or, $nor. Leave it out to search everything.",
};

/** The model's input: the query, how many passages it wants, and a filter if that is allowed. */
export function queryInput(enableFilter: boolean): OwnSchema<QueryInput, ReadQuery> {
  const json = {
    type: "object",
    properties: {
      queryText: { type: "string", description: "The text to find passages for." },
      topK: { type: "number", description: `How many passages to get; ${DEFAULT_TOP_K} if left out.` },
      ...(enableFilter && { filter: FILTER }),
    },
    required: ["queryText"],
  };
  return ownSchema<QueryInput, ReadQuery>(json, (value) => read(value, enableFilter));
}

function read(value: unknown, enableFilter: boolean): Reading<ReadQuery> {
  if (typeof value !== "object" || value === null)
    return issue("queryText", "is missing: give an object with queryText");
  const { queryText, topK, filter } = value as Record<string, unknown>;
  if (typeof queryText !== "string" || queryText.trim() === "") {
    return issue("queryText", "must be a non-empty string");
  }
  if (queryText.length > MAX_QUERY_LENGTH) {
    return issue("queryText", `is ${queryText.length} characters long; ${MAX_QUERY_LENGTH} are allowed`);
  }
  const query = { queryText, topK: toTopK(topK) };
  if (!enableFilter) return { value: query };
  const conditions = readFilter(filter);
  if (typeof conditions === "string") return issue("filter", conditions);
  return { value: conditions ? { ...query, filter: conditions } : query };
}

/** The filter, nothing, or what is wrong with it. */
function readFilter(filter: unknown): VectorFilter | undefined | string {
  let value = filter;
  if (typeof filter === "string") {
    if (filter.trim() === "") return undefined;
    try {
      value = JSON.parse(filter);
    } catch (error) {
      return `is not JSON (${(error as Error).message}); write an object such as {"version": {"$gt": 2}}`;
    }
  }
  if (value === undefined || value === null) return undefined;
  if (typeof value === "object" && !Array.isArray(value)) return value as VectorFilter;
  return `must be a JSON object, got ${(JSON.stringify(value) ?? typeof value).slice(0, 100)}`;
}

function issue(field: string, message: string): Reading<never> {
  return { issues: [{ path: [field], message: `${field} ${message}` }] };
}
