// Installs the dependencies from the lock file when they are absent or out of date. Plain JavaScript without imports
// from packages, because it runs before there are any, on whatever Node the machine has.
import { createHash } from "node:crypto";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);
const lock = new URL("package-lock.json", root);
const installed = new URL("node_modules/.package-lock.json", root);
const stamp = new URL("node_modules/.selvedge-lock-hash", root);
/** Present while only the packages that `npm start` needs are installed. */
const partial = new URL("node_modules/.selvedge-start-only", root);
const startOnly = process.argv.includes("--start");

const TELL_EVERY_MS = 5000;

const hash = createHash("sha256").update(readFileSync(lock)).digest("hex");

/** Why an install is needed, or `undefined`. */
function reason() {
  if (!existsSync(installed) || !existsSync(new URL("node_modules/node/package.json", root))) {
    return "dependencies are not installed yet";
  }
  if (!startOnly && existsSync(partial)) return "only the packages of npm start are installed";
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === hash) return undefined;
  // Somebody ran `npm install` or `npm ci` by hand after the lock file changed.
  if (statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return undefined;
  return isLinked() ? undefined : "the lock file has changed";
}

/** Where only packages of this repository were added, links are enough: nothing has to be fetched. */
function isLinked() {
  const packagesIn = (file) => JSON.parse(readFileSync(file, "utf8")).packages;
  const [before, after] = [packagesIn(installed), packagesIn(lock)];
  const ofOthers = ([path, entry]) => path.includes("node_modules/") && !entry.link && !entry.optional;
  const differs = ([path, { version }]) => before[path]?.version !== version;
  if (Object.entries(after).filter(ofOthers).some(differs)) return false;
  for (const [path, { link, resolved }] of Object.entries(after)) {
    const at = fileURLToPath(new URL(path, root));
    if (!link || existsSync(at)) continue;
    mkdirSync(dirname(at), { recursive: true });
    symlinkSync(relative(dirname(at), fileURLToPath(new URL(resolved, root))), at, "junction");
  }
  return true;
}

const why = reason();
if (why !== undefined) {
  // `npm start` in a fresh clone waits for a quarter of the packages. Tests and benches install the rest.
  const few = startOnly && (!existsSync(installed) || existsSync(partial));
  const what = few ? "what npm start needs" : "all packages";
  console.log(`selvedge: ${why}. Installing ${what} …`);
  const npm = process.env.npm_execpath;
  const scope = few ? ["--workspace", "selvedge-start", "--omit=dev"] : [];
  const args = ["ci", ...scope, "--no-audit", "--no-fund", "--loglevel=error"];
  // Not with the Node of node_modules, which npm ci is about to delete.
  const node = process.env.npm_node_execpath ?? process.execPath;
  const options = { cwd: fileURLToPath(root), stdio: ["ignore", "inherit", "inherit"] };
  const [program, all] = npm ? [node, [npm, ...args]] : ["npm", args];
  const began = performance.now();
  const done = await new Promise((resolve) => {
    const child = spawn(program, all, { ...options, shell: !npm && process.platform === "win32" });
    const ticker = setInterval(
      () => console.log(`selvedge: installing, ${Math.round((performance.now() - began) / 1000)} s …`),
      TELL_EVERY_MS,
    );
    const end = (result) => {
      clearInterval(ticker);
      resolve(result);
    };
    child.on("error", (error) => end({ status: 1, error }));
    child.on("exit", (status) => end({ status: status ?? 1 }));
  });
  if (done.status !== 0) {
    console.error(`selvedge: npm ci failed${done.error ? `: ${done.error.message}` : ""}.`);
    process.exit(done.status);
  }
  if (few) writeFileSync(partial, "");
}
writeFileSync(stamp, hash);
