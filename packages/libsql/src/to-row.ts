import type { Row, Table } from "@selvedge/core/storage";
import type { Values } from "./statement.ts";

/** Rows from the values of their columns, in order. */
export function toRows(table: Table, columns: readonly string[], found: readonly Values[]): Row[] {
  const isJson = columns.map((column) => table.columns[column] === "json");
  return found.map((values) => {
    const row: Row = {};
    for (let index = 0; index < columns.length; index++) {
      const value = values[index]!;
      row[columns[index]!] = isJson[index] && value !== null ? JSON.parse(value as string) : value;
    }
    return row;
  });
}
