/**
 *   npm run compat:types
 * Compiles the same programs against the reference and against Selvedge, each with the settings of a strict project.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL("./", import.meta.url));
const root = fileURLToPath(new URL("../", import.meta.url));
const tsc = createRequire(import.meta.url)
  .resolve("typescript/package.json")
  .replace("package.json", "bin/tsc");
const shared = {
  target: "ES2022",
  lib: ["ES2024", "DOM"],
  module: "ESNext",
  moduleResolution: "bundler",
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: ["node"],
  typeRoots: [`${root}node_modules/@types`],
  allowImportingTsExtensions: true,
};
const ours = { customConditions: ["selvedge-source"], paths: aliases() };

/** Every entry of our packages under the reference's name: an alias in a project does the same. */
function aliases(): Record<string, string[]> {
  const paths: Record<string, string[]> = {};
  for (const name of readdirSync(`${root}packages`)) {
    const manifest = readFileSync(`${root}packages/${name}/package.json`, "utf8");
    const { exports = {} } = JSON.parse(manifest) as { exports?: Record<string, Record<string, string>> };
    for (const [subpath, targets] of Object.entries(exports)) {
      const source = targets["selvedge-source"];
      if (source)
        paths[`@mastra/${name}${subpath.slice(1)}`] = [`${root}packages/${name}/${source.slice(2)}`];
    }
  }
  return paths;
}

const programs = readdirSync(`${here}types`).filter((name) => name.endsWith(".ts"));
let failed = false;
for (const [side, options] of Object.entries({ reference: {}, selvedge: ours })) {
  const folder = mkdtempSync(`${here}types/.check-`);
  const config = `${folder}/tsconfig.json`;
  writeFileSync(config, JSON.stringify({ compilerOptions: { ...shared, ...options }, include: ["../*.ts"] }));
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", config, "--listFiles"], { encoding: "utf8" });
  rmSync(folder, { recursive: true });
  const lines = stdout.split("\n");
  const errors = lines.filter((line) => /error TS\d+/.test(line));
  // A path that does not resolve would fall back to the other side.
  const foreign = side === "reference" ? "/packages/core/src/" : "/node_modules/@mastra/";
  const strays = lines.filter((line) => line.startsWith("/") && line.includes(foreign));
  const fits =
    errors.length === 0 && strays.length === 0 && programs.every((name) => stdout.includes(`types/${name}`));
  console.log(`${fits ? "✓" : "✗"} ${side}`);
  for (const line of [...errors, ...strays.slice(0, 3)]) console.log(`    ${line}`);
  failed ||= !fits;
}
process.exitCode = failed ? 1 : 0;
