import { type Embedder, InMemoryVector, type Vector } from "@selvedge/core/vector";

/** Word-count vectors over a small vocabulary: texts that share words are near. */
export const wordEmbedder: Embedder = {
  id: "words",
  embed: async (texts) =>
    texts.map((text) => VOCABULARY.map((word) => text.toLowerCase().split(word).length - 1)),
};

const VOCABULARY = ["loom", "warp", "weft", "bread", "salt", "yeast"];

const TEXTS: Record<string, [text: string, topic: string, version: number]> = {
  a: ["The loom holds the warp.", "weaving", 1],
  b: ["The weft crosses the warp.", "weaving", 2],
  c: ["Bread needs salt.", "baking", 1],
  d: ["Bread needs yeast and salt.", "baking", 2],
  e: ["Loom, warp and weft make cloth.", "weaving", 3],
};

/** Five passages about weaving and baking in the index `docs`. */
export async function library(): Promise<Vector> {
  const vector = new InMemoryVector({ id: "library" });
  const ids = Object.keys(TEXTS);
  const texts = Object.values(TEXTS).map(([text]) => text);
  await vector.createIndex({ indexName: "docs", dimension: VOCABULARY.length });
  await vector.upsert({
    indexName: "docs",
    ids,
    vectors: await wordEmbedder.embed(texts),
    metadata: Object.values(TEXTS).map(([text, topic, version]) => ({ text, topic, version })),
  });
  return vector;
}
