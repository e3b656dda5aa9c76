import { type ChunkParams, GraphRAG, MDocument } from "@selvedge/rag";

// How fast documents are cut and graphs are built and asked. Best of several rounds: the box may be busy with other things.

const ROUNDS = 5;
const next = sequence(7);

async function best(work: () => unknown): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const begin = performance.now();
    await work();
    least = Math.min(least, performance.now() - begin);
  }
  return least;
}

const text = prose(10_000_000);
console.log(`chunking 10 MB of text, ${text.length.toLocaleString("en")} characters`);
const cases: ChunkParams[] = [
  { strategy: "recursive" },
  { strategy: "recursive", size: 2_000, overlap: 200 },
  { strategy: "character" },
  { strategy: "sentence" },
  { strategy: "markdown" },
  { strategy: "latex" },
];
for (const params of cases) {
  let chunks = 0;
  const ms = await best(async () => (chunks = (await MDocument.fromText(text).chunk(params)).length));
  const speed = (text.length / 1e3 / ms).toFixed(0);
  console.log(
    `  ${JSON.stringify(params).padEnd(58)} ${String(chunks).padStart(6)} chunks ${speed.padStart(5)} MB/s`,
  );
}

for (const dimension of [384, 1536]) {
  const embeddings = clusters(5_000, dimension);
  const chunks = embeddings.map((_, index) => ({ id: String(index), text: String(index) }));
  const graph = new GraphRAG();
  const built = await best(() => graph.createGraph(chunks, embeddings));
  const asked = await best(() => graph.query({ query: embeddings[3]!.vector }));
  console.log(
    `graph of 5,000 passages, ${dimension} dimensions: built in ${built.toFixed(0)} ms, ` +
      `${graph.getEdges().length} edges, answers in ${asked.toFixed(1)} ms`,
  );
}

function prose(length: number): string {
  const words =
    "loom warp weft heddle shuttle reed cloth thread beam treadle selvedge twill and the of under over".split(
      " ",
    );
  const parts: string[] = [];
  for (let total = 0; total < length; total += parts.at(-1)!.length) {
    const sentence = Array.from(
      { length: 5 + Math.floor(next() * 15) },
      () => words[Math.floor(next() * words.length)],
    );
    const end = next() < 0.05 ? ".\n\n" : next() < 0.15 ? ".\n" : ". ";
    parts.push(sentence.join(" ") + end);
  }
  return parts.join("");
}

function clusters(count: number, dimension: number): { vector: number[] }[] {
  const centres = Array.from({ length: 250 }, () => Array.from({ length: dimension }, () => next() - 0.5));
  return Array.from({ length: count }, (_, index) => ({
    vector: centres[index % centres.length]!.map((value) => value + 0.4 * (next() - 0.5)),
  }));
}

function sequence(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
}
