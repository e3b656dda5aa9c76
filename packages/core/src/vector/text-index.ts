import { B, K1, toQuestion, weighWords } from "./question.ts";
import { stem } from "./stem.ts";
import { toWords } from "./to-words.ts";

const MAX_STEMS = 100_000;

/** Okapi BM25 over a changing set of texts. It stores only ids and stems; the owner keeps the texts. */
export class TextIndex {
  /** For each stem, the entries that contain it and how often. */
  readonly #postings = new Map<string, Map<string, number>>();
  readonly #words = new Map<string, string[]>();
  /** A cache of stems, since texts repeat words. */
  readonly #stems = new Map<string, string>();
  #totalLength = 0;

  set(id: string, text: string): void {
    this.delete(id);
    const words = toWords(text).map((word) => this.#stemOf(word));
    if (words.length === 0) return;
    this.#words.set(id, words);
    this.#totalLength += words.length;
    for (const word of words) {
      let posting = this.#postings.get(word);
      if (!posting) this.#postings.set(word, (posting = new Map()));
      posting.set(id, (posting.get(id) ?? 0) + 1);
    }
  }

  delete(id: string): void {
    const words = this.#words.get(id);
    if (!words) return;
    this.#words.delete(id);
    this.#totalLength -= words.length;
    for (const word of new Set(words)) {
      const posting = this.#postings.get(word)!;
      posting.delete(id);
      if (posting.size === 0) this.#postings.delete(word);
    }
  }

  /** The score, above 0 and up to 1, of every entry that contains one of the words. */
  score(queryText: string): Map<string, number> {
    const scores = new Map<string, number>();
    const count = this.#words.size;
    const meanLength = this.#totalLength / count;
    const question = toQuestion(queryText);
    const found = new Map([...question.keys()].map((word) => [word, this.#postings.get(stem(word))]));
    const frequencies = new Map([...found].map(([word, posting]) => [word, posting?.size ?? 0]));
    for (const [word, weight] of weighWords(question, count, frequencies)) {
      for (const [id, times] of found.get(word)!) {
        const length = this.#words.get(id)!.length / meanLength;
        const part = (times * (K1 + 1)) / (times + K1 * (1 - B + B * length));
        scores.set(id, (scores.get(id) ?? 0) + weight * part);
      }
    }
    return scores;
  }

  #stemOf(word: string): string {
    let found = this.#stems.get(word);
    if (found === undefined) {
      if (this.#stems.size >= MAX_STEMS) this.#stems.clear();
      this.#stems.set(word, (found = stem(word)));
    }
    return found;
  }
}
