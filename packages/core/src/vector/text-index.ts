import { B, countWords, K1, toQuestion, weighWords } from "./question.ts";
import { stem } from "./stem.ts";
import { splitNames, toWords } from "./to-words.ts";

const MAX_STEMS = 100_000;

export interface TextIndexOptions {
  /** How soon repeating a word stops to count. Default: 1.2. */
  k1?: number;
  /** How much the length of a text counts. Default: 0.75. */
  b?: number;
  /** Also index the words inside names such as `getUserName`. */
  splitNames?: boolean;
  /** Replaces how texts and queries become words. Words then count as they are, without stems and stop words. */
  toWords?: (text: string) => string[];
}

interface Entry {
  id: string;
  length: number;
  postings: Posting[];
}

/** The entries that contain a stem, by number, and how often. Numbers of deleted entries are removed now and then. */
interface Posting {
  stem: string;
  numbers: number[];
  times: number[];
  alive: number;
}

/** Okapi BM25 over a changing set of texts. It stores only ids and stems; the owner keeps the texts. */
export class TextIndex {
  readonly #k1: number;
  readonly #b: number;
  readonly #split: (text: string) => string;
  readonly #ownWords: ((text: string) => string[]) | undefined;
  readonly #postings = new Map<string, Posting>();
  readonly #entries: (Entry | undefined)[] = [];
  readonly #numbers = new Map<string, number>();
  /** A cache of stems, since texts repeat words. */
  readonly #stems = new Map<string, string>();
  #totalLength = 0;

  constructor({ k1 = K1, b = B, splitNames: isSplit = false, toWords: ownWords }: TextIndexOptions = {}) {
    this.#k1 = k1;
    this.#b = b;
    this.#split = isSplit ? splitNames : (text) => text;
    this.#ownWords = ownWords;
  }

  set(id: string, text: string): void {
    this.delete(id);
    const words = this.#ownWords?.(text) ?? toWords(this.#split(text));
    if (words.length === 0) return;
    const counts = new Map<string, number>();
    for (const word of words) {
      const key = this.#stemOf(word);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const number = this.#entries.length;
    const entry: Entry = { id, length: words.length, postings: [] };
    for (const [key, times] of counts) {
      let posting = this.#postings.get(key);
      if (!posting) this.#postings.set(key, (posting = { stem: key, numbers: [], times: [], alive: 0 }));
      posting.numbers.push(number);
      posting.times.push(times);
      posting.alive++;
      entry.postings.push(posting);
    }
    this.#entries.push(entry);
    this.#numbers.set(id, number);
    this.#totalLength += words.length;
  }

  delete(id: string): void {
    const number = this.#numbers.get(id);
    if (number === undefined) return;
    const { length, postings } = this.#entries[number]!;
    this.#entries[number] = undefined;
    this.#numbers.delete(id);
    this.#totalLength -= length;
    for (const posting of postings) {
      if (--posting.alive === 0) this.#postings.delete(posting.stem);
      else if (posting.numbers.length > 2 * posting.alive) this.#compact(posting);
    }
  }

  /** The score, above 0 and up to 1, of every entry that contains one of the words. */
  score(queryText: string): [id: string, score: number][] {
    const [k1, b] = [this.#k1, this.#b];
    const count = this.#numbers.size;
    const meanLength = this.#totalLength / count;
    const question = this.#ownWords
      ? countWords(this.#ownWords(queryText))
      : toQuestion(this.#split(queryText));
    const found = new Map([...question.keys()].map((word) => [word, this.#postings.get(this.#stemOf(word))]));
    const frequencies = new Map([...found].map(([word, posting]) => [word, posting?.alive ?? 0]));
    const sums = new Float64Array(this.#entries.length);
    for (const [word, weight] of weighWords(question, count, frequencies, k1)) {
      const { numbers, times } = found.get(word)!;
      for (let at = 0; at < numbers.length; at++) {
        const entry = this.#entries[numbers[at]!];
        if (!entry) continue;
        const part = (times[at]! * (k1 + 1)) / (times[at]! + k1 * (1 - b + (b * entry.length) / meanLength));
        sums[numbers[at]!]! += weight * part;
      }
    }
    const scores: [string, number][] = [];
    for (let number = 0; number < sums.length; number++)
      if (sums[number]! > 0) scores.push([this.#entries[number]!.id, sums[number]!]);
    return scores;
  }

  #compact(posting: Posting): void {
    const alive = posting.numbers.map((number) => this.#entries[number] !== undefined);
    posting.times = posting.times.filter((_, at) => alive[at]);
    posting.numbers = posting.numbers.filter((_, at) => alive[at]);
  }

  #stemOf(word: string): string {
    if (this.#ownWords) return word;
    let found = this.#stems.get(word);
    if (found === undefined) {
      if (this.#stems.size >= MAX_STEMS) this.#stems.clear();
      this.#stems.set(word, (found = stem(word)));
    }
    return found;
  }
}
