import { AgentError } from "@selvedge/core/errors";
import { realSystem, sleep, type System } from "@selvedge/core/storage";
import type { Embedder } from "@selvedge/core/vector";
import { loadModel, type Model } from "./load-model.ts";

export interface LocalEmbedderOptions {
  system?: System;
}

/** Texts of one call of the model. It computes on this thread; between calls others get their turn. */
const BATCH = 4;
/** About a thousand tokens. The model reads a sentence or a passage; what is beyond says little and takes long. */
const MAX_LENGTH = 4_000;

/**
 * An embedder that works without a key and without a network: a Universal Sentence Encoder (lite, English, 512 numbers)
 * whose weights are in optional packages of npm. They are loaded on first use.
 */
export function localEmbedder(options: LocalEmbedderOptions = {}): Embedder {
  const system = options.system ?? realSystem;
  let model: Promise<Model> | undefined;
  const load = (): Promise<Model> => {
    model ??= loadModel().catch((error: unknown) => {
      model = undefined;
      throw error;
    });
    return model;
  };
  return {
    id: "selvedge/use-lite-en-0.2.0",
    dimension: 512,
    async embed(texts, { abortSignal } = {}) {
      for (const text of texts) {
        if (typeof text === "string") continue;
        throw new AgentError("invalid-argument", `embed takes an array of strings, got ${typeof text} in it`);
      }
      const loaded = await load();
      const vectors: number[][] = [];
      for (let start = 0; start < texts.length; start += BATCH) {
        abortSignal?.throwIfAborted();
        vectors.push(...(await loaded.embed(texts.slice(start, start + BATCH).map(toInput))));
        await sleep(system, 0);
      }
      return vectors;
    },
  };
}

/** The model has no vector for nothing, so nothing is a full stop. */
function toInput(text: string): string {
  const cut = text.slice(0, MAX_LENGTH).toWellFormed().trim();
  return cut === "" ? "." : cut;
}
