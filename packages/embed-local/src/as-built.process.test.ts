import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const MODULES = fileURLToPath(new URL("../../../node_modules", import.meta.url));
const PROJECT = fileURLToPath(new URL("../tsconfig.json", import.meta.url));
const TSC = join(MODULES, "typescript", "bin", "tsc");
// The program and nothing else: what else a build writes is not looked at.
const OFF = [
  "composite",
  "incremental",
  "declaration",
  "declarationMap",
  "isolatedDeclarations",
  "sourceMap",
];
const FLAGS = [...OFF.flatMap((name) => [`--${name}`, "false"]), "--tsBuildInfoFile", "null", "--noCheck"];

const run = promisify(execFile);

// As users have it: JavaScript, in a folder of its own.
describe("localEmbedder, built", () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "selvedge-"));
    await run(process.execPath, [TSC, "-p", PROJECT, "--outDir", folder, ...FLAGS]);
    await symlink(MODULES, join(folder, "node_modules"), "junction");
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    await writeFile(
      join(folder, "program.js"),
      `import { localEmbedder } from "./index.js";
       let ticks = 0;
       const texts = Array.from({ length: 10 }, (_, index) => index + " is a long text. ".repeat(40));
       const embedder = localEmbedder();
       await embedder.embed(["loaded"]);
       setInterval(() => ticks++, 5).unref();
       const vectors = await embedder.embed(texts);
       console.log(JSON.stringify({ ticks, lengths: vectors.map((vector) => vector.length) }));`,
    );
  });

  afterAll(() => rm(folder, { recursive: true }));

  const embed = async (): Promise<{ ticks: number; lengths: number[] }> => {
    // The other packages are not built here.
    const env = { ...process.env, NODE_OPTIONS: "--conditions=selvedge-source" };
    const { stdout } = await run(process.execPath, [join(folder, "program.js")], { env });
    return JSON.parse(stdout) as { ticks: number; lengths: number[] };
  };

  it("computes in a thread, and on that of its caller where the file for threads is not there", async () => {
    const lengths = Array.from({ length: 10 }, () => 512);
    const threaded = await embed();
    expect(threaded).toMatchObject({ lengths });
    // On the thread itself there would be one tick between two texts.
    expect(threaded.ticks).toBeGreaterThan(30);
    await rm(join(folder, "model-worker.js"));
    const here = await embed();
    expect(here).toMatchObject({ lengths });
    expect(here.ticks).toBeLessThan(30);
  });
});
