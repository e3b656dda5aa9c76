import { AgentError, showValue } from "../../errors.ts";
import { type EmbedderConfig, toEmbedder } from "../../vector/to-embedder.ts";

type Awaitable<Value> = Value | Promise<Value>;

/** Embeds many texts with one call. */
export interface BatchEmbedder {
  (texts: string[]): Awaitable<number[][]>;
  batch: true;
  /** Texts per call. Default: 256. */
  maxBatchSize?: number;
}

/** Turns texts into vectors, one by one or in batches. */
export type SearchEmbedder = ((text: string) => Awaitable<number[]>) | BatchEmbedder | EmbedderConfig;

export type Embed = (texts: readonly string[]) => Promise<number[][]>;

const BATCH = 256;
const AT_ONCE = 8;

/** Any form of embedder as one function, which makes at most 8 calls at once. */
export function toEmbed(given: SearchEmbedder): Embed {
  const { call, size } = callOf(given);
  return async (texts) => {
    const batches: { at: number; texts: string[] }[] = [];
    for (let at = 0; at < texts.length; at += size) batches.push({ at, texts: texts.slice(at, at + size) });
    const vectors: number[][] = [];
    const work = async (): Promise<void> => {
      for (let batch = batches.shift(); batch; batch = batches.shift()) {
        const found = await call(batch.texts);
        if (!Array.isArray(found) || found.length !== batch.texts.length) {
          throw new AgentError(
            "model-failed",
            `The embedder must return one vector per text, but returned ${showValue(found?.length)} for ${batch.texts.length} texts.`,
          );
        }
        for (const [index, vector] of found.entries()) vectors[batch.at + index] = vector;
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, batches.length) }, work));
    return vectors;
  };
}

function callOf(given: SearchEmbedder): {
  call: (texts: string[]) => Awaitable<number[][]>;
  size: number;
} {
  if (typeof given !== "function") {
    const embedder = toEmbedder(given);
    return { call: (texts) => embedder.embed(texts), size: BATCH };
  }
  if ("batch" in given && given.batch) return { call: given, size: Math.max(1, given.maxBatchSize ?? BATCH) };
  const one = given as (text: string) => Awaitable<number[]>;
  return { call: async ([text]) => [await one(text!)], size: 1 };
}
