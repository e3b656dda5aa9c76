import type { TextSpan } from "./safe-pattern.ts";

/** This many consecutive words shared by both texts are no coincidence. */
const RUN_LENGTH = 8;
const LEAST_WORDS = 5;
const WORD = /[\p{L}\p{N}]+/gu;

/** Finds long runs of words from some texts in another text. The cost depends only on the text searched. */
export class CommonRuns {
  readonly #runs: Map<number, Set<string>> = new Map();

  constructor(texts: readonly string[]) {
    for (const text of texts) {
      const words = wordsOf(text);
      if (words.length < LEAST_WORDS) continue;
      const length = Math.min(RUN_LENGTH, words.length);
      const runs = this.#runs.get(length) ?? new Set();
      this.#runs.set(length, runs);
      for (let at = 0; at + length <= words.length; at++) runs.add(runAt(words, at, length));
    }
  }

  find(text: string, from: number): TextSpan[] {
    if (this.#runs.size === 0) return [];
    const words = wordsOf(text.slice(from));
    const spans: TextSpan[] = [];
    for (const [length, runs] of this.#runs) {
      for (let at = 0; at + length <= words.length; at++) {
        if (!runs.has(runAt(words, at, length))) continue;
        const span = { start: from + words[at]!.start, end: from + words[at + length - 1]!.end };
        const last = spans.at(-1);
        if (last && span.start <= last.end) last.end = Math.max(last.end, span.end);
        else spans.push(span);
      }
    }
    return spans;
  }
}

interface Word extends TextSpan {
  word: string;
}

function wordsOf(text: string): Word[] {
  return Array.from(text.matchAll(WORD), ({ 0: word, index }) => ({
    word: word.toLowerCase(),
    start: index,
    end: index + word.length,
  }));
}

function runAt(words: readonly Word[], at: number, length: number): string {
  return words
    .slice(at, at + length)
    .map(({ word }) => word)
    .join(" ");
}
