import { weighWords } from "@selvedge/core/vector";
import type { Connection } from "./connection.ts";
import { wordsOf } from "./vector-tables.ts";

/** A word in FTS5 syntax, and the factor for its `bm25` score of a row. */
type AskedWord = readonly [match: string, factor: number];

/** The rarity that `bm25` assumes for a word that occurs in half of the texts or more. */
const LEAST_RARITY = 1e-6;

/**
 * The words of a query that occur somewhere, with their weights. FTS5's `bm25` ignores how often a word is asked for,
 * and words that occur in half of the texts. So each word is queried alone, and its rarity is divided out.
 */
export function askedWords(
  connection: Connection,
  index: { number: number },
  question: ReadonlyMap<string, number>,
): AskedWord[] {
  const words = [...question.keys()];
  const rows = connection.all<{ place: number; frequency: number }>(
    `SELECT asked.key AS place, count(*) AS frequency FROM json_each(?) AS asked CROSS JOIN ${wordsOf(index)} ` +
      `WHERE ${wordsOf(index)} MATCH asked.value GROUP BY asked.key`,
    [JSON.stringify(words.map(toMatch))],
  );
  if (rows.length === 0) return [];
  const frequencies = new Map(rows.map(({ place, frequency }) => [words[place]!, frequency]));
  const [all] = connection.all<{ count: number }>(`SELECT count(*) AS count FROM ${wordsOf(index)}`);
  const count = all!.count;
  return [...weighWords(question, count, frequencies)].map(([word, weight]) => {
    const frequency = frequencies.get(word)!;
    const rarity = Math.log((count - frequency + 0.5) / (frequency + 0.5));
    return [toMatch(word), weight / (rarity > 0 ? rarity : LEAST_RARITY)];
  });
}

/** A statement over the query words as JSON that returns what it `measured` for each `key` of an entry. */
export function wordScores(index: { number: number }): string {
  return (
    `SELECT words.rowid AS key, sum(-rank * (asked.value ->> 1)) AS measured FROM json_each(?) AS asked ` +
    `CROSS JOIN ${wordsOf(index)} AS words WHERE ${wordsOf(index)} MATCH (asked.value ->> 0) GROUP BY words.rowid`
  );
}

function toMatch(word: string): string {
  return `"${word}"`;
}
