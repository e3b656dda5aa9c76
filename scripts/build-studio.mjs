// Builds the studio's page into packages/studio/site. With --if-stale only when a source is newer than what is there, so
// that `npm start` in a fresh clone builds once (in about two seconds) and never again.
import { globSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const SOURCES = [
  "packages/studio/app/**/*",
  "packages/studio/vite.config.ts",
  "packages/{protocol,client-js,react}/src/**/*.ts",
  "package-lock.json",
];

function modified(path) {
  return statSync(`${root}${path}`, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

const built = modified("packages/studio/site/index.html");
const newest = Math.max(...globSync(SOURCES, { cwd: root }).map(modified));
if (!process.argv.includes("--if-stale") || newest > built) {
  const start = performance.now();
  // Whoever calls this may have another in its environment, and React would be the one for developers.
  process.env.NODE_ENV = "production";
  const { build } = await import("vite");
  const configFile = `${root}packages/studio/vite.config.ts`;
  await build({ configFile, root: `${dirname(configFile)}/app` });
  console.log(`selvedge: the studio is built (${((performance.now() - start) / 1000).toFixed(1)} s)`);
}
