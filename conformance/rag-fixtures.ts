import { Agent } from "@selvedge/core/agent";
import { Mastra } from "@selvedge/core/mastra";
import { RequestContext } from "@selvedge/core/request-context";
import type { Tool } from "@selvedge/core/tools";
import { type EmbeddingModel, InMemoryVector, type Vector, type VectorResult } from "@selvedge/core/vector";
import { scriptedModel } from "@selvedge/testing";

const DIMENSION = 1536;

/** Every word has a place of its own, so texts are near that share words. Stands in for the documents' model. */
export function embeddingModel(modelId: string): EmbeddingModel {
  return {
    specificationVersion: "v4",
    provider: "stand-in",
    modelId,
    maxEmbeddingsPerCall: 100,
    supportsParallelCalls: true,
    doEmbed: async ({ values }) => ({ embeddings: values.map(embed) }),
  };
}

function embed(text: string): number[] {
  const vector = Array.from({ length: DIMENSION }, () => 0);
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
    let place = 7;
    for (const sign of word) place = (place * 31 + sign.codePointAt(0)!) % DIMENSION;
    vector[place]!++;
  }
  return vector;
}

/** The provider of the documents' examples: embedding models, and a language model that scores the last passage highest. */
export const openai = Object.assign(
  (modelId: string) =>
    scriptedModel(
      ({ prompt }) => {
        const { passages } = JSON.parse(lastText(prompt)) as { passages: string[] };
        return JSON.stringify(passages.map((_, index) => (index + 1) / passages.length));
      },
      { modelId },
    ),
  { embedding: embeddingModel },
);

function lastText(prompt: readonly { content: unknown }[]): string {
  const [part] = prompt.at(-1)!.content as { text: string }[];
  return part!.text;
}

type PineconeQuery = Parameters<Vector["query"]>[0] & { namespace?: string; sparseVector?: object };

const PASSAGES: { text: string; category: string; version: number }[] = [
  { text: "Deployment runs on every push.", category: "docs", version: 3 },
  { text: "Documentation of deployment to production.", category: "docs", version: 2 },
  { text: "Rollback follows a failed deployment.", category: "runbook", version: 1 },
  { text: "Lunch is at noon.", category: "office", version: 5 },
];

/**
 * Stands in for Pinecone: indexes with namespaces, which `query` tells apart, and a record of what it was asked. The texts
 * say which namespace they come from.
 */
class PineconeStandIn extends InMemoryVector {
  readonly asked: PineconeQuery[] = [];

  override async query(options: PineconeQuery): Promise<VectorResult[]> {
    this.asked.push(options);
    const { namespace = "", sparseVector: _, ...query } = options;
    return super.query({ ...query, indexName: await this.#fill(options.indexName, namespace) });
  }

  override async describeIndex({ indexName }: { indexName: string }): ReturnType<Vector["describeIndex"]> {
    return super.describeIndex({ indexName: await this.#fill(indexName, "") });
  }

  /** Every index that is asked for is there, with the same passages in every namespace. */
  async #fill(indexName: string, namespace: string): Promise<string> {
    const name = namespace === "" ? indexName : `${indexName}/${namespace}`;
    if ((await this.listIndexes()).includes(name)) return name;
    await this.createIndex({ indexName: name, dimension: DIMENSION });
    await this.upsert({
      indexName: name,
      ids: PASSAGES.map((_, index) => `p${index}`),
      vectors: PASSAGES.map(({ text }) => embed(text)),
      metadata: PASSAGES.map((passage) => ({ ...passage, namespace })),
    });
    return name;
  }
}

/** The stand-in under the names of the documents. */
function stores(pinecone: PineconeStandIn): Record<string, Vector> {
  return { pinecone, milvus: pinecone, "my-store": pinecone };
}

/** Runs a tool of a block beside the stand-in, with a model that needs no network. */
export async function ask(
  tool: Tool,
  input: { queryText: string; topK?: number; filter?: string },
  context: Record<string, unknown> = {},
) {
  const pinecone = new PineconeStandIn();
  const mastra = new Mastra({ vectors: stores(pinecone), logger: false });
  const requestContext = new RequestContext({ model: embeddingModel("any"), ...context });
  const output = await tool.execute({ context: input, requestContext, mastra });
  return { output, pinecone };
}

/** An agent of the host that searches once and then answers. */
export function librarian(tool: Tool) {
  const pinecone = new PineconeStandIn();
  const model = scriptedModel([
    { toolCalls: [{ toolName: "search", input: { queryText: "deployment documentation", topK: 9 } }] },
    "Found.",
  ]);
  const agent = new Agent({ name: "librarian", instructions: "Search.", model, tools: { search: tool } });
  new Mastra({ agents: { agent }, vectors: stores(pinecone), logger: false });
  /** What the model got to read. */
  const read = (): string => JSON.stringify(model.calls[1]?.prompt ?? []);
  return { agent, model, pinecone, read };
}
