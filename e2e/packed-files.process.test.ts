import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const WANTED = ["dist/index.js", "src/index.ts"];
const UNWANTED = [
  "dist/.tsbuildinfo",
  "src/deep/index.test.ts",
  "src/index.test-d.ts",
  "src/view.test.tsx",
  "src/__fixtures__/a.ts",
];

it("publishes what was built and its sources, without tests and the compiler's notes", async () => {
  const root = await mkdtemp(join(tmpdir(), "selvedge-packed-"));
  try {
    const manifest = { private: true, workspaces: ["packages/*"] };
    await writeFile(join(root, "package.json"), JSON.stringify(manifest));
    for (const path of globSync("packages/*/package.json", { cwd: ROOT })) {
      const folder = join(root, "packages", basename(dirname(path)));
      for (const file of [...WANTED, ...UNWANTED]) {
        await mkdir(dirname(join(folder, file)), { recursive: true });
        await writeFile(join(folder, file), "");
      }
      await copyFile(join(ROOT, path), join(folder, "package.json"));
    }
    // This Node in front: npm is the machine's, whatever Node that has.
    const env = { ...process.env, PATH: dirname(process.execPath) + delimiter + process.env["PATH"] };
    const args = ["pack", "--workspaces", "--dry-run", "--json", "--ignore-scripts", "--offline"];
    const options = { cwd: root, env, shell: process.platform === "win32" };
    const { stdout } = await promisify(execFile)("npm", args, options);
    const packed: unknown = JSON.parse(stdout);
    const packages = Object.values(packed as object) as { name: string; files: { path: string }[] }[];
    expect(packages.length).toBeGreaterThan(10);
    for (const { name, files } of packages) {
      const paths = files.map(({ path }) => path);
      expect([name, paths.filter((path) => UNWANTED.includes(path))]).toEqual([name, []]);
      expect(paths).toEqual(expect.arrayContaining(WANTED));
    }
  } finally {
    await rm(root, { recursive: true });
  }
});
