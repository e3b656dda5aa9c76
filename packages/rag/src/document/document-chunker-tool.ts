import { AgentError } from "@selvedge/core/errors";
import { createTool, type Tool } from "@selvedge/core/tools";
import { type ChunkParams, checkParams } from "./chunk-params.ts";
import { type DocumentChunk, MDocument } from "./mdocument.ts";
import { type OwnSchema, trustedSchema } from "../schema/own-schema.ts";

const CHUNKS = {
  type: "object",
  properties: {
    chunks: {
      type: "array",
      items: {
        type: "object",
        properties: { text: { type: "string" }, content: { type: "string" }, metadata: { type: "object" } },
        required: ["text", "metadata"],
      },
    },
  },
  required: ["chunks"],
};

/** Creates a tool that splits one document. It takes no input: the document and params are fixed at creation. */
export function createDocumentChunkerTool(options: {
  doc: MDocument;
  params?: ChunkParams;
}): Tool<OwnSchema<object>, OwnSchema<{ chunks: DocumentChunk[] }>> {
  const doc: unknown = options?.doc;
  if (!(doc instanceof MDocument)) {
    throw new AgentError("invalid-argument", "createDocumentChunkerTool needs doc: an MDocument");
  }
  const params = { strategy: "recursive", ...options.params } as const;
  // Invalid params are reported now, not when the model calls.
  const { strategy, size, overlap } = checkParams(params);
  return createTool({
    id: `Document Chunker ${strategy} ${size}`,
    description: `Chunks document using ${strategy} strategy with size ${size} and ${overlap} overlap`,
    inputSchema: trustedSchema<object>({ type: "object", properties: {} }),
    outputSchema: trustedSchema<{ chunks: DocumentChunk[] }>(CHUNKS),
    idempotent: true,
    execute: async (): Promise<{ chunks: DocumentChunk[] }> => ({ chunks: await doc.chunk(params) }),
    // `content` repeats `text`; a model needs it once.
    toModelOutput: ({ chunks }) => ({
      type: "json",
      value: { chunks: chunks.map(({ text, metadata }) => ({ text, metadata })) },
    }),
  });
}
