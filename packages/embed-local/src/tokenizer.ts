/** A word piece with its log-likelihood, as in the model's `vocab.json`. */
export type Vocabulary = readonly (readonly [piece: string, score: number])[];

interface Node {
  readonly next: Map<string, Node>;
  /** Of the piece that ends here, if one does. */
  token?: number;
  score: number;
}

/** Tokens 0 to 5 are special; 0 is a character that no piece covers. */
const RESERVED = 6;
const UNKNOWN = 0;
/** Stands for a space. A piece has it only at its start, so no piece spans two words. */
const SPACE = "\u2581";

/**
 * Splits text into the pieces the model was trained on: the most likely split of each word. Takes time linear in the
 * text it reads, and reads no more words than needed for `most` tokens.
 */
export class Tokenizer {
  readonly #root: Node = { next: new Map(), score: 0 };
  readonly #lengths: number[];

  constructor(vocabulary: Vocabulary) {
    this.#lengths = vocabulary.map(([piece]) => piece.length);
    for (let token = RESERVED; token < vocabulary.length; token++) {
      const [piece, score] = vocabulary[token]!;
      let node = this.#root;
      for (const symbol of piece) {
        let child = node.next.get(symbol);
        if (!child) node.next.set(symbol, (child = { next: new Map(), score: 0 }));
        node = child;
      }
      node.token = token;
      node.score = score;
    }
  }

  encode(text: string, most: number): number[] {
    const normal = text.normalize("NFKC");
    if (normal === "") return [];
    const tokens: number[] = [];
    let total = 0;
    for (const word of `${SPACE}${normal.replaceAll(" ", SPACE)}`.split(/(?=\u2581)/)) {
      const split = this.#splitWord(Array.from(word), total);
      total = split.total;
      for (const token of split.tokens) {
        // Consecutive unknown characters count once.
        if (token !== UNKNOWN || tokens.at(-1) !== UNKNOWN) tokens.push(token);
      }
      if (tokens.length >= most) break;
    }
    return tokens.slice(0, most);
  }

  /** Scores continue across words: near ties are decided by rounding, and must be decided the same way. */
  #splitWord(symbols: readonly string[], before: number): { tokens: number[]; total: number } {
    const size = symbols.length;
    // The most likely split of the text before a position: its score and last token. A position where no piece ends
    // keeps 0 and UNKNOWN, as in training.
    const score = new Float64Array(size + 1);
    const last = new Int32Array(size + 1);
    score[0] = before;
    const take = (end: number, value: number, token: number): void => {
      if (score[end] !== 0 && value < score[end]!) return;
      score[end] = value;
      last[end] = token;
    };
    for (let start = 0; start < size; start++) {
      let found = false;
      let node = this.#root.next.get(symbols[start]!);
      for (let end = start + 1; node; end++) {
        if (node.token !== undefined) {
          take(end, node.score + score[start]!, node.token);
          found = true;
        }
        node = end < size ? node.next.get(symbols[end]!) : undefined;
      }
      if (!found) take(start + 1, score[start]!, UNKNOWN);
    }
    const tokens: number[] = [];
    for (let end = size; end > 0; end -= this.#lengths[tokens.at(-1)!]!) tokens.push(last[end]!);
    return { tokens: tokens.reverse(), total: score[size]! };
  }
}
