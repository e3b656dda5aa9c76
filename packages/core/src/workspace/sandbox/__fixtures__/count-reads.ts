import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

// Prints how many files of other processes are read for one command without isolation.
let reads = 0;
const real = fs.readFileSync as (...args: unknown[]) => unknown;
(fs as { readFileSync: unknown }).readFileSync = (...args: unknown[]) => {
  if (/^\/proc\/\d+\//.test(String(args[0]))) reads++;
  return real(...args);
};
syncBuiltinESMExports();

const { LocalSandbox } = await import("../local-sandbox.ts");
const workingDirectory = process.argv[2]!;
const sandbox = new LocalSandbox({ workingDirectory, isolation: "none", logger: false });
await sandbox.executeCommand("true");
reads = 0;
await sandbox.executeCommand("true");
console.log(reads);
process.exit();
