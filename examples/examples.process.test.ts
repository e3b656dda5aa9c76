import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, it } from "vitest";
import { findChromium } from "../e2e/studio/browser.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** The browser's needs a Chromium; where there is none, its tests say so. */
const EXAMPLES = globSync("examples/*/index.ts", { cwd: ROOT }).filter(
  (path) => !path.includes("browser") || findChromium() !== undefined,
);

describe.concurrent("an example", () => {
  it.each(EXAMPLES)("%s checks itself and succeeds", async (path) => {
    await promisify(execFile)(process.execPath, ["--conditions=selvedge-source", path], { cwd: ROOT });
  });
});
