import type { Table } from "@selvedge/core/storage";

const TYPES = { text: "TEXT", integer: "INTEGER", real: "REAL", json: "TEXT" } as const;

export function quote(name: string): string {
  return name.includes('"') ? `"${name.replaceAll('"', '""')}"` : `"${name}"`;
}

export function createTableSql(table: Table): string {
  const columns = Object.keys(table.columns).map((column) => columnSql(table, column));
  const key = table.key.map(quote).join(", ");
  const constraint = table.auto === undefined ? `PRIMARY KEY (${key})` : `UNIQUE (${key})`;
  // Files that were made before keep the table they have. It works the same.
  const layout = table.clustered ? " WITHOUT ROWID" : "";
  return `CREATE TABLE IF NOT EXISTS ${quote(table.name)} (${[...columns, constraint].join(", ")})${layout}`;
}

export function columnSql(table: Table, column: string): string {
  if (column === table.auto) return `${quote(column)} INTEGER PRIMARY KEY AUTOINCREMENT`;
  const needed = table.key.includes(column) ? " NOT NULL" : "";
  return `${quote(column)} ${TYPES[table.columns[column]!]}${needed}`;
}

export function createIndexSql(table: Table): string[] {
  const names = indexNames(table);
  return table.indexes.map(({ columns, unique, having }, index) => {
    const kind = unique ? "UNIQUE INDEX" : "INDEX";
    const name = quote(names[index]!);
    const part = having === undefined ? "" : ` WHERE ${quote(having)} IS NOT NULL`;
    return `CREATE ${kind} IF NOT EXISTS ${name} ON ${quote(table.name)} (${columns.map(quote).join(", ")})${part}`;
  });
}

export function indexNames(table: Table): string[] {
  return table.indexes.map(
    ({ columns, having }) =>
      `${table.name}_by_${columns.join("_and_")}${having === undefined ? "" : `_having_${having}`}`,
  );
}
