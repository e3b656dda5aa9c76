import assert from "node:assert/strict";
import { createGraphRAGTool, createVectorQueryTool, type DocumentChunk } from "@selvedge/rag";
import type { Tool } from "@selvedge/core/tools";
import { running } from "./block-set-up.ts";
import { printer } from "./fixtures.ts";
import { ask, embeddingModel, librarian, openai } from "./rag-fixtures.ts";

const DEPLOYMENT = { queryText: "deployment", topK: 3 };

/** The blocks of document 3 about retrieval, against a store that stands in for Pinecone. */
export const ragBlocks = {
  "3-basic-usage-1": {
    hash: "84a5c253",
    after: "export { chunker, chunks };",
    run: ({ chunker, chunks }: { chunker: Tool; chunks: DocumentChunk[] }) => {
      assert.equal(chunker.id, "Document Chunker recursive 512");
      assert.equal(
        chunker.description,
        "Chunks document using recursive strategy with size 512 and 50 overlap",
      );
      assert.deepEqual(
        chunks.map(({ content, metadata }) => [content, metadata]),
        [["Your document content here...", { source: "user-manual" }]],
      );
    },
  },
  "3-example-with-custom-parameters-1": running({
    hash: "167965d4",
    given: () => ({ longDocumentContent: "A paragraph of a manual.\n\n".repeat(200), ...printer() }),
    run: (_, { lines }) => {
      assert.ok(lines.length > 4);
      for (const [line] of lines) assert.ok(Number(/length: (\d+)$/.exec(line as string)![1]) <= 1024);
    },
  }),

  "3-usage-example-2": graphTool("9c0808b6", "GraphRAG pinecone docs Tool"),
  "3-advanced-example-1": graphTool("978e2fae", "GraphRAG pinecone docs Tool"),
  "3-example-with-custom-description-1": graphTool("35945eb2", "GraphRAG pinecone docs Tool"),
  "3-example-using-runtime-context-1": graphTool("724f7c68", "GraphRAG pinecone docs Tool"),
  "3-example-using-runtime-context-2": running({
    hash: "78a8dd97",
    given: () =>
      librarian(
        createGraphRAGTool({
          vectorStoreName: "pinecone",
          indexName: "docs",
          model: embeddingModel("small"),
        }),
      ),
    run: (_, { pinecone, read }) => {
      assert.equal(pinecone.asked[0]?.indexName, "my-index");
      assert.deepEqual(pinecone.asked[0]?.filter, { category: "docs" });
      assert.match(read(), /Documentation of deployment to production/);
      assert.doesNotMatch(read(), /Rollback|Lunch/);
    },
  }),

  "3-basic-usage-2": queryTool("619cebc6"),
  "3-example-with-filters-1": {
    hash: "35633370",
    after: "export { queryTool };",
    run: async ({ queryTool: tool }: { queryTool: Tool }) => {
      const { output } = await ask(tool, { ...DEPLOYMENT, filter: '{ "version": { "$gt": 2.0 } }' });
      assert.deepEqual(output.sources.map(({ id }: { id: string }) => id).toSorted(), ["p0", "p3"]);
    },
  },
  "3-example-with-reranking-1": running({
    hash: "5e1ce499",
    given: () => ({ openai }),
    after: "export { queryTool };",
    run: async ({ queryTool: tool }: { queryTool: Tool }) => {
      const { output } = await ask(tool, { queryText: "deployment", topK: 4 });
      // Similarity and place speak for the first, the model for the last.
      assert.equal(output.sources.length, 4);
      assert.ok(output.sources[0].score > output.sources[1].score);
    },
  }),
  "3-example-with-custom-description-2": queryTool("6e62cf97", /company policies/),
  "3-pinecone-configuration-1": {
    hash: "a8be2c47",
    after: "export { pineconeQueryTool };",
    run: async ({ pineconeQueryTool }: { pineconeQueryTool: Tool }) => {
      const { output, pinecone } = await ask(pineconeQueryTool, DEPLOYMENT);
      const sparseVector = { indices: [0, 1, 2, 3], values: [0.1, 0.2, 0.15, 0.05] };
      assert.deepEqual(pinecone.asked[0]?.sparseVector, sparseVector);
      assert.equal(output.sources[0].metadata.namespace, "production");
    },
  },
  "3-runtime-configuration-override-1": running({
    hash: "e90988b5",
    given: () => {
      const databaseConfig = { pinecone: { namespace: "development" } };
      const model = embeddingModel("small");
      const tool = createVectorQueryTool({
        vectorStoreName: "pinecone",
        indexName: "docs",
        model,
        databaseConfig,
      });
      return { openai, ...librarian(tool) };
    },
    run: (_, { pinecone, read }) => {
      assert.equal(pinecone.asked[0]?.namespace, "production");
      assert.match(read(), /Documentation of deployment/);
    },
  }),
  "3-example-using-runtime-context-3": queryTool("d3522c29"),
  "3-example-using-runtime-context-4": running({
    hash: "fbd67ead",
    given: () => {
      const model = embeddingModel("small");
      const tool = createVectorQueryTool({ vectorStoreName: "pinecone", indexName: "docs", model });
      return { openai, ...librarian(tool) };
    },
    run: (_, { pinecone, read }) => {
      const { indexName, namespace, topK, filter } = pinecone.asked[0]!;
      assert.deepEqual(
        [indexName, namespace, topK, filter],
        ["my-index", "runtime-namespace", 5, { category: "docs" }],
      );
      assert.doesNotMatch(read(), /Rollback|Lunch/);
    },
  }),
};

/** A block that makes `queryTool`: it finds what was asked for. */
function queryTool(hash: string, description = /^Access the knowledge base/) {
  return {
    hash,
    after: "export { queryTool };",
    run: async ({ queryTool: tool }: { queryTool: Tool }) => {
      assert.equal(tool.id, "VectorQuery pinecone docs Tool");
      assert.match(tool.description, description);
      const { output } = await ask(tool, DEPLOYMENT);
      assert.equal(typeof output.relevantContext, "string");
      assert.deepEqual(output.sources.map(({ id }: { id: string }) => id).toSorted(), ["p0", "p1", "p2"]);
      const elsewhere = await ask(tool, DEPLOYMENT, {
        vectorStoreName: "my-store",
        indexName: "my-index",
        topK: 1,
      });
      assert.equal(elsewhere.pinecone.asked[0]?.indexName, "my-index");
      assert.equal(elsewhere.output.sources.length, 1);
    },
  };
}

/** A block that makes `graphTool`: it finds what was asked for, twice the same. */
function graphTool(hash: string, id: string) {
  return {
    hash,
    after: "export { graphTool };",
    run: async ({ graphTool: tool }: { graphTool: Tool }) => {
      assert.equal(tool.id, id);
      const { output } = await ask(tool, DEPLOYMENT);
      assert.equal(typeof output.relevantContext, "string");
      assert.deepEqual(output.sources.map(({ id: found }: { id: string }) => found).toSorted(), [
        "p0",
        "p1",
        "p2",
      ]);
      assert.deepEqual((await ask(tool, DEPLOYMENT)).output, output);
      await assert.rejects(ask(tool, DEPLOYMENT, { randomWalkSteps: 0 }), /randomWalkSteps/);
    },
  };
}
