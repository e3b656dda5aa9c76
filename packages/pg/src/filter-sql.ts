import type { FilterNode, FilterScalar } from "@selvedge/core/vector";

/** Collects the values of a statement and returns their placeholders. */
export class Params {
  readonly values: unknown[] = [];

  add(value: unknown, type: string): string {
    this.values.push(value);
    return `$${this.values.length}::${type}`;
  }
}

const OPERATOR = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

/** A condition on the jsonb column `metadata`. Each piece is true or false, never NULL, so `NOT` works as in code. */
export function filterSql(node: FilterNode, params: Params): string {
  switch (node.op) {
    case "and":
      return combine(node.nodes, params, " AND ", "true");
    case "or":
      return combine(node.nodes, params, " OR ", "false");
    case "not":
      return `NOT ${filterSql(node.node, params)}`;
  }
  // An index on `metadata` supports this form, which is equivalent to comparing the value.
  if (node.op === "eq" && node.value !== null) return holds(node.path, node.value, params);
  // `->` with a text key only reads objects, never arrays by position.
  const value = node.path.reduce((inner, name) => `(${inner} -> ${params.add(name, "text")})`, "metadata");
  switch (node.op) {
    case "exists":
      return `(${value} IS NOT NULL)`;
    case "eq":
      return isNull(value);
    case "in":
      return isOneOf(value, node.values, params);
    case "contains":
      return contains(value, node.value, params);
    default:
      return compares(value, OPERATOR[node.op], node.value, params);
  }
}

function holds(path: readonly string[], wanted: FilterScalar, params: Params): string {
  const shape = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), wanted);
  return `(metadata IS NOT NULL AND metadata @> ${params.add(JSON.stringify(shape), "jsonb")})`;
}

function isOneOf(value: string, wanted: readonly FilterScalar[], params: Params): string {
  const values = wanted.filter((item) => item !== null).map((item) => JSON.stringify(item));
  const isListed = `coalesce(${value} = ANY(${params.add(values, "jsonb[]")}), false)`;
  return wanted.includes(null) ? `(${isNull(value)} OR ${isListed})` : isListed;
}

function contains(value: string, wanted: FilterScalar, params: Params): string {
  const element = params.add(JSON.stringify([wanted]), "jsonb");
  const inArray = `coalesce(jsonb_typeof(${value}) = 'array' AND ${value} @> ${element}, false)`;
  if (typeof wanted !== "string") return inArray;
  const inText = `CASE WHEN jsonb_typeof(${value}) = 'string' THEN strpos(${value} #>> '{}', ${params.add(wanted, "text")}) > 0 ELSE false END`;
  return `(${inArray} OR ${inText})`;
}

function compares(value: string, operator: string, limit: string | number, params: Params): string {
  const isNumber = typeof limit === "number";
  const left = isNumber ? `(${value} #>> '{}')::numeric` : `(${value} #>> '{}') COLLATE "C"`;
  const right = isNumber ? params.add(String(limit), "numeric") : params.add(limit, "text");
  const type = isNumber ? "number" : "string";
  return `CASE WHEN jsonb_typeof(${value}) = '${type}' THEN ${left} ${operator} ${right} ELSE false END`;
}

function isNull(value: string): string {
  return `(coalesce(jsonb_typeof(${value}), 'null') = 'null')`;
}

function combine(nodes: readonly FilterNode[], params: Params, operator: string, empty: string): string {
  if (nodes.length === 0) return empty;
  return `(${nodes.map((node) => filterSql(node, params)).join(operator)})`;
}
