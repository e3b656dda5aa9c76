import {
  type Cell,
  type Cells,
  columnType,
  type Condition,
  mergeCell,
  type Row,
  type Select,
  type Table,
} from "@selvedge/core/storage";
import { quote } from "./schema-sql.ts";

/** SQL text with its values. */
export interface Sql {
  text: string;
  params: (string | number | null)[];
}

/** A statement with its values. */
export interface Query<Statement> {
  statement: Statement;
  params: (string | number | null)[];
}

/** A condition as SQL; `from` and `order` if its rows are found through another table. */
export interface Mentions extends Sql {
  from?: string;
  order?: string;
}

/** What an update changes. */
interface Change {
  set: Cells;
  merge?: Readonly<Record<string, Row>>;
  increment?: Readonly<Record<string, number>>;
}

/** A row must exist, or must not. */
export interface Required {
  table: Table;
  conditions: readonly Condition[];
  exists: boolean;
}

type Params = Sql["params"];
type Conflict = "fail" | "ignore" | "update";

const COMPARE = { eq: "=", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;
const MAX_SHAPES = 512;

/**
 * Translates reads and writes to SQL. The text depends only on the shape, so each shape is translated and prepared
 * once. Shapes form a tree whose branches are the words of a shape: finding a known one builds no text.
 */
export class SqlWriter<Statement> {
  readonly #toStatement: (text: string) => Statement;
  #shapes = new Map<Table, Shape<Statement>>();
  #known = 0;

  constructor(toStatement: (text: string) => Statement) {
    this.#toStatement = toStatement;
  }

  select(query: Select, conditions: readonly Condition[], more?: Mentions): Query<Statement> {
    const { table, orderBy, limit, offset, columns } = query;
    let shape = this.#of(table).to("select");
    if (columns) for (const column of columns) shape = shape.to(column);
    shape = toConditionsShape(shape.to(END), conditions).to(END);
    if (orderBy) for (const { column, direction } of orderBy) shape = shape.to(column).to(direction ?? "asc");
    const part =
      limit === 1 && !offset ? "one" : limit !== undefined || offset !== undefined ? "part" : "all";
    shape = shape.to(END).to(part);
    if (more) shape = shape.to(more.text).to(more.from ?? END);
    const params = paramsOf(conditions);
    if (more) params.push(...more.params);
    if (part === "part") params.push(limit ?? -1, offset ?? 0);
    const statement = shape.statement ?? this.#word(shape, selectText(query, conditions, more, part));
    return { statement, params };
  }

  /** Returns a row if at most this many rows match. */
  atMost(table: Table, conditions: readonly Condition[], count: number): Query<Statement> {
    const shape = toConditionsShape(this.#of(table).to("at most"), conditions);
    const some = (): string => `SELECT 1 FROM ${quote(table.name)}${whereText(conditions)} LIMIT ?`;
    const statement =
      shape.statement ?? this.#word(shape, `SELECT 1 WHERE (SELECT count(*) FROM (${some()})) <= ?`);
    return { statement, params: [...paramsOf(conditions), count + 1, count] };
  }

  exists(table: Table, conditions: readonly Condition[]): Query<Statement> {
    const shape = toConditionsShape(this.#of(table).to("exists"), conditions);
    const statement =
      shape.statement ??
      this.#word(shape, `SELECT 1 FROM ${quote(table.name)}${whereText(conditions)} LIMIT 1`);
    return { statement, params: paramsOf(conditions) };
  }

  count(table: Table, conditions: readonly Condition[]): Query<Statement> {
    const shape = toConditionsShape(this.#of(table).to("count"), conditions);
    const statement =
      shape.statement ??
      this.#word(shape, `SELECT count(*) AS n FROM ${quote(table.name)}${whereText(conditions)}`);
    return { statement, params: paramsOf(conditions) };
  }

  /** An upsert returns a row with the number of its own, if the table numbers its rows. */
  insert(table: Table, cells: Cells, onConflict: Conflict): Query<Statement> {
    const columns = Object.keys(cells);
    let shape = this.#of(table).to("insert").to(onConflict);
    const params: Params = [];
    for (const column of columns) {
      shape = shape.to(column);
      params.push(cells[column]!);
    }
    const statement = shape.statement ?? this.#word(shape, insertText(table, columns, onConflict));
    return { statement, params };
  }

  /** Inserts the row if all of this holds, else nothing. */
  insertIf(table: Table, cells: Cells, required: readonly Required[]): Query<Statement> {
    const columns = Object.keys(cells);
    let shape = this.#of(table).to("insert if");
    const params: Params = [];
    for (const column of columns) {
      shape = shape.to(column);
      params.push(cells[column]!);
    }
    for (const { table: other, conditions, exists } of required) {
      shape = toConditionsShape(
        shape
          .to(END)
          .to(other.name)
          .to(exists ? "some" : "none"),
        conditions,
      );
      paramsOf(conditions, params);
    }
    const statement = shape.statement ?? this.#word(shape, insertIfText(table, columns, required));
    return { statement, params };
  }

  update(table: Table, change: Change, conditions: readonly Condition[]): Query<Statement> {
    const { set, merge = {}, increment = {} } = change;
    let shape = this.#of(table).to("update");
    const params: Params = [];
    for (const column of Object.keys(set)) {
      if (column in merge) continue;
      shape = shape.to(column);
      params.push(set[column]!);
    }
    shape = shape.to(END);
    for (const [column, patch] of Object.entries(merge)) {
      shape = shape.to(column).to(column in set ? "set" : "");
      if (column in set) params.push(set[column]!);
      params.push(...patchParams(table, column, patch));
    }
    shape = shape.to(END);
    for (const column of Object.keys(increment)) {
      columnType(table, column);
      shape = shape.to(column);
      params.push(increment[column]!);
    }
    shape = toConditionsShape(shape.to(END), conditions);
    const statement = shape.statement ?? this.#word(shape, updateText(table, change, conditions));
    return { statement, params: paramsOf(conditions, params) };
  }

  delete(table: Table, conditions: readonly Condition[]): Query<Statement> {
    const shape = toConditionsShape(this.#of(table).to("delete"), conditions);
    const statement =
      shape.statement ?? this.#word(shape, `DELETE FROM ${quote(table.name)}${whereText(conditions)}`);
    return { statement, params: paramsOf(conditions) };
  }

  #of(table: Table): Shape<Statement> {
    let shape = this.#shapes.get(table);
    if (!shape) this.#shapes.set(table, (shape = new Shape<Statement>()));
    return shape;
  }

  #word(shape: Shape<Statement>, text: string): Statement {
    if (++this.#known > MAX_SHAPES) {
      this.#known = 0;
      this.#shapes = new Map();
    }
    return (shape.statement = this.#toStatement(text));
  }
}

/** Separates lists of words. No column has this name. */
const END = "";

class Shape<Statement> {
  statement: Statement | undefined;
  readonly #next: Map<string, Shape<Statement>> = new Map();

  to(word: string): Shape<Statement> {
    let next = this.#next.get(word);
    if (!next) this.#next.set(word, (next = new Shape<Statement>()));
    return next;
  }
}

/** Everything the text of conditions depends on. */
function toConditionsShape<Statement>(
  from: Shape<Statement>,
  conditions: readonly Condition[],
): Shape<Statement> {
  let shape = from;
  for (const condition of conditions) {
    shape = shape.to(condition.column).to(condition.op);
    if (condition.op === "has") shape = shape.to(condition.value === null ? "null" : typeof condition.value);
    else if (condition.op === "ne") shape = shape.to(condition.value === null ? "null" : "value");
  }
  return shape;
}

function selectText(
  query: Select,
  conditions: readonly Condition[],
  more: Mentions | undefined,
  part: "one" | "part" | "all",
): string {
  const table = quote(query.table.name);
  const columns = (query.orderBy ?? []).map(({ column, direction }) =>
    direction === "desc" ? `${quote(column)} DESC` : quote(column),
  );
  const order = more?.order ?? columns.join(", ");
  const wanted = query.columns ?? Object.keys(query.table.columns);
  const what = wanted.map((column) => `${table}.${quote(column)}`).join(", ");
  let text = `SELECT ${what} FROM ${more?.from ?? table}${whereText(conditions, more)}`;
  if (order !== "") text += ` ORDER BY ${order}`;
  return part === "all" ? text : part === "one" ? `${text} LIMIT 1` : `${text} LIMIT ? OFFSET ?`;
}

function insertText(table: Table, columns: readonly string[], onConflict: Conflict): string {
  let text =
    `INSERT INTO ${quote(table.name)} (${columns.map(quote).join(", ")}) ` +
    `VALUES (${columns.map(() => "?").join(", ")})`;
  if (onConflict !== "fail") text += ` ON CONFLICT (${table.key.map(quote).join(", ")}) `;
  if (onConflict === "ignore") text += "DO NOTHING";
  if (onConflict === "update") {
    // If only the key is given, it is set to itself, so that the row counts as changed.
    const others = columns.filter((column) => !table.key.includes(column));
    const set = (others.length > 0 ? others : columns).map(
      (column) => `${quote(column)} = excluded.${quote(column)}`,
    );
    text += `DO UPDATE SET ${set.join(", ")}`;
    // An upsert that updates does not change the last row id.
    if (table.auto !== undefined) text += ` RETURNING ${quote(table.auto)}`;
  }
  return text;
}

function insertIfText(table: Table, columns: readonly string[], required: readonly Required[]): string {
  const holds = required.map(
    ({ table: other, conditions, exists }) =>
      `${exists ? "" : "NOT "}EXISTS (SELECT 1 FROM ${quote(other.name)}${whereText(conditions)})`,
  );
  return (
    `INSERT INTO ${quote(table.name)} (${columns.map(quote).join(", ")}) ` +
    `SELECT ${columns.map(() => "?").join(", ")} WHERE ${holds.join(" AND ")}`
  );
}

function updateText(
  table: Table,
  { set, merge = {}, increment = {} }: Change,
  conditions: readonly Condition[],
): string {
  const plain = Object.keys(set).filter((column) => !(column in merge));
  const changes = [
    ...plain.map((column) => `${quote(column)} = ?`),
    ...Object.keys(merge).map(
      (column) => `${quote(column)} = ${mergeText(column in set ? "?" : quote(column))}`,
    ),
    ...Object.keys(increment).map((column) => `${quote(column)} = coalesce(${quote(column)}, 0) + ?`),
  ];
  // An update that sets nothing still counts the rows it matches.
  const [key] = table.key;
  if (changes.length === 0) changes.push(`${quote(key!)} = ${quote(key!)}`);
  return `UPDATE ${quote(table.name)} SET ${changes.join(", ")}${whereText(conditions)}`;
}

/**
 * The keys of the patch go, and those with a value are added again. `json_patch` alone would drop the nulls inside
 * objects; the text of other values stays as it is.
 */
function mergeText(current: string): string {
  return (
    `(SELECT CASE WHEN added = '{}' THEN rest WHEN rest = '{}' THEN added ` +
    `ELSE substr(rest, 1, length(rest) - 1) || ',' || substr(added, 2) END FROM ` +
    `(SELECT json_patch(CASE json_type(whole) WHEN 'object' THEN whole ELSE '{}' END, ?) AS rest, ? AS added ` +
    `FROM (SELECT ${current} AS whole)))`
  );
}

/** What goes, and what is added. */
function patchParams(table: Table, column: string, patch: Row): string[] {
  const gone = Object.fromEntries(Object.keys(patch).map((key) => [key.toWellFormed(), null]));
  return [JSON.stringify(gone), mergeCell(table, column, null, patch) as string];
}

function whereText(conditions: readonly Condition[], more?: Sql): string {
  const parts = conditions.map(conditionText);
  if (more) parts.push(more.text);
  return parts.length === 0 ? "" : ` WHERE ${parts.join(" AND ")}`;
}

function paramsOf(conditions: readonly Condition[], params: Params = []): Params {
  for (const condition of conditions) {
    if (condition.op === "null" || (condition.op === "ne" && condition.value === null)) continue;
    // One parameter for a list of any length: one statement to prepare, and no limit on the number.
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
      // Written out where possible, so that an index on rows with a value can be used.
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

/** SQLite has these as separate types. */
function isNamedType(value: Cell | boolean): value is null | boolean {
  return value === null || typeof value === "boolean";
}
