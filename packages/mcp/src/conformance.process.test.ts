import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

// Two scenarios of the official suite, to notice at once that it cannot be passed any more. All of them:
// npm run conformance:mcp (minutes).

const program = fileURLToPath(new URL("../conformance/run.ts", import.meta.url));

it.each([
  ["server", "tools-call-with-progress"],
  ["client", "tools_call"],
])("passes the official suite as a %s in both generations (%s)", async (role, scenario) => {
  const args = ["--conditions=selvedge-source", program, role, scenario];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout.trim().split("\n")).toEqual([
    `${role} 2025-11-25: 1 of 1 (target 1)`,
    `${role} 2026-07-28: 1 of 1 (target 1)`,
  ]);
});
