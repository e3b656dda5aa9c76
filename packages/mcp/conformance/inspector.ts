import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// Fetches the official inspector (110 MB with what it needs) into the system's temporary folder, once, and runs our
// tests with it.

const VERSION = "2.12.0";
const folder = join(tmpdir(), `selvedge-mcp-inspector-${VERSION}`);
const manifest = join(folder, "package.json");
const root = fileURLToPath(new URL("../../..", import.meta.url));

if (!existsSync(join(folder, "node_modules/@modelcontextprotocol/inspector"))) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(manifest, "{}");
  run(
    "npm",
    ["install", "--ignore-scripts", "--no-audit", "--no-fund", `@modelcontextprotocol/inspector@${VERSION}`],
    folder,
  );
}
run(
  process.execPath,
  [
    join(root, "node_modules/vitest/vitest.mjs"),
    "run",
    "packages/mcp/src/server/inspector.test.ts",
    "--typecheck.enabled=false",
  ],
  root,
);

function run(command: string, args: string[], cwd: string): void {
  const env = { ...process.env, MCP_INSPECTOR: manifest };
  const { status } = spawnSync(command, args, { cwd, stdio: "inherit", env });
  if (status !== 0) process.exit(status ?? 1);
}
