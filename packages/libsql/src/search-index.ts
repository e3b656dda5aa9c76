import type { Table } from "@selvedge/core/storage";
import { quote } from "./schema-sql.ts";

/** Shorter terms are not in the index, which consists of triples of characters. */
const SHORTEST_TERM = 3;
const MOST_TERMS = 8;
const LONGEST_TERM = 64;
const MOST_TRIPLES = 32;
/** Characters whose other case the index does not know. Such text is searched without the index. */
const UNKNOWN_CASE = /[\u0307\u03f3]|(?![\u1e00-\u1fff])[\u0528-\u{10ffff}]/u;

/** Creates the full-text index of a table, with triggers that keep it in sync with every write. */
export function searchIndexSql(table: Table, names: ReadonlySet<string>): string[] {
  const { search, auto } = table;
  if (!search || auto === undefined) return [];
  const name = indexName(table);
  if (names.has(name)) return [];
  const [index, content, row] = [quote(name), quote(table.name), quote(auto)];
  const columns = search.map(quote).join(", ");
  const values = (of: "old" | "new") =>
    [auto, ...search].map((column) => `${of}.${quote(column)}`).join(", ");
  const changed = search.map((column) => `old.${quote(column)} IS NOT new.${quote(column)}`).join(" OR ");
  const add = `INSERT INTO ${index} (rowid, ${columns}) VALUES (${values("new")});`;
  const remove = `INSERT INTO ${index} (${index}, rowid, ${columns}) VALUES ('delete', ${values("old")});`;
  const trigger = (event: string, when: string, work: string) =>
    `CREATE TRIGGER ${quote(`${name}_after_${event}`)} AFTER ${event} ON ${content} ${when} BEGIN ${work} END`;
  return [
    `CREATE VIRTUAL TABLE ${index} USING fts5(${columns}, content=${content}, content_rowid=${row}, tokenize='trigram')`,
    trigger("insert", "", add),
    trigger("delete", "", remove),
    trigger("update", `WHEN ${changed}`, `${remove} ${add}`),
    `INSERT INTO ${index} (${index}) VALUES ('rebuild')`,
  ];
}

/** A condition on the rows of a table that the index supports, or `undefined`. */
export function mentionsSql(
  table: Table,
  terms: readonly string[],
): { text: string; params: string[] } | undefined {
  if (!table.search || table.auto === undefined) return undefined;
  const phrases = terms.filter(isIndexed).slice(0, MOST_TERMS).map(toPhrase);
  if (phrases.length === 0) return undefined;
  const index = quote(indexName(table));
  return {
    text: `${quote(table.auto)} IN (SELECT rowid FROM ${index} WHERE ${index} MATCH ?)`,
    params: [phrases.join(" AND ")],
  };
}

/** The query for an index of triples: each of the terms, as far as it helps. */
export function toTriples(terms: readonly string[]): string[] {
  const triples = new Set<string>();
  for (const term of terms.filter(isIndexed)) {
    const characters = Array.from(term);
    for (let at = 0; at + SHORTEST_TERM <= characters.length && triples.size < MOST_TRIPLES; at++)
      triples.add(toPhrase(characters.slice(at, at + SHORTEST_TERM).join("")));
  }
  return [...triples];
}

function indexName(table: Table): string {
  return `${table.name}_search`;
}

function isIndexed(term: string): boolean {
  const caseIsKnown = term.toUpperCase() === term || !UNKNOWN_CASE.test(term);
  return Array.from(term).length >= SHORTEST_TERM && !term.includes("\u0000") && caseIsKnown;
}

/** A string of the query language, in which only the quote is special. */
function toPhrase(term: string): string {
  return `"${Array.from(term).slice(0, LONGEST_TERM).join("").replaceAll('"', '""')}"`;
}
