import type { Cell, Cells, Condition, Select, Table } from "@selvedge/core/storage";
import { quote } from "./schema-sql.ts";

/** SQL text with the values that go with it. */
export interface Sql {
  text: string;
  params: (string | number | null)[];
}

/** A condition in words of its own; `from` and `order` where its rows come by way of another table. */
export interface Mentions extends Sql {
  from?: string;
  order?: string;
}

const COMPARE = { eq: "=", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;
const MAX_TEXTS = 512;

/** Words reads and writes. The text depends on the shape alone, so each shape is worded once and can be prepared once. */
export class SqlWriter {
  readonly #texts = new Map<string, string>();

  select(query: Select, conditions: readonly Condition[], more?: Mentions): Sql {
    const { table, orderBy = [], limit, offset, columns = [] } = query;
    const params = paramsOf(conditions);
    if (more) params.push(...more.params);
    const order = orderBy.map(
      ({ column, direction }) => `${column} ${direction === "desc" ? "desc" : "asc"}`,
    );
    const isPart = limit !== undefined || offset !== undefined;
    if (isPart) params.push(limit ?? -1, offset ?? 0);
    const shape = `${shapeOf(conditions)}${more?.text ?? ""}${more?.from ?? ""}`;
    const key = `select ${columns.join()} ${table.name} ${shape}${order.join()}${isPart ? " part" : ""}`;
    return { text: this.#text(key, () => selectText(query, conditions, more, isPart)), params };
  }

  /** Has a row when so many rows match, or fewer. */
  atMost(table: Table, conditions: readonly Condition[], count: number): Sql {
    const make = () => {
      const some = `SELECT 1 FROM ${quote(table.name)}${whereText(conditions)} LIMIT ?`;
      return `SELECT 1 WHERE (SELECT count(*) FROM (${some})) <= ?`;
    };
    const text = this.#text(`at most ${table.name} ${shapeOf(conditions)}`, make);
    return { text, params: [...paramsOf(conditions), count + 1, count] };
  }

  exists(table: Table, conditions: readonly Condition[]): Sql {
    const key = `exists ${table.name} ${shapeOf(conditions)}`;
    const make = () => `SELECT 1 FROM ${quote(table.name)}${whereText(conditions)} LIMIT 1`;
    return { text: this.#text(key, make), params: paramsOf(conditions) };
  }

  count(table: Table, conditions: readonly Condition[]): Sql {
    const key = `count ${table.name} ${shapeOf(conditions)}`;
    const make = () => `SELECT count(*) AS n FROM ${quote(table.name)}${whereText(conditions)}`;
    return { text: this.#text(key, make), params: paramsOf(conditions) };
  }

  /** With `returning`, the row says what it has in that column. */
  insert(
    table: Table,
    cells: Cells,
    onConflict: "fail" | "ignore" | "update",
    returning: string | undefined,
  ): Sql {
    const columns = Object.keys(cells);
    const key = `insert ${table.name} ${onConflict} ${returning ?? ""} ${columns.join()}`;
    const make = () => insertText(table, columns, onConflict, returning);
    return { text: this.#text(key, make), params: Object.values(cells) };
  }

  update(
    table: Table,
    set: Cells,
    increment: Readonly<Record<string, number>>,
    conditions: readonly Condition[],
  ): Sql {
    const columns = Object.keys(set);
    const counters = Object.keys(increment);
    const key = `update ${table.name} ${columns.join()} ${counters.join()} ${shapeOf(conditions)}`;
    const make = () => updateText(table, columns, counters, conditions);
    const params = [...Object.values(set), ...Object.values(increment), ...paramsOf(conditions)];
    return { text: this.#text(key, make), params };
  }

  delete(table: Table, conditions: readonly Condition[]): Sql {
    const key = `delete ${table.name} ${shapeOf(conditions)}`;
    const make = () => `DELETE FROM ${quote(table.name)}${whereText(conditions)}`;
    return { text: this.#text(key, make), params: paramsOf(conditions) };
  }

  #text(key: string, make: () => string): string {
    const known = this.#texts.get(key);
    if (known !== undefined) return known;
    if (this.#texts.size >= MAX_TEXTS) this.#texts.clear();
    const text = make();
    this.#texts.set(key, text);
    return text;
  }
}

function selectText(
  query: Select,
  conditions: readonly Condition[],
  more: Mentions | undefined,
  isPart: boolean,
): string {
  const table = quote(query.table.name);
  const columns = (query.orderBy ?? []).map(({ column, direction }) =>
    direction === "desc" ? `${quote(column)} DESC` : quote(column),
  );
  const order = more?.order ?? columns.join(", ");
  const what = query.columns?.map((column) => `${table}.${quote(column)}`).join(", ") ?? `${table}.*`;
  let text = `SELECT ${what} FROM ${more?.from ?? table}${whereText(conditions, more)}`;
  if (order !== "") text += ` ORDER BY ${order}`;
  return isPart ? `${text} LIMIT ? OFFSET ?` : text;
}

function insertText(
  table: Table,
  columns: readonly string[],
  onConflict: "fail" | "ignore" | "update",
  returning: string | undefined,
): string {
  let text =
    `INSERT INTO ${quote(table.name)} (${columns.map(quote).join(", ")}) ` +
    `VALUES (${columns.map(() => "?").join(", ")})`;
  if (onConflict !== "fail") text += ` ON CONFLICT (${table.key.map(quote).join(", ")}) `;
  if (onConflict === "ignore") text += "DO NOTHING";
  if (onConflict === "update") {
    text += `DO UPDATE SET ${columns.map((column) => `${quote(column)} = excluded.${quote(column)}`).join(", ")}`;
  }
  return returning === undefined ? text : `${text} RETURNING ${quote(returning)} AS returned`;
}

function updateText(
  table: Table,
  columns: readonly string[],
  counters: readonly string[],
  conditions: readonly Condition[],
): string {
  const changes = [
    ...columns.map((column) => `${quote(column)} = ?`),
    ...counters.map((column) => `${quote(column)} = coalesce(${quote(column)}, 0) + ?`),
  ];
  // An update that sets nothing still counts the rows it finds.
  const [key] = table.key;
  if (changes.length === 0) changes.push(`${quote(key!)} = ${quote(key!)}`);
  return `UPDATE ${quote(table.name)} SET ${changes.join(", ")}${whereText(conditions)}`;
}

function whereText(conditions: readonly Condition[], more?: Sql): string {
  const parts = conditions.map(conditionText);
  if (more) parts.push(more.text);
  return parts.length === 0 ? "" : ` WHERE ${parts.join(" AND ")}`;
}

/** All that the text of conditions depends on. */
function shapeOf(conditions: readonly Condition[]): string {
  let shape = "";
  for (const condition of conditions) {
    shape += `${condition.column} ${condition.op}`;
    if (condition.op === "has") shape += condition.value === null ? " null" : ` ${typeof condition.value}`;
    else if (condition.op === "ne" && condition.value === null) shape += " null";
    shape += ",";
  }
  return shape;
}

function paramsOf(conditions: readonly Condition[]): Sql["params"] {
  const params: Sql["params"] = [];
  for (const condition of conditions) {
    if (condition.op === "null" || (condition.op === "ne" && condition.value === null)) continue;
    // One parameter whatever the length of the list: one statement to prepare, and no limit on the number.
    if (condition.op === "in") params.push(JSON.stringify(condition.values));
    else if (condition.op === "has") params.push(condition.key, entryParam(condition.value));
    else params.push(condition.value);
  }
  return params;
}

function conditionText(condition: Condition): string {
  const column = quote(condition.column);
  switch (condition.op) {
    case "null":
      return `${column} IS NULL`;
    case "ne":
      // Said outright where it can be, so that an index on the rows that have a value can be used.
      return condition.value === null ? `${column} IS NOT NULL` : `${column} IS NOT ?`;
    case "in":
      return `${column} IN (SELECT value FROM json_each(?))`;
    case "has":
      return hasText(column, condition.value);
    default:
      return `${column} ${COMPARE[condition.op]} ?`;
  }
}

function hasText(column: string, value: Cell | boolean): string {
  const entry = `SELECT 1 FROM json_each(${column}) AS entry WHERE entry.key = ?`;
  if (isNamedType(value)) return `EXISTS (${entry} AND entry.type = ?)`;
  const types = typeof value === "string" ? "('text')" : "('integer', 'real')";
  return `EXISTS (${entry} AND entry.type IN ${types} AND entry.value = ?)`;
}

function entryParam(value: Cell | boolean): string | number {
  return isNamedType(value) ? String(value) : value;
}

/** SQLite has these as types of their own. */
function isNamedType(value: Cell | boolean): value is null | boolean {
  return value === null || typeof value === "boolean";
}
