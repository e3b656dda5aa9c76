import type { FilterNode } from "@selvedge/core/vector";
import { filterSql, Params } from "./filter-sql.ts";
import { indexedExpression, OPERATORS } from "./index-config.ts";
import type { IndexRow } from "./tables.ts";

interface Search {
  index: IndexRow;
  table: string;
  wanted: Float32Array;
  filter: FilterNode;
  topK: number;
  includeVector: boolean;
}

interface Statement {
  text: string;
  values: unknown[];
}

/** pgvector stops after scanning this many entries of an index. */
const MAX_NEAR = 1_000;

/** The nearest of the index's candidates; `undefined` if there is no index or it cannot tell. */
export function nearQuery(search: Search): Statement | undefined {
  const { index, topK } = search;
  // A zero vector is in no cosine index.
  const hasDirection = index.metric !== "cosine" || search.wanted.some((value) => value !== 0);
  if (index.built.type === "flat" || topK > MAX_NEAR || !hasDirection) return undefined;
  const params = new Params();
  const target = params.add(`[${search.wanted.join(",")}]`, "vector");
  const { column, type } = indexedExpression(index.dimension);
  const { distance } = OPERATORS[index.metric];
  const wanted = type === "vector" ? target : `${target}::halfvec(${index.dimension})`;
  // More than requested: half precision and relaxed order misplace some of them.
  const near =
    `SELECT id, vector, metadata, document FROM ${search.table} WHERE ${filterSql(search.filter, params)} ` +
    `ORDER BY ${column} ${distance} ${wanted} LIMIT ${params.add(2 * topK, "int")}`;
  return ordered(search, `(${near})`, target, "true", params);
}

/** The nearest of all. The order is written so that no index applies. */
export function exactQuery(search: Search): Statement {
  const params = new Params();
  const target = params.add(`[${search.wanted.join(",")}]`, "vector");
  return ordered(search, search.table, target, filterSql(search.filter, params), params);
}

function ordered(
  { index, topK, includeVector }: Search,
  source: string,
  target: string,
  where: string,
  params: Params,
): Statement {
  const distance = `(vector ${OPERATORS[index.metric].distance} ${target})`;
  const measured = {
    cosine: `1 - nullif(${distance}, 'NaN')`,
    euclidean: distance,
    dotproduct: `-${distance}`,
  }[index.metric];
  const order = {
    cosine: `coalesce(nullif(${distance}, 'NaN'), 1)`,
    euclidean: `${distance} + 0`,
    dotproduct: `${distance} + 0`,
  }[index.metric];
  const columns = `id, metadata, document${includeVector ? ", vector::text AS vector" : ""}`;
  return {
    text:
      `SELECT ${columns}, ${measured} AS measured FROM ${source} AS entry WHERE ${where} ` +
      `ORDER BY ${order}, id LIMIT ${params.add(topK, "int")}`,
    values: params.values,
  };
}
