import { isObject } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { compareCells } from "../storage/conditions.ts";
import type { VectorFilter } from "./vector.ts";

export type FilterScalar = string | number | boolean | null;

/**
 * A validated filter. Stores evaluate or translate this; `$ne`, `$nin` and `$nor` have become `not`.
 *
 * Every condition is either true or false, in every store:
 * - a field that is missing and one that is `null` are the same to all operators but `$exists`, which asks for the key;
 * - `eq` and `in` compare type and value: `1` is not `"1"`. `null` equals missing. Arrays and objects equal nothing;
 * - `gt`, `gte`, `lt`, `lte` hold between two numbers or two strings (by code point), never otherwise;
 * - `contains` finds an element of an array, or a part of a string;
 * - so `$ne`, `$nin`, `$not` and `$nor` hold where the field is missing, unless it is compared with `null`.
 */
export type FilterNode =
  | { op: "and" | "or"; nodes: FilterNode[] }
  | { op: "not"; node: FilterNode }
  | { op: "eq"; path: string[]; value: FilterScalar }
  | { op: "in"; path: string[]; values: FilterScalar[] }
  | { op: "gt" | "gte" | "lt" | "lte"; path: string[]; value: string | number }
  | { op: "contains"; path: string[]; value: FilterScalar }
  | { op: "exists"; path: string[] };

const OPERATORS =
  "$eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $contains, $all, $not inside a field, " +
  "and $and, $or, $nor, $not around conditions";

// Filters also come from models. This limit suits every database and is far below what JSON allows.
const MAX_DEPTH = 32;
const MAX_CONDITIONS = 256;
const MAX_VALUES = 10_000;

/** Parses a filter, or throws `invalid-argument` naming what is wrong and where. */
export function parseFilter(filter: VectorFilter = {}): FilterNode {
  const node = parseObject(filter, 1);
  const { conditions, values } = sizeOf(node);
  if (conditions > MAX_CONDITIONS) {
    throw invalid("filter", `may have at most ${MAX_CONDITIONS} conditions, got ${conditions}`);
  }
  if (values > MAX_VALUES) throw invalid("filter", `may have at most ${MAX_VALUES} values, got ${values}`);
  return node;
}

function sizeOf(node: FilterNode): { conditions: number; values: number } {
  if (node.op === "not") return sizeOf(node.node);
  if (node.op === "in") return { conditions: 1, values: node.values.length };
  if (node.op !== "and" && node.op !== "or") return { conditions: 1, values: 1 };
  const sizes = node.nodes.map(sizeOf);
  return {
    conditions: sizes.reduce((sum, size) => sum + size.conditions, 0),
    values: sizes.reduce((sum, size) => sum + size.values, 0),
  };
}

function parseObject(filter: unknown, depth: number): FilterNode {
  if (!isObject(filter)) throw invalid("filter", `must be an object, got ${show(filter)}`);
  if (depth > MAX_DEPTH) throw invalid("filter", `is nested deeper than ${MAX_DEPTH} levels`);
  const nodes = Object.entries(filter).map(([key, value]) =>
    key.startsWith("$") ? parseLogic(key, value, depth + 1) : parseField(key, value, depth + 1),
  );
  return nodes.length === 1 ? nodes[0]! : { op: "and", nodes };
}

function parseLogic(operator: string, value: unknown, depth: number): FilterNode {
  if (operator === "$not") return { op: "not", node: parseObject(value, depth) };
  if (operator !== "$and" && operator !== "$or" && operator !== "$nor") throw unknownOperator(operator);
  if (!Array.isArray(value)) throw invalid(operator, `needs an array of filters, got ${show(value)}`);
  const nodes = value.map((item) => parseObject(item, depth));
  if (operator === "$and") return { op: "and", nodes };
  const any: FilterNode = { op: "or", nodes };
  return operator === "$or" ? any : { op: "not", node: any };
}

function parseField(field: string, value: unknown, depth: number): FilterNode {
  const path = parsePath(field);
  if (!isObject(value) || value instanceof Date) return { op: "eq", path, value: toScalar(field, value) };
  return parseOperators(field, path, value, depth);
}

function parseOperators(
  field: string,
  path: string[],
  operators: Record<string, unknown>,
  depth: number,
): FilterNode {
  const entries = Object.entries(operators);
  if (entries.length === 0) throw invalid(field, "has no value to compare with");
  if (depth > MAX_DEPTH) throw invalid("filter", `is nested deeper than ${MAX_DEPTH} levels`);
  const nodes = entries.map(([operator, operand]) =>
    operator === "$not"
      ? negation(field, path, operand, depth + 1)
      : parseOperator(field, path, operator, operand),
  );
  return nodes.length === 1 ? nodes[0]! : { op: "and", nodes };
}

function parseOperator(field: string, path: string[], operator: string, operand: unknown): FilterNode {
  switch (operator) {
    case "$eq":
      return { op: "eq", path, value: toScalar(field, operand) };
    case "$ne":
      return { op: "not", node: { op: "eq", path, value: toScalar(field, operand) } };
    case "$in":
      return { op: "in", path, values: toScalars(field, operator, operand) };
    case "$nin":
      return { op: "not", node: { op: "in", path, values: toScalars(field, operator, operand) } };
    case "$gt":
    case "$gte":
    case "$lt":
    case "$lte": {
      const value = toScalar(field, operand);
      if (typeof value !== "string" && typeof value !== "number") {
        throw invalid(field, `${operator} needs a number, string or date, got ${show(operand)}`);
      }
      return { op: operator.slice(1) as "gt" | "gte" | "lt" | "lte", path, value };
    }
    case "$all":
    case "$contains": {
      if (operator === "$contains" && !Array.isArray(operand))
        return { op: "contains", path, value: toScalar(field, operand) };
      const values = toScalars(field, operator, operand);
      return { op: "and", nodes: values.map((value) => ({ op: "contains", path, value })) };
    }
    case "$exists": {
      if (typeof operand !== "boolean")
        throw invalid(field, `$exists needs true or false, got ${show(operand)}`);
      const exists: FilterNode = { op: "exists", path };
      return operand ? exists : { op: "not", node: exists };
    }
    default:
      if (operator.startsWith("$")) throw unknownOperator(operator);
      throw invalid(
        field,
        `cannot be compared with an object; write "${field}.${operator}" for a field inside it`,
      );
  }
}

function negation(field: string, path: string[], operand: unknown, depth: number): FilterNode {
  if (!isObject(operand)) {
    throw invalid(field, `$not needs operators such as { $gt: 1 }, got ${show(operand)}`);
  }
  return { op: "not", node: parseOperators(field, path, operand, depth) };
}

function parsePath(field: string): string[] {
  const path = field.split(".");
  if (path.length > MAX_DEPTH) throw invalid("filter", `is nested deeper than ${MAX_DEPTH} levels`);
  // Quotes and escapes in names cannot be expressed in every database's JSON paths.
  if (path.some((name) => name === "" || /["\\]|\p{Cc}/u.test(name) || !name.isWellFormed())) {
    throw invalid(field, "is not a field: names are joined by single dots and have no quotes or backslashes");
  }
  return path;
}

function toScalars(field: string, operator: string, operand: unknown): FilterScalar[] {
  if (!Array.isArray(operand)) throw invalid(field, `${operator} needs an array, got ${show(operand)}`);
  return operand.map((item) => toScalar(field, item));
}

function toScalar(field: string, value: unknown): FilterScalar {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string" && value.isWellFormed() && !value.includes("\0")) return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  // Especially `undefined`: a condition that vanished would let through what it should exclude.
  throw invalid(field, `can be compared with a string, number, boolean, date or null, got ${show(value)}`);
}

export function matchesFilter(node: FilterNode, metadata: unknown): boolean {
  switch (node.op) {
    case "and":
      return node.nodes.every((item) => matchesFilter(item, metadata));
    case "or":
      return node.nodes.some((item) => matchesFilter(item, metadata));
    case "not":
      return !matchesFilter(node.node, metadata);
  }
  const value = lookUp(metadata, node.path);
  switch (node.op) {
    case "exists":
      return value !== undefined;
    case "eq":
      return (value ?? null) === node.value;
    case "in":
      return node.values.includes((value ?? null) as FilterScalar);
    case "contains":
      return Array.isArray(value)
        ? value.includes(node.value)
        : typeof value === "string" && typeof node.value === "string" && value.includes(node.value);
    default:
      return compares(node.op, value, node.value);
  }
}

function compares(op: "gt" | "gte" | "lt" | "lte", value: unknown, limit: string | number): boolean {
  if ((typeof value !== "number" && typeof value !== "string") || typeof value !== typeof limit) return false;
  const difference = compareCells(value, limit);
  if (op === "gt") return difference > 0;
  if (op === "gte") return difference >= 0;
  return op === "lt" ? difference < 0 : difference <= 0;
}

function lookUp(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (!isObject(current) || !Object.hasOwn(current, name)) return undefined;
    current = current[name];
  }
  return current;
}
function invalid(place: string, problem: string): AgentError {
  return new AgentError("invalid-argument", `Vector filter: ${place} ${problem}`);
}

function unknownOperator(operator: string): AgentError {
  return invalid(operator, `is not an operator. Operators are ${OPERATORS}`);
}

function show(value: unknown): string {
  const text = showValue(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
