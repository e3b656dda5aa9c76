import { readdirSync, readFileSync } from "node:fs";
import type { Embedder, Vector } from "@selvedge/core/vector";
import { LibSQLVector } from "@selvedge/libsql";
import { GraphRAG, hybridSearch, MDocument } from "@selvedge/rag";
import { PARAPHRASES } from "../../bench/rag/paraphrases.ts";

/** Passages, and questions with the numbers of the passages that answer them. */
export interface QualitySet {
  name: string;
  passages: string[];
  questions: { text: string; relevant: number[] }[];
}

export type Method = "bm25" | "dense" | "hybrid" | "graph";
export const METHODS: readonly Method[] = ["bm25", "dense", "hybrid", "graph"];

export interface Quality {
  recall5: number;
  ndcg10: number;
}

const TOP = 10;

/** Questions in other words than their answers, among passages about the same things. */
export function paraphraseSet(): QualitySet {
  const passages = PARAPHRASES.flatMap(({ answer, near }) => [answer, near]);
  const questions = PARAPHRASES.map(({ question }, index) => ({ text: question, relevant: [2 * index] }));
  return { name: "paraphrases", passages, questions };
}

/** The same, among passages that share words with the questions and mean something else: words can only mislead. */
export function misleadingSet(): QualitySet {
  const passages = PARAPHRASES.flatMap(({ answer, distractors }) => [answer, ...distractors]);
  const questions = PARAPHRASES.map(({ question }, index) => ({ text: question, relevant: [3 * index] }));
  return { name: "misleading words", passages, questions };
}

/** Names in code that stand in one passage only: meaning hardly helps. */
export function nameSet({ passages }: QualitySet): QualitySet {
  const places = new Map<string, Set<number>>();
  for (const [index, passage] of passages.entries()) {
    for (const [, name] of passage.matchAll(/`([a-zA-Z][\w-]{4,})`/g)) {
      if (!places.has(name!)) places.set(name!, new Set());
      places.get(name!)!.add(index);
    }
  }
  const holds = (name: string): number[] =>
    [...passages.keys()].filter((index) => passages[index]!.includes(name));
  const questions = [...places.keys()]
    .filter((name) => holds(name).length === 1)
    .map((name) => ({ text: `What is ${name}?`, relevant: holds(name) }));
  return { name: "names in the docs", passages, questions };
}

/** The documentation of the project: each heading asks for the passages below it. */
export async function headingSet(folder: URL): Promise<QualitySet> {
  const passages: string[] = [];
  const questions: QualitySet["questions"] = [];
  for (const name of readdirSync(folder)
    .filter((file) => file.endsWith(".md"))
    .toSorted()) {
    const sections = readFileSync(new URL(name, folder), "utf8")
      .split(/^#{1,4} +/m)
      .slice(1);
    for (const section of sections) {
      const end = section.indexOf("\n");
      const [heading, body] = [section.slice(0, end).trim(), section.slice(end).trim()];
      if (body.length < 200) continue;
      const chunks = await MDocument.fromMarkdown(body).chunk({
        strategy: "recursive",
        size: 500,
        overlap: 50,
      });
      const relevant = chunks.map(({ text }) => passages.push(text) - 1);
      if (heading.split(" ").length >= 2) {
        questions.push({ text: `${name.replace(".md", "")}: ${heading}`, relevant });
      }
    }
  }
  return { name: "headings of the docs", passages, questions };
}

/** Runs every method over a set, on a store with full-text search. */
export async function measureQuality(
  set: QualitySet,
  embedder: Embedder,
  createVector: () => Vector = () => new LibSQLVector({ url: ":memory:" }),
): Promise<Record<Method, Quality>> {
  const vector = createVector();
  const indexName = "bench";
  const vectors = await embedder.embed(set.passages);
  const ids = set.passages.map((_, index) => String(index));
  await vector.createIndex({ indexName, dimension: vectors[0]!.length });
  await vector.upsert({ indexName, vectors, ids, documents: set.passages });
  const graph = new GraphRAG();
  graph.createGraph(
    set.passages.map((text, index) => ({ id: String(index), text })),
    vectors.map((item) => ({ vector: item })),
  );
  const queries = await embedder.embed(set.questions.map(({ text }) => text));
  const sums = Object.fromEntries(METHODS.map((method) => [method, { recall5: 0, ndcg10: 0 }])) as Record<
    Method,
    Quality
  >;
  for (const [index, { text, relevant }] of set.questions.entries()) {
    const queryVector = queries[index]!;
    const found: Record<Method, { id: string }[]> = {
      bm25: await vector.queryText!({ indexName, queryText: text, topK: TOP }),
      dense: await vector.query({ indexName, queryVector, topK: TOP }),
      hybrid: await hybridSearch({ vectorStore: vector, indexName, queryText: text, queryVector, topK: TOP }),
      graph: graph.query({ query: queryVector, topK: TOP }),
    };
    for (const method of METHODS) {
      const ranks = found[method].map(({ id }) => relevant.includes(Number(id)));
      sums[method].recall5 += ranks.slice(0, 5).filter(Boolean).length / Math.min(5, relevant.length);
      sums[method].ndcg10 += gain(ranks) / gain(relevant.slice(0, TOP).map(() => true));
    }
  }
  await vector.close?.();
  const count = set.questions.length;
  for (const method of METHODS) {
    sums[method] = { recall5: sums[method].recall5 / count, ndcg10: sums[method].ndcg10 / count };
  }
  return sums;
}

function gain(hits: readonly boolean[]): number {
  return hits.reduce((sum, hit, index) => sum + (hit ? 1 / Math.log2(index + 2) : 0), 0);
}
