import { toJson } from "../json.ts";
import type { Row, Write } from "./storage.ts";
import type { Table } from "./tables.ts";

/** A write whose values can be stored: values that are not JSON are replaced by a description. */
export function toJsonWrite(write: Write): Write {
  if (write.op === "insert") return { ...write, row: toJsonRow(write.table, write.row) };
  if (write.op !== "update") return write;
  return {
    ...write,
    ...(write.set && { set: toJsonRow(write.table, write.set) }),
    ...(write.merge && { merge: toJson(write.merge) as NonNullable<typeof write.merge> }),
  };
}

function toJsonRow({ columns }: Table, row: Row): Row {
  const entries = Object.entries(row).map(([column, value]) => [
    column,
    columns[column] === "json" ? toJson(value) : value,
  ]);
  return Object.fromEntries(entries) as Row;
}
