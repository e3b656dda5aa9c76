// Installs the dependencies from the lock file when they are absent or out of date. Plain JavaScript without imports
// from packages, because it runs before there are any, on whatever Node the machine has.
import { createHash } from "node:crypto";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);
const lock = new URL("package-lock.json", root);
const installed = new URL("node_modules/.package-lock.json", root);
const stamp = new URL("node_modules/.selvedge-lock-hash", root);

const hash = createHash("sha256").update(readFileSync(lock)).digest("hex");

/** Why an install is needed, or `undefined`. */
function reason() {
  if (!existsSync(installed) || !existsSync(new URL("node_modules/node/package.json", root))) {
    return "dependencies are not installed yet";
  }
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === hash) return undefined;
  // Somebody ran `npm install` or `npm ci` by hand after the lock file changed.
  if (statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return undefined;
  return "the lock file has changed";
}

const why = reason();
if (why !== undefined) {
  console.log(`selvedge: ${why}, running npm ci, which takes about a minute …`);
  const npm = process.env.npm_execpath;
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  // Not with the Node of node_modules, which npm ci is about to delete.
  const node = process.env.npm_node_execpath ?? process.execPath;
  const options = { cwd: fileURLToPath(root), stdio: ["ignore", "inherit", "inherit"] };
  const done = npm
    ? spawnSync(node, [npm, ...args], options)
    : spawnSync("npm", args, { ...options, shell: process.platform === "win32" });
  if (done.status !== 0) {
    console.error(`selvedge: npm ci failed${done.error ? `: ${done.error.message}` : ""}.`);
    process.exit(done.status ?? 1);
  }
}
writeFileSync(stamp, hash);
