// Checks every package as it would be published: its manifest (publint) and what its types resolve to (attw).
import { spawn } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { dirname } from "node:path";

const packages = globSync("packages/*/package.json")
  .filter((path) => JSON.parse(readFileSync(path, "utf8")).private !== true)
  .map((path) => dirname(path))
  .sort();

/** @returns {Promise<{ code: number | null, output: string }>} */
function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { shell: process.platform === "win32" });
    let output = "";
    child.stdout.on("data", (data) => (output += data));
    child.stderr.on("data", (data) => (output += data));
    child.on("error", (error) => resolve({ code: 1, output: `${output}${error.message}\n` }));
    child.on("close", (code) => resolve({ code, output }));
  });
}

let failed = false;
for (const folder of packages) {
  const checks = await Promise.all([
    run("publint", ["run", "--strict", folder]),
    run("attw", ["--pack", folder, "--profile", "esm-only", "--format", "table-flipped"]),
  ]);
  const bad = checks.filter((check) => check.code !== 0);
  console.log(`${bad.length === 0 ? "ok  " : "FAIL"} ${folder}`);
  for (const { output } of bad) console.log(output);
  failed ||= bad.length > 0;
}
process.exitCode = failed ? 1 : 0;
