import { AgentError } from "../errors.ts";
import { type Cell, type Cells, columnType, encodeCell } from "./row-codec.ts";
import type { Comparison, Where } from "./storage.ts";
import type { Table } from "./tables.ts";

type Scalar = string | number;

/** A validated `Where`, one entry per comparison. Adapters evaluate or translate it without further checks. */
export type Condition =
  | { column: string; op: "eq" | "gt" | "gte" | "lt" | "lte"; value: Scalar }
  | { column: string; op: "ne"; value: Scalar | null }
  | { column: string; op: "null" }
  | { column: string; op: "in"; values: Scalar[] }
  | { column: string; op: "has"; key: string; value: Scalar | boolean | null };

export function toConditions(table: Table, where: Where = {}): Condition[] {
  const conditions: Condition[] = [];
  for (const column of Object.keys(where)) {
    const value = where[column]!;
    if (value === null) {
      columnType(table, column);
      conditions.push({ column, op: "null" });
    } else if (typeof value === "object") addComparison(conditions, table, column, value);
    else conditions.push({ column, op: "eq", value: scalar(table, column, value) });
  }
  return conditions;
}

function addComparison(conditions: Condition[], table: Table, column: string, comparison: Comparison): void {
  columnType(table, column);
  let given = false;
  for (const [op, value] of Object.entries(comparison)) {
    if (value === undefined) continue;
    given = true;
    if (op === "in" && Array.isArray(value)) {
      conditions.push({ column, op, values: value.map((item: unknown) => scalar(table, column, item)) });
    } else if (op === "ne") {
      conditions.push({ column, op, value: value === null ? null : scalar(table, column, value) });
    } else if (op === "gt" || op === "gte" || op === "lt" || op === "lte") {
      conditions.push({ column, op, value: scalar(table, column, value) });
    } else if (op === "has" && columnType(table, column) === "json") {
      for (const [key, item] of Object.entries(value as Record<string, unknown>)) {
        conditions.push({ column, op, key, value: jsonScalar(table, column, key, item) });
      }
    } else {
      throw new AgentError("invalid-argument", `${table.name}.${column} cannot be compared with ${op}`);
    }
  }
  // A condition that vanished would silently select, or delete, everything.
  if (!given) {
    throw new AgentError("invalid-argument", `The condition on ${table.name}.${column} is empty`);
  }
}

function scalar(table: Table, column: string, value: unknown): Scalar {
  const type = columnType(table, column);
  if (type !== "json" && (typeof value === "string" || typeof value === "number")) {
    return encodeCell(table, column, value) as Scalar;
  }
  throw new AgentError(
    "invalid-argument",
    `${table.name}.${column} (${type}) cannot be compared with ${JSON.stringify(value) ?? typeof value}`,
  );
}

function jsonScalar(table: Table, column: string, key: string, value: unknown): Scalar | boolean | null {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new AgentError(
    "invalid-argument",
    `${table.name}.${column} can be searched for a string, number, boolean or null at ${JSON.stringify(key)}, ` +
      `got ${JSON.stringify(value) ?? typeof value}`,
  );
}

export function matches(conditions: readonly Condition[], cells: Cells): boolean {
  return conditions.every((condition) => holds(condition, cells[condition.column] ?? null));
}

function holds(condition: Condition, cell: Cell): boolean {
  if (condition.op === "null") return cell === null;
  if (condition.op === "ne") return cell !== condition.value;
  if (cell === null) return false;
  switch (condition.op) {
    case "eq":
      return cell === condition.value;
    case "in":
      return condition.values.includes(cell);
    case "gt":
      return compareCells(cell, condition.value) > 0;
    case "gte":
      return compareCells(cell, condition.value) >= 0;
    case "lt":
      return compareCells(cell, condition.value) < 0;
    case "lte":
      return compareCells(cell, condition.value) <= 0;
    case "has": {
      const object: unknown = JSON.parse(cell as string);
      if (typeof object !== "object" || object === null || Array.isArray(object)) return false;
      return (
        Object.hasOwn(object, condition.key) &&
        (object as Record<string, unknown>)[condition.key] === condition.value
      );
    }
  }
}

/** Null first, numbers by size, text by code point (which is also the order of its UTF-8 bytes). */
export function compareCells(a: Cell, b: Cell): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  if (typeof a === "string" && typeof b === "string") return compareText(a, b);
  if (typeof a === "string") return 1;
  if (typeof b === "string") return -1;
  return a - b;
}

function compareText(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  for (let index = 0; index < end; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left === right) continue;
    // Surrogates represent code points above every other unit.
    return (isSurrogate(left) ? left + 0x10000 : left) - (isSurrogate(right) ? right + 0x10000 : right);
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
