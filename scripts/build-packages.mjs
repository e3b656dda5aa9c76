// Builds packages, all or those that are named: node scripts/build-packages.mjs [core memory …]. The compiler checks them and writes
// their types and code. Core's code is bundled instead: Node needs half a millisecond for every file that an import loads, and an
// agent takes some two hundred of them.
import { spawnSync } from "node:child_process";
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = fileURLToPath(new URL("../", import.meta.url));
const BUNDLED = ["core"];

const named = process.argv.slice(2);
const tsc = `${root}node_modules/typescript/bin/tsc`;
const projects = named.map((name) => `${root}packages/${name}`);
const { status } = spawnSync(process.execPath, [tsc, "-b", "--pretty", "false", ...projects], {
  cwd: root,
  stdio: "inherit",
});
if (status !== 0) process.exit(status ?? 1);
for (const name of BUNDLED)
  if (named.length === 0 || named.includes(name)) await bundle(`${root}packages/${name}`);

if (named.length === 0) await writeCatalog(`${root}packages/cli/dist`);

/** What `selvedge doctor` compares a project with: the modules and names of the packages that were just built. */
async function writeCatalog(folder) {
  const file = `${folder}/catalog.json`;
  rmSync(file, { force: true });
  const { readCatalog } = await import(`${folder}/doctor/catalog.js`);
  writeFileSync(file, JSON.stringify(await readCatalog(() => true)));
}

/** One file for each way in, and what they share in files of its own, so that every module exists once. */
async function bundle(folder) {
  for (const old of globSync("dist/**/*.js{,.map}", { cwd: folder })) rmSync(`${folder}/${old}`);
  const entries = globSync("src/exports/*.ts", { cwd: folder }).map((path) => [
    `exports/${basename(path, ".ts")}`,
    `${folder}/${path}`,
  ]);
  // Files that threads run. Code in exports/ and chunks/ finds them at ../workers.
  for (const path of globSync("src/**/*-worker.ts", { cwd: folder }))
    entries.push([`workers/${basename(path, ".ts")}`, `${folder}/${path}`]);
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const others = Object.keys({ ...dependencies, ...peerDependencies });
  const code = await rolldown({
    input: Object.fromEntries(entries),
    platform: "node",
    external: (id) =>
      id.startsWith("node:") || others.some((name) => id === name || id.startsWith(`${name}/`)),
  });
  await code.write({
    dir: `${folder}/dist`,
    format: "esm",
    sourcemap: true,
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name].js",
  });
}
