import { isObject } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import type { ColumnValue, Row } from "./storage.ts";
import type { Table } from "./tables.ts";

/** The value of a column inside an adapter: json is text there. */
export type Cell = string | number | null;
export type Cells = Record<string, Cell>;

/** The given columns of a row, validated against the table. Every adapter writes through this. */
export function encodeRow(table: Table, row: Row): Cells {
  const cells: Cells = {};
  for (const column of Object.keys(row)) {
    const value = row[column];
    if (value !== undefined) cells[column] = encodeCell(table, column, value);
  }
  return cells;
}

/** Like `encodeRow`, and requires the key columns. */
export function encodeNewRow(table: Table, row: Row): Cells {
  for (const column of table.key) {
    if (row[column] === undefined || row[column] === null) {
      throw new AgentError("invalid-argument", `A row of ${table.name} needs a value for ${column}`);
    }
  }
  if (table.auto !== undefined && row[table.auto] !== undefined) {
    throw new AgentError("invalid-argument", `${table.name}.${table.auto} is numbered by the store`);
  }
  return encodeRow(table, row);
}

export function encodeCell(table: Table, column: string, value: ColumnValue): Cell {
  const type = columnType(table, column);
  if (value === null || value === undefined) return null;
  if (type === "json") return encodeJson(`${table.name}.${column}`, value);
  if (type === "text") {
    if (typeof value === "string" && value.isWellFormed() && !value.includes("\0")) return value;
  } else if (typeof value === "number") {
    if (type === "integer" ? Number.isSafeInteger(value) : Number.isFinite(value)) return value;
  }
  throw new AgentError(
    "invalid-argument",
    `${table.name}.${column} must be ${type === "text" ? "well-formed text without NUL" : type}, got ${JSON.stringify(value)}`,
  );
}

export function decodeRow(
  table: Table,
  cells: Cells,
  columns: readonly string[] = Object.keys(table.columns),
): Row {
  const row: Row = {};
  for (const column of columns) {
    const cell = cells[column] ?? null;
    row[column] = cell !== null && table.columns[column] === "json" ? JSON.parse(cell as string) : cell;
  }
  return row;
}

/** A json cell with some keys changed; `null` and `undefined` delete. */
export function mergeCell(table: Table, column: string, cell: Cell, patch: Row): Cell {
  if (columnType(table, column) !== "json") {
    throw new AgentError("invalid-argument", `${table.name}.${column} is not json and cannot be merged`);
  }
  const current: unknown = typeof cell === "string" ? JSON.parse(cell) : {};
  const keys = new Map(Object.entries(isObject(current) ? current : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) keys.delete(key);
    else keys.set(key, value);
  }
  return encodeJson(`${table.name}.${column}`, Object.fromEntries(keys));
}

export function columnType(table: Table, column: string): Table["columns"][string] {
  const type = Object.hasOwn(table.columns, column) ? table.columns[column] : undefined;
  if (type === undefined) {
    throw new AgentError("invalid-argument", `${table.name} has no column ${JSON.stringify(column)}`);
  }
  return type;
}

/** JSON text without lone surrogates. `place` is for the error if the value cannot be JSON. */
export function encodeJson(place: string, value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
    // JSON.stringify escapes lone surrogates (and only those) this way; a match may also be harmless text.
    if (text?.includes("\\ud")) text = JSON.stringify(toWellFormedDeep(JSON.parse(text)));
  } catch (cause) {
    throw new AgentError("invalid-argument", `${place} must be JSON-serialisable: ${String(cause)}`, {
      cause,
    });
  }
  if (text === undefined) {
    throw new AgentError("invalid-argument", `${place} must be JSON-serialisable, but got ${typeof value}`);
  }
  return text;
}

function toWellFormedDeep(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(toWellFormedDeep);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.toWellFormed(), toWellFormedDeep(item)]),
  );
}
