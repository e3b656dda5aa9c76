import { weighWords } from "@selvedge/core/vector";
import type { Connection } from "./connection.ts";
import { wordsOf } from "./vector-tables.ts";

/** A word as FTS5 takes it, and the factor for what `bm25` says of a row for that word alone. */
type AskedWord = readonly [match: string, factor: number];

/** What `bm25` takes for the rarity of a word that stands in half of the texts or more. */
const LEAST_RARITY = 1e-6;

/**
 * The words of a question that stand somewhere, with their weights. `bm25` of FTS5 overlooks how often a word is
 * asked for, and words that stand in half of the texts. So it is asked for each word alone, and its rarity is divided out.
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

/** A statement over the asked words as JSON, which gives for each `key` of an entry what it `measured`. */
export function wordScores(index: { number: number }): string {
  return (
    `SELECT words.rowid AS key, sum(-rank * (asked.value ->> 1)) AS measured FROM json_each(?) AS asked ` +
    `CROSS JOIN ${wordsOf(index)} AS words WHERE ${wordsOf(index)} MATCH (asked.value ->> 0) GROUP BY words.rowid`
  );
}

function toMatch(word: string): string {
  return `"${word}"`;
}
