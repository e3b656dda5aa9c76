#!/usr/bin/env node
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [major, minor] = process.versions.node.split(".").map(Number);
const fromSource = process.execArgv.includes("--conditions=selvedge-source");
const exists = (path) => existsSync(new URL(path, import.meta.url));
// In a clone, type checking writes a part of dist. Only a build writes the modules of core.
const isClone = exists("../../core/src/exports/errors.ts");
const isBuilt = exists(isClone ? "../../core/dist/exports/errors.js" : "../dist/index.js");

if (major < 22 || (major === 22 && minor < 13)) {
  console.error(`selvedge needs Node 22.13 or later, but this is Node ${process.version}.`);
  process.exitCode = 1;
} else if (fromSource || isBuilt) {
  const { main } = await import("selvedge");
  process.exitCode = await main(process.argv);
} else {
  // A clone that was never built: the sources run as they are under this condition.
  const self = fileURLToPath(import.meta.url);
  const args = ["--conditions=selvedge-source", self, ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1;
}
