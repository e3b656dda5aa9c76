import { globSync, readFileSync } from "node:fs";
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

/** A value for each question. */
export interface Quality {
  recall5: number[];
  ndcg10: number[];
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
export function nameSet(name: string, { passages }: QualitySet): QualitySet {
  const places = new Map<string, Set<number>>();
  for (const [index, passage] of passages.entries()) {
    for (const [, code] of passage.matchAll(/`([a-zA-Z][\w-]{4,})`/g)) {
      if (!places.has(code!)) places.set(code!, new Set());
      places.get(code!)!.add(index);
    }
  }
  const holds = (code: string): number[] =>
    [...passages.keys()].filter((index) => passages[index]!.includes(code));
  const questions = [...places.keys()]
    .filter((code) => holds(code).length === 1)
    .map((code) => ({ text: `What is ${code}?`, relevant: holds(code) }));
  return { name, passages, questions };
}

export interface Page {
  name: string;
  text: string;
}

/** Documentation: each heading asks for the passages below it. */
export async function headingSet(name: string, pages: readonly Page[]): Promise<QualitySet> {
  const passages: string[] = [];
  const questions: QualitySet["questions"] = [];
  for (const page of pages) {
    for (const { heading, body } of sections(page.text)) {
      if (body.length < 200) continue;
      const chunks = await MDocument.fromMarkdown(body).chunk({
        strategy: "recursive",
        size: 500,
        overlap: 50,
      });
      const relevant = chunks.map(({ text }) => passages.push(text) - 1);
      if (heading.split(" ").length >= 2) questions.push({ text: `${page.name}: ${heading}`, relevant });
    }
  }
  return { name, passages, questions };
}

/** The pages in a folder that belong to the project. */
export function docPages(folder: URL): Page[] {
  return globSync("*.md", { cwd: folder })
    .toSorted()
    .map((file) => ({ name: file.replace(".md", ""), text: readFileSync(new URL(file, folder), "utf8") }));
}

/** Packages that are installed for other reasons and whose readme is long: text that nobody wrote for this bench. */
const READMES = ["@modelcontextprotocol/sdk", "fast-check", "jose", "openai", "undici", "usearch", "ws"];

/** The readmes of installed packages, read where they are. */
export function readmePages(modules: URL): Page[] {
  return READMES.map((name) => ({ name, text: readFileSync(new URL(`${name}/README.md`, modules), "utf8") }));
}

/** What is below each heading, up to the next one. A line in a code block is no heading. */
function sections(text: string): { heading: string; body: string }[] {
  const found: { heading: string; lines: string[] }[] = [];
  let inCode = false;
  for (const line of text.split("\n")) {
    if (/^ {0,3}(?:```|~~~)/.test(line)) inCode = !inCode;
    const heading = inCode ? undefined : /^#{1,4} +(.*)/.exec(line)?.[1];
    if (heading !== undefined) found.push({ heading: heading.trim(), lines: [] });
    else found.at(-1)?.lines.push(line);
  }
  return found.map(({ heading, lines }) => ({ heading, body: lines.join("\n").trim() }));
}

/** Embeds each text once, however many sets it is in. */
export function remembering(embedder: Embedder): Embedder {
  const known = new Map<string, number[]>();
  return {
    ...embedder,
    async embed(texts) {
      const fresh = [...new Set(texts.filter((text) => !known.has(text)))];
      const vectors = await embedder.embed(fresh);
      for (const [index, text] of fresh.entries()) known.set(text, vectors[index]!);
      return texts.map((text) => known.get(text)!);
    },
  };
}

/** The same questions among more passages, which answer none of them. */
export function among(set: QualitySet, name: string, others: readonly string[]): QualitySet {
  return {
    name: `${set.name} among ${name}`,
    passages: [...set.passages, ...others],
    questions: set.questions,
  };
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
  const quality = noQuality();
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
      quality[method].recall5.push(ranks.slice(0, 5).filter(Boolean).length / Math.min(5, relevant.length));
      quality[method].ndcg10.push(gain(ranks) / gain(relevant.slice(0, TOP).map(() => true)));
    }
  }
  await vector.close?.();
  return quality;
}

export function noQuality(): Record<Method, Quality> {
  return Object.fromEntries(
    METHODS.map((method) => [method, { recall5: [], ndcg10: [] }]),
  ) as unknown as Record<Method, Quality>;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** How far the mean of differences is below 0 by more than chance: beyond two standard errors. 0 where it is not. */
export function shortfall(differences: readonly number[]): number {
  const middle = mean(differences);
  const variance = mean(differences.map((value) => (value - middle) ** 2));
  return Math.max(0, -middle - 2 * Math.sqrt(variance / differences.length));
}

function gain(hits: readonly boolean[]): number {
  return hits.reduce((sum, hit, index) => sum + (hit ? 1 / Math.log2(index + 2) : 0), 0);
}
