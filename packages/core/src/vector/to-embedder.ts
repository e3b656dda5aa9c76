import { AgentError } from "../errors.ts";
import type { EmbeddingModel } from "../model/embedding-model.ts";
import type { Embedder } from "./embedder.ts";

export type { EmbeddingModel };

export interface ToEmbedderOptions {
  /** Passed to AI SDK embedding models with every call. */
  providerOptions?: Record<string, Record<string, unknown>>;
}

export type EmbedderConfig = Embedder | EmbeddingModel;

const SUPPORTED: readonly string[] = ["v2", "v3", "v4"];

/** Returns an `Embedder` unchanged and wraps an AI SDK embedding model. */
export function toEmbedder(model: EmbedderConfig, options: ToEmbedderOptions = {}): Embedder {
  const value = model as Partial<Embedder & EmbeddingModel> | null | undefined | string;
  if (typeof value === "object" && value !== null) {
    if (typeof value.embed === "function" && typeof value.id === "string") return value as Embedder;
    if (typeof value.doEmbed === "function") return fromModel(value as EmbeddingModel, options);
  }
  const got =
    typeof value === "object"
      ? `an object with ${Object.keys(value ?? {}).join(", ") || "no keys"}`
      : show(value);
  throw new AgentError(
    "model-unsupported",
    `An embedder must be an object with id and embed(texts), or an AI SDK embedding model such as ` +
      `openai.embedding("text-embedding-3-small"); got ${got}`,
  );
}

function fromModel(model: EmbeddingModel, { providerOptions }: ToEmbedderOptions): Embedder {
  if (!SUPPORTED.includes(model.specificationVersion)) {
    throw new AgentError(
      "model-unsupported",
      `Embedding model ${model.modelId} has specification ${show(model.specificationVersion)}, but only ` +
        `${SUPPORTED.join(", ")} are supported. Install a newer version of its provider's package (${model.provider})`,
    );
  }
  return {
    id: `${model.provider}/${model.modelId}`,
    async embed(texts, options = {}) {
      const size = Math.max(1, (await model.maxEmbeddingsPerCall) ?? Infinity);
      const batches: string[][] = [];
      for (let start = 0; start < texts.length; start += size) batches.push(texts.slice(start, start + size));
      const call = (values: string[]): Promise<number[][]> =>
        embedBatch(model, {
          values,
          ...(options.abortSignal && { abortSignal: options.abortSignal }),
          ...(providerOptions && { providerOptions }),
        });
      if (batches.length > 1 && (await model.supportsParallelCalls))
        return (await Promise.all(batches.map(call))).flat();
      const vectors: number[][] = [];
      for (const batch of batches) vectors.push(...(await call(batch)));
      return vectors;
    },
  };
}

async function embedBatch(
  model: EmbeddingModel,
  call: Parameters<EmbeddingModel["doEmbed"]>[0],
): Promise<number[][]> {
  const { values } = call;
  const { embeddings } = await model.doEmbed(call);
  if (embeddings.length !== values.length) {
    throw new AgentError(
      "model-failed",
      `Embedding model ${model.modelId} returned ${embeddings.length} vectors for ${values.length} texts`,
    );
  }
  return embeddings;
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}
