import type { FilterNode, FilterScalar } from "@selvedge/core/vector";
import type { Sql } from "./sql-writer.ts";

/** A condition on a json column. Each piece is 0 or 1, never NULL, so `NOT` works as in code. */
export function filterSql(column: string, node: FilterNode): Sql {
  switch (node.op) {
    case "and":
      return join(node.nodes, column, " AND ", "1");
    case "or":
      return join(node.nodes, column, " OR ", "0");
    case "not": {
      const { text, params } = filterSql(column, node.node);
      return { text: `NOT ${text}`, params };
    }
  }
  const path = node.path.map((name) => `."${name}"`).join("");
  const type = { text: `coalesce(json_type(${column}, ?), 'null')`, params: [`$${path}`] };
  const value = { text: `json_extract(${column}, ?)`, params: [`$${path}`] };
  switch (node.op) {
    case "exists":
      return sql`(json_type(${{ text: column, params: [] }}, ${param(`$${path}`)}) IS NOT NULL)`;
    case "eq":
      return equals(type, value, node.value);
    case "in":
      return isOneOf(type, value, node.values);
    case "contains":
      return contains(column, `$${path}`, type, value, node.value);
    default:
      return sql`(${type} IN ${types(node.value)} AND ${value} ${OPERATOR[node.op]} ${param(node.value)})`;
  }
}

const OPERATOR = {
  gt: { text: ">", params: [] },
  gte: { text: ">=", params: [] },
  lt: { text: "<", params: [] },
  lte: { text: "<=", params: [] },
} satisfies Record<string, Sql>;

function equals(type: Sql, value: Sql, wanted: FilterScalar): Sql {
  if (wanted === null || typeof wanted === "boolean") return sql`(${type} IN ${types(wanted)})`;
  return sql`(${type} IN ${types(wanted)} AND ${value} = ${param(wanted)})`;
}

/** One parameter for all strings and one for all numbers: SQLite limits the length of a statement, not of a list. */
function isOneOf(type: Sql, value: Sql, wanted: readonly FilterScalar[]): Sql {
  const parts = (["string", "number"] as const).flatMap((kind) => {
    const list = wanted.filter((item) => typeof item === kind);
    if (list.length === 0) return [];
    const among = param(JSON.stringify(list));
    return [
      sql`(${type} IN ${types(list[0]!)} AND ${value} IN (SELECT listed.value FROM json_each(${among}) AS listed))`,
    ];
  });
  const others = [null, true, false].filter((item) => wanted.includes(item));
  return any([...parts, ...others.map((item) => equals(type, value, item))]);
}

function contains(column: string, path: string, type: Sql, value: Sql, wanted: FilterScalar): Sql {
  const element = equals({ text: "item.type", params: [] }, { text: "item.value", params: [] }, wanted);
  const items: Sql = { text: `json_each(${column}, ?)`, params: [path] };
  const inArray = sql`(${type} = 'array' AND EXISTS (SELECT 1 FROM ${items} AS item WHERE ${element}))`;
  if (typeof wanted !== "string") return inArray;
  return any([inArray, sql`(${type} = 'text' AND instr(${value}, ${param(wanted)}) > 0)`]);
}

/** The names that `json_type` has for values like this one. */
function types(value: FilterScalar): Sql {
  if (typeof value === "string") return { text: "('text')", params: [] };
  if (typeof value === "number") return { text: "('integer', 'real')", params: [] };
  return { text: `('${String(value)}')`, params: [] };
}

function join(nodes: readonly FilterNode[], column: string, operator: string, empty: string): Sql {
  return combine(
    nodes.map((node) => filterSql(column, node)),
    operator,
    empty,
  );
}

function any(parts: readonly Sql[]): Sql {
  return combine(parts, " OR ", "0");
}

function combine(parts: readonly Sql[], operator: string, empty: string): Sql {
  if (parts.length === 0) return { text: empty, params: [] };
  return {
    text: `(${parts.map((part) => part.text).join(operator)})`,
    params: parts.flatMap((part) => part.params),
  };
}

function param(value: string | number): Sql {
  return { text: "?", params: [value] };
}

function sql(strings: TemplateStringsArray, ...parts: Sql[]): Sql {
  return {
    text: String.raw({ raw: strings }, ...parts.map((part) => part.text)),
    params: parts.flatMap((part) => part.params),
  };
}
