import type { Where, Write } from "./driver.ts";
import type { Row, Table } from "./table.ts";

/** Adds a row. By default, a row with the same key is a `conflict`. */
export function insert<R extends object>(
  table: Table<R>,
  row: Partial<R>,
  onConflict: "fail" | "ignore" | "update" = "fail",
): Write {
  return { op: "insert", table: table as unknown as Table, row: row as Row, onConflict };
}

interface Update<R extends object> {
  where: Where<R>;
  set?: Partial<R>;
  merge?: { [Column in keyof R]?: Row };
  increment?: { [Column in keyof R]?: number };
  /** Matching no row is a `conflict`. */
  require?: boolean;
}

/** Changes the rows that match. */
export function update<R extends object>(table: Table<R>, change: Update<R>): Write {
  return { op: "update", table: table as unknown as Table, ...(change as object as Update<Row>) } as Write;
}

/** Deletes the rows that match. */
export function remove<R extends object>(
  table: Table<R>,
  where: Where<R>,
  { require = false }: { require?: boolean } = {},
): Write {
  return { op: "delete", table: table as unknown as Table, where: where as Where, require };
}

/** A `conflict` unless a row matches. */
export function requireRow<R extends object>(table: Table<R>, where: Where<R>): Write {
  return { op: "require", table: table as unknown as Table, where: where as Where, exists: true };
}

/** A `conflict` if a row matches. */
export function requireNone<R extends object>(table: Table<R>, where: Where<R>): Write {
  return { op: "require", table: table as unknown as Table, where: where as Where, exists: false };
}
