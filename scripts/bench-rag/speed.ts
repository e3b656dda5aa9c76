import { InMemoryVector, type Vector } from "@selvedge/core/vector";
import { GraphRAG, MDocument } from "@selvedge/rag";

/** Numbers that are the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647 - 0.5;
}

/** Unit vectors around centres, as embeddings of documents about some topics are. */
export function clustered(count: number, dimension: number, seed: number): number[][] {
  const random = seeded(seed);
  const centres = Array.from({ length: Math.ceil(count / 100) }, () =>
    Array.from({ length: dimension }, random),
  );
  return Array.from({ length: count }, (_, index) => {
    const vector = centres[index % centres.length]!.map((value) => value + 0.8 * random());
    const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
    return vector.map((value) => value / length);
  });
}

/** The median of `count` calls, in milliseconds. */
async function p50(
  count: number,
  call: (round: number) => Promise<unknown> | unknown,
): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < count; round++) {
    const start = performance.now();
    await call(round);
    times.push(performance.now() - start);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(count / 2)]!;
}

/** MB/s of the recursive chunker over text made of the given one. */
export async function chunkerSpeed(text: string, megabytes: number): Promise<number> {
  const long = text.repeat(Math.ceil((megabytes * 1e6) / text.length)).slice(0, megabytes * 1e6);
  await MDocument.fromText(long.slice(0, 1e6)).chunk({ strategy: "recursive", size: 512, overlap: 50 });
  const start = performance.now();
  await MDocument.fromText(long).chunk({ strategy: "recursive", size: 512, overlap: 50 });
  return megabytes / ((performance.now() - start) / 1_000);
}

export async function graphSpeed(nodes: number): Promise<{ build: number; answer: number }> {
  const vectors = clustered(nodes, 384, 11);
  const graph = new GraphRAG();
  const start = performance.now();
  graph.createGraph(
    vectors.map((_, index) => ({ id: String(index), text: "" })),
    vectors.map((vector) => ({ vector })),
  );
  const build = performance.now() - start;
  const answer = await p50(30, (round) => graph.query({ query: vectors[round * 13]!, topK: 10 }));
  return { build, answer };
}

export interface StoreSpeed {
  build: number;
  query: number;
  recall: number;
}

/** Fills a store, asks it, and compares with an exact search. */
export async function storeSpeed(
  vector: Vector,
  vectors: number[][],
  options: { finish?: () => Promise<void>; queries?: number } = {},
): Promise<StoreSpeed> {
  const indexName = "bench";
  const queries = clustered(vectors.length, vectors[0]!.length, 5).slice(0, options.queries ?? 50);
  const start = performance.now();
  if (!(await vector.listIndexes()).includes(indexName)) {
    await vector.createIndex({ indexName, dimension: vectors[0]!.length });
  }
  for (let from = 0; from < vectors.length; from += 1_000) {
    const batch = vectors.slice(from, from + 1_000);
    await vector.upsert({ indexName, vectors: batch, ids: batch.map((_, index) => `v${from + index}`) });
  }
  await options.finish?.();
  const build = performance.now() - start;
  const found: string[][] = [];
  const query = await p50(queries.length, async (round) => {
    const results = await vector.query({ indexName, queryVector: queries[round]!, topK: 10 });
    found.push(results.map(({ id }) => id));
  });
  const exact = new InMemoryVector();
  await exact.createIndex({ indexName, dimension: vectors[0]!.length });
  await exact.upsert({ indexName, vectors, ids: vectors.map((_, index) => `v${index}`) });
  let hits = 0;
  for (const [round, queryVector] of queries.entries()) {
    const results = await exact.query({ indexName, queryVector, topK: 10 });
    hits += results.filter(({ id }) => found[round]!.includes(id)).length;
  }
  return { build, query, recall: hits / (10 * queries.length) };
}
