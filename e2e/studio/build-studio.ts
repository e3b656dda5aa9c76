import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const BUILD = fileURLToPath(new URL("../../scripts/build-studio.mjs", import.meta.url));

/** Builds the studio before the first browser test, unless the build is up to date. */
export default function buildStudio(): void {
  execFileSync(process.execPath, [BUILD, "--if-stale"]);
}
