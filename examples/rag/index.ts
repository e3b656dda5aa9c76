import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@selvedge/core/agent";
import { localEmbedder } from "@selvedge/embed-local";
import { LibSQLVector } from "@selvedge/libsql";
import { createGraphRAGTool, createVectorQueryTool, hybridSearch, MDocument } from "@selvedge/rag";
import { scriptedModel } from "@selvedge/testing";

const folder = await mkdtemp(join(tmpdir(), "selvedge-example-"));
const vectorStore = new LibSQLVector({ url: `file:${join(folder, "docs.db")}` });
const embedder = localEmbedder();

// Split two pages of these docs at their headings.
const pages = ["docs/memory.md", "docs/tools.md"];
const chunks = [];
for (const page of pages) {
  const document = MDocument.fromMarkdown(readFileSync(page, "utf8"), { page });
  chunks.push(...(await document.chunk({ size: 600, overlap: 0, headers: [["##", "section"]] })));
}

const indexName = "docs";
const vectors = await embedder.embed(chunks.map((chunk) => chunk.text));
await vectorStore.createIndex({ indexName, dimension: vectors[0]!.length });
await vectorStore.upsert({
  indexName,
  vectors,
  ids: chunks.map((chunk) => `${String(chunk.metadata.page)}:${chunk.startIndex}`),
  documents: chunks.map((chunk) => chunk.text),
  metadata: chunks.map((chunk) => chunk.metadata),
});
console.log(`${chunks.length} passages of ${pages.length} pages`);

// Search by meaning and by keywords at once.
const found = await hybridSearch({
  vectorStore,
  indexName,
  model: embedder,
  queryText: "What happens to a tool that was running when the process was killed?",
  topK: 5,
});
for (const { id, score } of found) console.log(score.toFixed(2), id);
assert.ok(found.some(({ metadata }) => metadata?.page === "docs/tools.md"));

// The same search as a tool for an agent.
const search = createVectorQueryTool({ vectorStore, indexName, model: embedder, hybrid: true });

const model = scriptedModel([
  {
    toolCalls: [{ toolName: "search", input: { queryText: "recall by meaning with an embedder", topK: 3 } }],
  },
  "Give Memory a vector store and an embedder.",
]);
const agent = new Agent({ name: "guide", instructions: "Answer from the docs.", model, tools: { search } });
const { text } = await agent.generate("How do I recall messages by meaning?");
console.log(text);
assert.match(JSON.stringify(model.calls[1]!.prompt), /Semantic recall/);

// A graph of passages also finds related passages that share no words with the question.
const explore = createGraphRAGTool({
  vectorStore,
  indexName,
  model: embedder,
  graphOptions: { threshold: 0.5 },
});
const { sources } = await explore.execute({ context: { queryText: "durable threads", topK: 5 } });
console.log(sources.map(({ id }) => id));
assert.equal(sources.length, 5);

await vectorStore.close();
await rm(folder, { recursive: true });
