// Measures retrieval: how well it finds (against bars that fail the run) and how fast. Everything is made here or is ours,
// except judged collections, which are read where they are present.
//   npm run bench:rag                 all
//   npm run bench:rag -- --quality    only how well
//   npm run bench:rag -- --vectors 5000
//   npm run bench:rag -- --collections <folder of name-docs.jsonl and name-queries.jsonl>
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Embedder, InMemoryVector } from "@selvedge/core/vector";
import { localEmbedder } from "@selvedge/embed-local";
import { LibSQLVector } from "@selvedge/libsql";
import { PgVector } from "@selvedge/pg";
import { judgedCollections } from "./bench-rag/collection.ts";
import {
  among,
  docPages,
  headingSet,
  mean,
  measureQuality,
  METHODS,
  misleadingSet,
  nameSet,
  noQuality,
  paraphraseSet,
  readmePages,
  remembering,
  shortfall,
  type Method,
  type Quality,
  type QualitySet,
} from "./bench-rag/quality.ts";
import { chunkerSpeed, clustered, graphSpeed, storeSpeed, type StoreSpeed } from "./bench-rag/speed.ts";

const { values } = parseArgs({
  options: {
    quality: { type: "boolean" },
    vectors: { type: "string", default: "20000" },
    collections: { type: "string" },
  },
});
const docs = new URL("../docs/", import.meta.url);
const modules = new URL("../node_modules/", import.meta.url);
const failures: string[] = [];

console.log(`node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? "?"}\n`);
await quality();
if (!values.quality) {
  await speed();
  await stores(Number(values.vectors));
}
for (const failure of failures) console.error(`below the bar: ${failure}`);
process.exitCode = failures.length > 0 ? 1 : 0;

async function quality(): Promise<void> {
  const embedder = remembering(localEmbedder());
  const headings = await headingSet("headings of the docs", docPages(docs));
  const others = await headingSet("headings of readmes", readmePages(modules));
  console.log(`recall@5 and nDCG@10, embedder ${embedder.id}, full text of libSQL`);
  const all = noQuality();
  for (const set of [
    headings,
    nameSet("names in the docs", headings),
    others,
    nameSet("names in readmes", others),
  ]) {
    const result = await measure(set, embedder);
    judge(set.name, result, "better");
    for (const method of METHODS) {
      all[method].recall5.push(...result[method].recall5);
      all[method].ndcg10.push(...result[method].ndcg10);
    }
  }
  show(`all of these: ${all.hybrid.ndcg10.length} questions`, all);
  judge("all", all, "better");
  console.log(
    "\nQuestions in other words than their answers: hybrid is held to the middle of words and vectors.",
  );
  for (const set of [paraphraseSet(), misleadingSet(), among(paraphraseSet(), "readmes", others.passages)]) {
    judge(set.name, await measure(set, embedder), "middle");
  }
  await collections(embedder);
  console.log();
}

/** Collections that others judged. They are not part of the project. */
async function collections(embedder: Embedder): Promise<void> {
  const folder = values.collections ?? fileURLToPath(new URL("../../shared/retrieval", import.meta.url));
  if (!existsSync(folder)) {
    console.log(
      "\nJudged collections are skipped: there are none at ../shared/retrieval (or --collections).",
    );
    return;
  }
  for (const { choosing, testing } of judgedCollections(folder)) {
    await measure(choosing, embedder);
    judge(testing.name, await measure(testing, embedder), "better");
  }
}

async function measure(set: QualitySet, embedder: Embedder): Promise<Record<Method, Quality>> {
  const result = await measureQuality(set, embedder);
  show(`${set.name}: ${set.questions.length} questions, ${set.passages.length} passages`, result);
  return result;
}

function show(title: string, result: Record<Method, Quality>): void {
  console.log(`\n  ${title}`);
  for (const method of METHODS) {
    const { recall5, ndcg10 } = result[method];
    console.log(
      `    ${method.padEnd(8)} recall@5 ${mean(recall5).toFixed(3)}   nDCG@10 ${mean(ndcg10).toFixed(3)}`,
    );
  }
}

/**
 * Hybrid against the better of words and vectors, or against their middle; graph against vectors. Question by question, so
 * that chance is known: pages and readmes change, and a set of thirty questions moves by a hit.
 */
function judge(name: string, result: Record<Method, Quality>, bar: "better" | "middle"): void {
  const { bm25, dense, hybrid, graph } = result;
  const check = (method: string, found: number[], wanted: number[]): void => {
    const missing = shortfall(found.map((value, index) => value - wanted[index]!));
    if (missing === 0) return;
    failures.push(
      `${method} on ${name}, nDCG@10 ${mean(found).toFixed(3)} against ${mean(wanted).toFixed(3)}, ` +
        `${missing.toFixed(3)} more than chance`,
    );
  };
  const better = mean(bm25.ndcg10) > mean(dense.ndcg10) ? bm25 : dense;
  const middle = bm25.ndcg10.map((value, index) => (value + dense.ndcg10[index]!) / 2);
  check("hybrid", hybrid.ndcg10, bar === "better" ? better.ndcg10 : middle);
  check("graph", graph.ndcg10, dense.ndcg10);
}

async function speed(): Promise<void> {
  const text = globSync("*.md", { cwd: docs })
    .toSorted()
    .map((name) => readFileSync(new URL(name, docs), "utf8"))
    .join("\n");
  console.log(`recursive chunker, 10 MB: ${(await chunkerSpeed(text, 10)).toFixed(0)} MB/s`);
  const { build, answer } = await graphSpeed(5_000);
  console.log(
    `graph of 5,000 nodes: built in ${build.toFixed(0)} ms, answers in ${answer.toFixed(2)} ms (p50)\n`,
  );
}

async function stores(count: number): Promise<void> {
  const vectors = clustered(count, 384, 5);
  console.log(`stores, ${count} vectors of 384 numbers, the nearest 10 of 50 queries`);
  const show = (name: string, { build, query, recall }: StoreSpeed): void =>
    console.log(
      `  ${name.padEnd(24)} build ${(build / 1_000).toFixed(1).padStart(6)} s   query p50 ${query.toFixed(2).padStart(7)} ms   recall@10 ${recall.toFixed(3)}`,
    );
  const memory = new InMemoryVector();
  show("in memory", await storeSpeed(memory, vectors));
  await memory.close();
  const folder = await mkdtemp(join(tmpdir(), "selvedge-bench-"));
  try {
    const exact = new LibSQLVector({ url: `file:${join(folder, "exact.db")}`, approximateFrom: false });
    show("libSQL, exact", await storeSpeed(exact, vectors));
    await exact.close();
    const near = new LibSQLVector({ url: `file:${join(folder, "hnsw.db")}`, approximateFrom: 1_000 });
    show(
      "libSQL, HNSW cache",
      await storeSpeed(near, vectors, { finish: () => near.buildIndex({ indexName: "bench" }) }),
    );
    await near.close();
    await postgres(vectors, show);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function postgres(vectors: number[][], show: (name: string, speed: StoreSpeed) => void): Promise<void> {
  const { findPostgres, startPostgres } = await import("../packages/pg/src/__fixtures__/postgres-server.ts");
  const found = findPostgres();
  if ("missing" in found) return console.log(`  PgVector: skipped, ${found.missing}`);
  const server = await startPostgres(found.bin);
  try {
    for (const type of ["flat", "hnsw", "ivfflat"] as const) {
      const vector = new PgVector({ connectionString: server.connectionString, schemaName: `bench_${type}` });
      await vector.createIndex({ indexName: "bench", dimension: vectors[0]!.length, buildIndex: false });
      const finish = (): Promise<void> => vector.buildIndex({ indexName: "bench", indexConfig: { type } });
      show(`PgVector, ${type}`, await storeSpeed(vector, vectors, { finish }));
      await vector.close();
    }
  } finally {
    await server.stop();
  }
}
