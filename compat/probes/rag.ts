import { MDocument } from "@mastra/rag";
import { LibSQLVector } from "@mastra/libsql";
import { onPurpose, outcome, type Probes } from "../probe.ts";

const TEXT =
  "# Title\n\nFirst paragraph has a few words.\n\nSecond paragraph has other words.\n\n## Part\n\nThird paragraph ends here.";

async function store() {
  const vector = new LibSQLVector({ id: "v", url: ":memory:" });
  await vector.createIndex({ indexName: "docs", dimension: 3, metric: "cosine" });
  await vector.upsert({
    indexName: "docs",
    ids: ["a", "b", "c"],
    vectors: [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ],
    metadata: [
      { kind: "x", n: 1, tags: ["p", "q"] },
      { kind: "y", n: 2, tags: ["q"] },
      { kind: "x", n: 3, tags: [] },
    ],
  });
  return vector;
}

async function idsOf(filter: any) {
  const vector = await store();
  const results = await vector.query({ indexName: "docs", queryVector: [1, 0.5, 0.25], topK: 10, filter });
  return results.map((one: any) => one.id);
}

export const probes: Probes = {
  "chunk recursive": async () => {
    const chunks = await MDocument.fromText(TEXT).chunk({ strategy: "recursive", maxSize: 60, overlap: 0 });
    return chunks.map((chunk: any) => chunk.text);
  },
  "chunk character": onPurpose("Pieces that fit into one chunk stay together.", async () => {
    const chunks = await MDocument.fromText(TEXT).chunk({
      strategy: "character",
      separator: "\n\n",
      maxSize: 60,
      overlap: 0,
    } as any);
    return chunks.map((chunk: any) => chunk.text);
  }),
  "chunk markdown by headers": onPurpose(
    "Headings stay in the text unless stripHeaders is set, because they help to find it; line breaks are kept.",
    async () => {
      const chunks = await MDocument.fromMarkdown(TEXT).chunk({
        strategy: "markdown",
        headers: [
          ["#", "title"],
          ["##", "part"],
        ],
      } as any);
      return chunks.map((chunk: any) => [chunk.text, chunk.metadata]);
    },
  ),
  "chunk sentence": async () => {
    const chunks = await MDocument.fromText("One is here. Two is here. Three is here.").chunk({
      strategy: "sentence",
      maxSize: 30,
      overlap: 0,
    } as any);
    return chunks.map((chunk: any) => chunk.text);
  },
  "chunk json": async () => {
    const chunks = await MDocument.fromJSON(JSON.stringify({ a: { b: "one", c: "two" }, d: "three" })).chunk({
      strategy: "json",
      maxSize: 40,
    } as any);
    return chunks.length > 0;
  },
  "getText and getMetadata": async () => {
    const doc = MDocument.fromText("Hello", { source: "x" });
    return { text: doc.getText(), metadata: doc.getMetadata() };
  },
  "query by likeness": () => idsOf(undefined),
  "filter by value": () => idsOf({ kind: "x" }),
  "filter with $gt": () => idsOf({ n: { $gt: 1 } }),
  "filter with $in": () => idsOf({ n: { $in: [1, 3] } }),
  "filter with $or": () => idsOf({ $or: [{ n: 1 }, { n: 2 }] }),
  "filter with $not": () => idsOf({ $not: { kind: "x" } }),
  "filter with $all": () => outcome(() => idsOf({ tags: { $all: ["p", "q"] } })),
  "filter with $exists": () => idsOf({ kind: { $exists: true } }),
  describeIndex: async () => {
    const { dimension, count, metric } = await (await store()).describeIndex({ indexName: "docs" });
    return { dimension, count, metric };
  },
  listIndexes: async () => (await store()).listIndexes(),
  "updateVector by id": async () => {
    const vector = await store();
    await vector.updateVector({ indexName: "docs", id: "a", update: { metadata: { kind: "z" } } });
    const results = await vector.query({ indexName: "docs", queryVector: [1, 0, 0], topK: 1 });
    return results[0]!.metadata;
  },
  "updateVector by filter": async () => {
    const vector = await store();
    await vector.updateVector({
      indexName: "docs",
      filter: { kind: "y" },
      update: { metadata: { kind: "z" } },
    } as any);
    const results = await vector.query({ indexName: "docs", queryVector: [0, 1, 0], topK: 1 });
    return results[0]!.metadata;
  },
  deleteVector: async () => {
    const vector = await store();
    await vector.deleteVector({ indexName: "docs", id: "a" });
    return (await vector.describeIndex({ indexName: "docs" })).count;
  },
  "truncateIndex and deleteIndex": async () => {
    const vector = await store();
    await vector.truncateIndex({ indexName: "docs" });
    const { count } = await vector.describeIndex({ indexName: "docs" });
    await vector.deleteIndex({ indexName: "docs" });
    return { count, left: await vector.listIndexes() };
  },
};
