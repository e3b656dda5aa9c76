import type { Cell, Cells, Condition, Select, Table } from "@selvedge/core/storage";

/** SQL text with the values that go with it. The text depends on the shape only, so that it can be prepared once. */
export interface Sql {
  text: string;
  params: (string | number | null)[];
}

const TYPES = { text: "TEXT", integer: "INTEGER", real: "REAL", json: "TEXT" } as const;
const COMPARE = { eq: "=", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

export function quote(name: string): string {
  return name.includes('"') ? `"${name.replaceAll('"', '""')}"` : `"${name}"`;
}

export function createTableSql(table: Table): string {
  const columns = Object.keys(table.columns).map((column) => columnSql(table, column));
  const key = table.key.map(quote).join(", ");
  const constraint = table.auto === undefined ? `PRIMARY KEY (${key})` : `UNIQUE (${key})`;
  return `CREATE TABLE IF NOT EXISTS ${quote(table.name)} (${[...columns, constraint].join(", ")})`;
}

export function columnSql(table: Table, column: string): string {
  if (column === table.auto) return `${quote(column)} INTEGER PRIMARY KEY AUTOINCREMENT`;
  const needed = table.key.includes(column) ? " NOT NULL" : "";
  return `${quote(column)} ${TYPES[table.columns[column]!]}${needed}`;
}

export function createIndexSql(table: Table): string[] {
  return table.indexes.map(({ columns, unique }) => {
    const name = quote(`${table.name}_by_${columns.join("_and_")}`);
    const kind = unique ? "UNIQUE INDEX" : "INDEX";
    return `CREATE ${kind} IF NOT EXISTS ${name} ON ${quote(table.name)} (${columns.map(quote).join(", ")})`;
  });
}

export function selectSql(query: Select, conditions: readonly Condition[], more?: Sql): Sql {
  const where = whereSql(conditions, more);
  const order = (query.orderBy ?? []).map(({ column, direction }) =>
    direction === "desc" ? `${quote(column)} DESC` : quote(column),
  );
  const params = [...where.params];
  let text = `SELECT * FROM ${quote(query.table.name)}${where.text}`;
  if (order.length > 0) text += ` ORDER BY ${order.join(", ")}`;
  if (query.limit !== undefined || query.offset !== undefined) {
    text += " LIMIT ? OFFSET ?";
    params.push(query.limit ?? -1, query.offset ?? 0);
  }
  return { text, params };
}

export function existsSql(table: Table, conditions: readonly Condition[]): Sql {
  const where = whereSql(conditions);
  return { text: `SELECT 1 FROM ${quote(table.name)}${where.text} LIMIT 1`, params: where.params };
}

export function countSql(table: Table, conditions: readonly Condition[]): Sql {
  const where = whereSql(conditions);
  return { text: `SELECT count(*) AS n FROM ${quote(table.name)}${where.text}`, params: where.params };
}

export function insertSql(table: Table, cells: Cells, onConflict: "fail" | "ignore" | "update"): Sql {
  const columns = Object.keys(cells);
  let text =
    `INSERT INTO ${quote(table.name)} (${columns.map(quote).join(", ")}) ` +
    `VALUES (${columns.map(() => "?").join(", ")})`;
  if (onConflict !== "fail") text += ` ON CONFLICT (${table.key.map(quote).join(", ")}) `;
  if (onConflict === "ignore") text += "DO NOTHING";
  if (onConflict === "update") {
    text += `DO UPDATE SET ${columns.map((column) => `${quote(column)} = excluded.${quote(column)}`).join(", ")}`;
  }
  return { text, params: Object.values(cells) };
}

export function updateSql(
  table: Table,
  set: Cells,
  increment: Readonly<Record<string, number>>,
  conditions: readonly Condition[],
): Sql {
  const where = whereSql(conditions);
  const changes = [
    ...Object.keys(set).map((column) => `${quote(column)} = ?`),
    ...Object.keys(increment).map((column) => `${quote(column)} = coalesce(${quote(column)}, 0) + ?`),
  ];
  return {
    text: `UPDATE ${quote(table.name)} SET ${changes.join(", ")}${where.text}`,
    params: [...Object.values(set), ...Object.values(increment), ...where.params],
  };
}

export function deleteSql(table: Table, conditions: readonly Condition[]): Sql {
  const where = whereSql(conditions);
  return { text: `DELETE FROM ${quote(table.name)}${where.text}`, params: where.params };
}

/** Has a row when so many rows match, or fewer. */
export function atMostSql(table: Table, conditions: readonly Condition[], count: number): Sql {
  const where = whereSql(conditions);
  const some = `SELECT 1 FROM ${quote(table.name)}${where.text} LIMIT ?`;
  return {
    text: `SELECT 1 WHERE (SELECT count(*) FROM (${some})) <= ?`,
    params: [...where.params, count + 1, count],
  };
}

function whereSql(conditions: readonly Condition[], more?: Sql): Sql {
  const parts = [...conditions.map(conditionSql), ...(more ? [more] : [])];
  if (parts.length === 0) return { text: "", params: [] };
  return {
    text: ` WHERE ${parts.map((part) => part.text).join(" AND ")}`,
    params: parts.flatMap((part) => part.params),
  };
}

function conditionSql(condition: Condition): Sql {
  const column = quote(condition.column);
  switch (condition.op) {
    case "null":
      return { text: `${column} IS NULL`, params: [] };
    case "ne":
      return { text: `${column} IS NOT ?`, params: [condition.value] };
    case "in":
      // One parameter whatever the length of the list: one statement to prepare, and no limit on the number.
      return {
        text: `${column} IN (SELECT value FROM json_each(?))`,
        params: [JSON.stringify(condition.values)],
      };
    case "has":
      return hasSql(column, condition.key, condition.value);
    default:
      return { text: `${column} ${COMPARE[condition.op]} ?`, params: [condition.value] };
  }
}

function hasSql(column: string, key: string, value: Cell | boolean): Sql {
  const entry = `SELECT 1 FROM json_each(${column}) AS entry WHERE entry.key = ?`;
  if (value === null || typeof value === "boolean") {
    return { text: `EXISTS (${entry} AND entry.type = ?)`, params: [key, String(value)] };
  }
  const types = typeof value === "string" ? "('text')" : "('integer', 'real')";
  return { text: `EXISTS (${entry} AND entry.type IN ${types} AND entry.value = ?)`, params: [key, value] };
}
