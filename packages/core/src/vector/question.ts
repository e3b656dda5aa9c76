import { toWords } from "./to-words.ts";

/** Okapi BM25 with the usual constants for term saturation and length normalisation. */
export const K1 = 1.2;
export const B = 0.75;

/** Longer queries are cut. Each word is counted in the index, and the most significant ones are searched. */
const MAX_WORDS = 256;
const MAX_WEIGHED = 64;

/** Stop words: the English list of the Snowball stemmers, plus what remains of "don't" and "I'll". */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its " +
    "itself they them their theirs themselves what which who whom this that these those am is are was were be been being " +
    "have has had having do does did doing would should could ought a an the and but if or because as until while of at by " +
    "for with about against between into through during before after above below to from up down in out on off over under " +
    "again further then once here there when where why how all any both each few more most other some such no nor not only " +
    "own same so than too very can will just don now s t d ll m re ve"
  ).split(" "),
);

/** The words of a query with their counts. Stop words are dropped, unless there are no others. */
export function toQuestion(queryText: string): Map<string, number> {
  const words = toWords(queryText);
  const telling = words.filter((word) => !STOP_WORDS.has(word));
  return countWords(telling.length > 0 ? telling : words);
}

/** Words with their counts; of a long query, the first ones. */
export function countWords(words: readonly string[]): Map<string, number> {
  const question = new Map<string, number>();
  for (const word of words) {
    const times = question.get(word);
    if (times !== undefined || question.size < MAX_WORDS) question.set(word, (times ?? 0) + 1);
  }
  return question;
}

/**
 * The weight of each query word in a collection: its count times its rarity, divided by the highest possible score, so
 * that scores range from 0 to 1. Unknown words count towards that maximum: a query of which half is unknown can score
 * at most one half. They are not in the result.
 *
 * @param count the number of texts
 * @param frequencies the number of texts that contain each word
 */
export function weighWords(
  question: ReadonlyMap<string, number>,
  count: number,
  frequencies: ReadonlyMap<string, number>,
  k1: number = K1,
): Map<string, number> {
  const weights: [word: string, weight: number][] = [];
  let most = 0;
  for (const [word, times] of question) {
    const frequency = frequencies.get(word) ?? 0;
    const weight = times * Math.log(1 + (count - frequency + 0.5) / (frequency + 0.5));
    most += weight * (k1 + 1);
    if (frequency > 0) weights.push([word, weight]);
  }
  const heaviest = weights.sort((a, b) => b[1] - a[1]).slice(0, MAX_WEIGHED);
  return new Map(heaviest.map(([word, weight]) => [word, weight / most]));
}
