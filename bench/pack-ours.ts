/**
 *   node pack-ours.ts
 * Builds the workspace, packs our packages and installs the tarballs in PEERS_DIR/ours, as a user would get them.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { peerDir } from "./lib/env.ts";
import { npm } from "./lib/npm.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PACKED = ["protocol", "core", "memory", "libsql", "mcp"];

export function packOurs(): void {
  build();
  const tarballs = mkdtempSync(join(tmpdir(), "selvedge-pack-"));
  try {
    const workspaces = PACKED.flatMap((name) => ["--workspace", `packages/${name}`]);
    const packed = npm(
      ["pack", "--json", "--ignore-scripts", "--pack-destination", tarballs, ...workspaces],
      ROOT,
    );
    const files = Object.values(JSON.parse(packed) as Record<string, { filename: string }>);
    install(files.map(({ filename }) => join(tarballs, filename.replace("@", "").replace("/", "-"))));
  } finally {
    rmSync(tarballs, { recursive: true, force: true });
  }
}

function build(): void {
  const script = join(ROOT, "scripts", "build-packages.mjs");
  const { status, stdout } = spawnSync(process.execPath, [script, ...PACKED], {
    cwd: ROOT,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`The packages do not build:\n${stdout.slice(0, 2000)}`);
}

function install(tarballs: string[]): void {
  const dir = peerDir("ours");
  // A lock file would hold npm to the contents of the last tarballs.
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "package.json"), `${JSON.stringify({ name: "peer-ours", private: true })}\n`);
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  npm(["install", "--prefer-offline", ...tarballs, `zod@${devDependencies.zod}`], dir);
}

if (import.meta.main) packOurs();
