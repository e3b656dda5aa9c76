import { toQuestion, toWords, weighWords } from "@selvedge/core/vector";
import type { PoolClient } from "pg";
import { Params } from "./filter-sql.ts";
import type { IndexRow } from "./tables.ts";

export interface TextStatistics {
  count: number;
  meanLength: number;
}

/** A tsvector is limited to a megabyte; this many words stay below it. */
const MAX_WORDS = 20_000;
const K1 = 1.2;
const B = 0.75;
/** What `ts_rank` returns for a word that occurs once. */
const ONCE = 0.0607927;

/** The words of a text separated by spaces, tokenised as in every store, and their number. */
export function toTsvectorText(text: string): { text: string; count: number } {
  const words = toWords(text).slice(0, MAX_WORDS);
  return { text: words.join(" "), count: words.length };
}

/**
 * Full-text search in the manner of BM25: rare words weigh more, repeated words a little more, long texts less.
 * PostgreSQL's ranking ignores rarity, so it is counted first. `undefined` if no word of the query occurs anywhere.
 */
export async function textQuery(
  client: PoolClient,
  options: {
    index: IndexRow;
    table: string;
    queryText: string;
    statistics: () => Promise<TextStatistics>;
  },
): Promise<{ params: Params; score: string; matches: string } | undefined> {
  const { index, table } = options;
  const question = toQuestion(options.queryText);
  const words = [...question.keys()];
  if (words.length === 0) return undefined;
  const counting = new Params();
  const asked = words.map((word) => tsquery(index, word, counting));
  const counts = asked.map((query, position) => `count(*) FILTER (WHERE words @@ ${query}) AS n${position}`);
  const { rows } = await client.query<Record<string, string>>(
    `SELECT ${counts.join(", ")} FROM ${table} WHERE words @@ (${asked.join(" || ")})`,
    counting.values,
  );
  const frequencies = new Map(words.map((word, position) => [word, Number(rows[0]![`n${position}`])]));
  if ([...frequencies.values()].every((frequency) => frequency === 0)) return undefined;
  const { count, meanLength } = await options.statistics();
  const params = new Params();
  const terms = [...weighWords(question, Math.max(count, ...frequencies.values()), frequencies)].map(
    ([word, weight]) => {
      const query = tsquery(index, word, params);
      return { query, text: `${params.add(weight / ONCE, "float8")} * ts_rank(words, ${query})` };
    },
  );
  const length = `word_count / ${params.add(meanLength, "float8")}`;
  return {
    params,
    matches: `words @@ (${terms.map(({ query }) => query).join(" || ")})`,
    score: `least(1, (${terms.map(({ text }) => text).join(" + ")}) * ${K1 + 1} / (1 + ${K1} * (${1 - B} + ${B} * ${length})))`,
  };
}

/** A word consists of letters and digits; a stop word becomes an empty query, which matches nothing. */
function tsquery(index: IndexRow, word: string, params: Params): string {
  return `plainto_tsquery(${params.add(index.language, "regconfig")}, ${params.add(word, "text")})`;
}
