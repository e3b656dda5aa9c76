import {
  type Cell,
  type Cells,
  columnType,
  type Condition,
  decodeRow,
  encodeCell,
  encodeNewRow,
  encodeRow,
  mergeCell,
  type Row,
  type Select,
  type Table,
  toConditions,
  type Where,
  type Write,
} from "@selvedge/core/storage";
import { hideNul, showNul } from "./nul.ts";
import { quote, REQUIRE, SQL_TYPES } from "./schema.ts";

export interface Statement {
  text: string;
  /** Without values, the text may consist of several statements. */
  values?: unknown[];
}

/** A search in the index of a table's words. */
export interface Mentions {
  index: string;
  column: string;
  grams: readonly number[];
}

/** Words reads and writes for the tables of one schema. The text depends on the shape alone, so that it can be prepared. */
export class SqlWriter {
  readonly #schema: string;

  constructor(schema: string) {
    this.#schema = quote(schema);
  }

  select({ table, where, orderBy = [], limit, offset, columns }: Select, mentions?: Mentions): Statement {
    const params = new Params();
    const what = (columns ?? Object.keys(table.columns)).map(quote).join(", ");
    // Rows without a value come first, or last when the order is reversed.
    const order = orderBy.map(({ column, direction }) =>
      direction === "desc" ? `${quote(column)} DESC NULLS LAST` : `${quote(column)} NULLS FIRST`,
    );
    let text = `SELECT ${what} FROM ${this.#name(table)}${whereText(table, where, params)}`;
    if (mentions) {
      const found = `SELECT number FROM ${mentions.index} WHERE grams @> ${params.add(mentions.grams)}::integer[]`;
      const and = Object.keys(where ?? {}).length > 0 ? "AND" : "WHERE";
      text += ` ${and} ${quote(mentions.column)} IN (${found})`;
    }
    if (order.length > 0) text += ` ORDER BY ${order.join(", ")}`;
    if (limit !== undefined) text += ` LIMIT ${params.add(limit)}`;
    if (offset !== undefined) text += ` OFFSET ${params.add(offset)}`;
    return { text, values: params.values };
  }

  count(table: Table, where: Where | undefined): Statement {
    const params = new Params();
    const text = `SELECT count(*) AS n FROM ${this.#name(table)}${whereText(table, where, params)}`;
    return { text, values: params.values };
  }

  /** A statement that raises an error on the server when the condition of the write fails. */
  write(write: Write): Statement {
    const params = new Params();
    if (write.op === "insert") return { text: this.#insert(write, params), values: params.values };
    const { table } = write;
    const name = this.#name(table);
    if (write.op === "require") {
      const exists = `EXISTS (SELECT 1 FROM ${name}${whereText(table, write.where, params)})`;
      const text = `SELECT ${this.#require(`${exists} = ${String(write.exists)}`)}`;
      return { text, values: params.values };
    }
    const change =
      write.op === "delete" ? `DELETE FROM ${name}` : `UPDATE ${name} SET ${setText(write, params)}`;
    const text = change + whereText(table, write.where, params);
    if (!write.require) return { text, values: params.values };
    const counted = `SELECT count(*) AS n, ${this.#require("count(*) > 0")} FROM changed`;
    return { text: `WITH changed AS (${text} RETURNING 1) ${counted}`, values: params.values };
  }

  /** Rows with the same columns, in one statement. */
  insertAll(table: Table, rows: readonly Cells[]): Statement | undefined {
    const lists = toLists(table, rows);
    const into = lists && `INSERT INTO ${this.#name(table)} (${lists.columns.map(quote).join(", ")})`;
    return lists && { text: `${into} SELECT * FROM ${lists.unnest}`, values: lists.values };
  }

  /** Writes of one shape as one statement, or `undefined` if their kind or shape does not allow it. */
  writeAll(writes: readonly Write[]): Statement | undefined {
    const [first] = writes;
    if (first?.op === "insert") {
      const { table, onConflict = "fail" } = first;
      if (onConflict !== "fail" || table.auto !== undefined) return undefined;
      return this.insertAll(
        table,
        writes.map((write) => encodeNewRow(table, (write as typeof first).row)),
      );
    }
    if (first?.op !== "require" || !first.exists) return undefined;
    const { table } = first;
    const rows: Cells[] = [];
    for (const { where } of writes as readonly (typeof first)[]) {
      const row: Cells = {};
      for (const condition of toConditions(table, where)) {
        if (condition.op !== "eq") return undefined;
        row[condition.column] = condition.value;
      }
      rows.push(row);
    }
    const lists = toLists(table, rows);
    if (!lists) return undefined;
    const same = lists.columns.map((column) => `one.${quote(column)} = asked.${quote(column)}`).join(" AND ");
    const asked = `${lists.unnest} AS asked (${lists.columns.map(quote).join(", ")})`;
    const missing = `EXISTS (SELECT 1 FROM ${asked} WHERE NOT EXISTS (SELECT 1 FROM ${this.#name(table)} AS one WHERE ${same}))`;
    return { text: `SELECT ${this.#require(`NOT ${missing}`)}`, values: lists.values };
  }

  #insert({ table, row, onConflict = "fail" }: Write & { op: "insert" }, params: Params): string {
    const cells = encodeNewRow(table, row);
    const columns = Object.keys(cells);
    const values = columns.map((column) => params.add(toStored(table, column, cells)));
    let text = `INSERT INTO ${this.#name(table)} (${columns.map(quote).join(", ")}) VALUES (${values.join(", ")})`;
    if (onConflict !== "fail") {
      const updates = columns.map((column) => `${quote(column)} = excluded.${quote(column)}`);
      const action = onConflict === "ignore" ? "NOTHING" : `UPDATE SET ${updates.join(", ")}`;
      text += ` ON CONFLICT (${table.key.map(quote).join(", ")}) DO ${action}`;
    }
    return table.auto === undefined ? text : `${text} RETURNING ${quote(table.auto)} AS auto`;
  }

  #name(table: Table): string {
    return `${this.#schema}.${quote(table.name)}`;
  }

  #require(condition: string): string {
    return `${this.#schema}.${REQUIRE}(${condition})`;
  }
}

class Params {
  readonly values: unknown[] = [];

  add(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/** Rows with the same columns as one list per column. */
function toLists(
  table: Table,
  rows: readonly Cells[],
): { columns: string[]; unnest: string; values: unknown[] } | undefined {
  const columns = Object.keys(rows[0]!);
  if (rows.some((row) => Object.keys(row).join() !== columns.join())) return undefined;
  const lists = columns.map((column, index) => `$${index + 1}::${SQL_TYPES[columnType(table, column)]}[]`);
  const values = columns.map((column) => rows.map((row) => toStored(table, column, row)));
  return { columns, unnest: `unnest(${lists.join(", ")})`, values };
}

/** What a query selected. */
export function toRows({ table, columns }: Select, found: readonly Cells[]): Row[] {
  return found.map((cells) => {
    for (const [column, cell] of Object.entries(cells))
      if (table.columns[column] === "json" && cell !== null) cells[column] = showNul(cell as string);
    return decodeRow(table, cells, columns);
  });
}

function toStored(table: Table, column: string, cells: Cells): Cell {
  const cell = cells[column]!;
  return table.columns[column] === "json" && cell !== null ? hideNul(cell as string) : cell;
}

function setText(write: Write & { op: "update" }, params: Params): string {
  const { table, merge = {}, increment = {} } = write;
  const cells = encodeRow(table, write.set ?? {});
  const values = new Map(Object.keys(cells).map((column) => [column, param(table, column, cells, params)]));
  const current = (column: string): string => values.get(column) ?? quote(column);
  for (const [column, patch] of Object.entries(merge))
    values.set(column, mergeText(table, column, current(column), patch, params));
  for (const [column, amount] of Object.entries(increment)) {
    columnType(table, column);
    values.set(column, `coalesce(${current(column)}, 0) + ${params.add(amount)}`);
  }
  // An update that sets nothing still counts the rows it found.
  if (values.size === 0) values.set(table.key[0]!, quote(table.key[0]!));
  return [...values].map(([column, value]) => `${quote(column)} = ${value}`).join(", ");
}

function param(table: Table, column: string, cells: Cells, params: Params): string {
  return `${params.add(toStored(table, column, cells))}::${SQL_TYPES[columnType(table, column)]}`;
}

/** The keys of the patch go, and those with a value are added again. The text of other values stays as it is. */
function mergeText(table: Table, column: string, current: string, patch: Row, params: Params): string {
  const added = hideNul(mergeCell(table, column, null, patch) as string);
  const keys = params.add(Object.keys(patch).map(storedKey));
  const object = `CASE WHEN json_typeof(${current}::json) = 'object' THEN ${current}::json ELSE '{}' END`;
  return `(SELECT '{' || coalesce(string_agg(to_json(key)::text || ':' || value::text, ','), '') || '}' FROM (
    SELECT key, value FROM json_each(${object}) WHERE key <> ALL (${keys}::text[])
    UNION ALL SELECT key, value FROM json_each(${params.add(added)}::json)) AS entries)`;
}

/** A key as it stands in stored JSON. */
function storedKey(key: string): string {
  return JSON.parse(hideNul(JSON.stringify(key.toWellFormed()))) as string;
}

const COMPARE = { eq: "=", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

function whereText(table: Table, where: Where | undefined, params: Params): string {
  const parts = toConditions(table, where).map((condition) => conditionText(table, condition, params));
  return parts.length === 0 ? "" : ` WHERE ${parts.join(" AND ")}`;
}

function conditionText(table: Table, condition: Condition, params: Params): string {
  const column = quote(condition.column);
  switch (condition.op) {
    case "null":
      return `${column} IS NULL`;
    case "ne":
      return condition.value === null
        ? `${column} IS NOT NULL`
        : `${column} IS DISTINCT FROM ${params.add(condition.value)}`;
    case "in":
      // One parameter whatever the length of the list.
      return `${column} = ANY (${params.add(condition.values)}::${SQL_TYPES[columnType(table, condition.column)]}[])`;
    case "has": {
      const entry = encodeCell(table, condition.column, { [condition.key]: condition.value });
      return `${column}::jsonb @> ${params.add(hideNul(entry as string))}::jsonb`;
    }
    default:
      return `${column} ${COMPARE[condition.op]} ${params.add(condition.value)}`;
  }
}
