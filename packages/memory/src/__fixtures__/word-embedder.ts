import type { Embedder } from "@selvedge/core/vector";

export interface WordEmbedder extends Embedder {
  /** The texts of every call so far. */
  readonly calls: string[][];
}

/** Texts that share words are near each other. The same text gives the same vector everywhere. */
export function wordEmbedder(dimension = 256): WordEmbedder {
  const calls: string[][] = [];
  return {
    id: "words",
    dimension,
    calls,
    async embed(texts) {
      calls.push(texts);
      return texts.map((text) => embedWords(text, dimension));
    },
  };
}

function embedWords(text: string, dimension: number): number[] {
  const vector = Array.from({ length: dimension }, () => 0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["?"]) {
    let hash = 2166136261;
    for (const letter of word) hash = Math.imul(hash ^ letter.codePointAt(0)!, 16777619) >>> 0;
    vector[hash % dimension]! += 1;
  }
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}
