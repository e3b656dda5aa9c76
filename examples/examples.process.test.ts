import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, it } from "vitest";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const EXAMPLES = globSync("examples/*/index.ts", { cwd: ROOT });

describe.concurrent("an example", () => {
  it.each(EXAMPLES)("%s checks itself and succeeds", async (path) => {
    await promisify(execFile)(process.execPath, ["--conditions=selvedge-source", path], { cwd: ROOT });
  });
});
