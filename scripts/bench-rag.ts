// Measures retrieval: how well it finds (against bars that fail the run) and how fast. Everything is made here or is ours.
//   npm run bench:rag                 all
//   npm run bench:rag -- --quality    only how well
//   npm run bench:rag -- --vectors 5000
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Embedder, InMemoryVector } from "@selvedge/core/vector";
import { localEmbedder } from "@selvedge/embed-local";
import { LibSQLVector } from "@selvedge/libsql";
import { PgVector } from "@selvedge/pg";
import {
  among,
  docPages,
  headingSet,
  measureQuality,
  METHODS,
  misleadingSet,
  nameSet,
  paraphraseSet,
  readmePages,
  remembering,
  type Method,
  type Quality,
  type QualitySet,
} from "./bench-rag/quality.ts";
import { chunkerSpeed, clustered, graphSpeed, storeSpeed, type StoreSpeed } from "./bench-rag/speed.ts";

/** How far hybrid may fall below the better of words and vectors, and graph below vectors. */
const HYBRID_BAR = 0.005;
const GRAPH_BAR = 0.01;
const ALL = "all";

const { values } = parseArgs({
  options: { quality: { type: "boolean" }, vectors: { type: "string", default: "20000" } },
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
  const all = Object.fromEntries(METHODS.map((method) => [method, { recall5: 0, ndcg10: 0 }])) as Record<
    Method,
    Quality
  >;
  let asked = 0;
  const judged = [
    paraphraseSet(),
    headings,
    nameSet("names in the docs", headings),
    others,
    nameSet("names in readmes", others),
  ];
  for (const set of judged) {
    const result = await measure(set, embedder);
    judge(set.name, result);
    asked += set.questions.length;
    for (const method of METHODS) {
      all[method].recall5 += result[method].recall5 * set.questions.length;
      all[method].ndcg10 += result[method].ndcg10 * set.questions.length;
    }
  }
  for (const method of METHODS) {
    all[method] = { recall5: all[method].recall5 / asked, ndcg10: all[method].ndcg10 / asked };
  }
  show(`${ALL} of these: ${asked} questions`, all);
  judge(ALL, all);
  console.log("\nNot held to the bar, as every shared word is a trap there:");
  await measure(misleadingSet(), embedder);
  await measure(among(paraphraseSet(), "readmes", others.passages), embedder);
  console.log();
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
    console.log(`    ${method.padEnd(8)} recall@5 ${recall5.toFixed(3)}   nDCG@10 ${ndcg10.toFixed(3)}`);
  }
}

/** nDCG for each set. A recall of five over thirty questions jumps by a hit, so it is held to the bar over all sets. */
function judge(name: string, result: Record<Method, Quality>): void {
  const check = (method: Method, measure: keyof Quality, least: number): void => {
    if (result[method][measure] >= least) return;
    failures.push(
      `${method} on ${name}, ${measure} ${result[method][measure].toFixed(3)} < ${least.toFixed(3)}`,
    );
  };
  const measures: (keyof Quality)[] = name === ALL ? ["recall5", "ndcg10"] : ["ndcg10"];
  for (const measure of measures) {
    check("hybrid", measure, Math.max(result.bm25[measure], result.dense[measure]) - HYBRID_BAR);
    check("graph", measure, result.dense[measure] - GRAPH_BAR);
  }
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
