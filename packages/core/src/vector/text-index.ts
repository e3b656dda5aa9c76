const K1 = 1.2;
const B = 0.75;

const UNSPACED = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}`;
/** Runs of letters and digits; scripts written without spaces count sign by sign. */
const WORD = new RegExp(String.raw`[${UNSPACED}]|[[\p{L}\p{N}]--[${UNSPACED}]]+`, "gv");

/** The words of a text as they are compared: lower case, without accents. */
export function toWords(text: string): string[] {
  const plain = text
    .normalize("NFKD")
    .replaceAll(/\p{M}+/gu, "")
    .toLowerCase();
  return plain.match(WORD) ?? [];
}

/** Okapi BM25 over texts that come and go. It knows ids and words only; texts stay with their owner. */
export class TextIndex {
  /** For each word, the entries that hold it and how often. */
  readonly #postings = new Map<string, Map<string, number>>();
  readonly #words = new Map<string, string[]>();
  #totalLength = 0;

  set(id: string, text: string): void {
    this.delete(id);
    const words = toWords(text);
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

  /** The score, above 0, of every entry that holds one of the words. */
  score(queryText: string): Map<string, number> {
    const scores = new Map<string, number>();
    const count = this.#words.size;
    const meanLength = this.#totalLength / count;
    for (const word of new Set(toWords(queryText))) {
      const posting = this.#postings.get(word);
      if (!posting) continue;
      const rarity = Math.log(1 + (count - posting.size + 0.5) / (posting.size + 0.5));
      for (const [id, times] of posting) {
        const length = this.#words.get(id)!.length / meanLength;
        const weight = (times * (K1 + 1)) / (times + K1 * (1 - B + B * length));
        scores.set(id, (scores.get(id) ?? 0) + rarity * weight);
      }
    }
    return scores;
  }
}
