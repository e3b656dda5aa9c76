/**
 *   node install-peers.ts [peer ...]
 * Installs peers of peers.json, all of them unless some are named, in PEERS_DIR/<peer> at their pinned versions.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { peerDir, peerVersion } from "./lib/env.ts";
import { npm } from "./lib/npm.ts";

type Peers = Record<string, { note?: string; packages: Record<string, string> }>;

const PEERS: Peers = JSON.parse(readFileSync(new URL("./peers.json", import.meta.url), "utf8"));

export function installPeers(names: string[] = Object.keys(PEERS)): void {
  for (const name of names) {
    const packages = PEERS[name]?.packages;
    if (!packages)
      throw new Error(
        `There is no peer "${name}" in peers.json. There are ${Object.keys(PEERS).join(", ")}.`,
      );
    const pinned = Object.entries(packages);
    if (pinned.every(([pkg, version]) => peerVersion(name, pkg) === version)) continue;
    const dir = peerDir(name);
    mkdirSync(dir, { recursive: true });
    const file = join(dir, "package.json");
    if (!existsSync(file))
      writeFileSync(file, `${JSON.stringify({ name: `peer-${name}`, private: true })}\n`);
    const specs = pinned.map(([pkg, version]) => `${pkg}@${version}`);
    process.stderr.write(`installing ${name}: ${specs.join(" ")}\n`);
    npm(["install", ...specs], dir);
  }
}

if (import.meta.main) installPeers(process.argv.length > 2 ? process.argv.slice(2) : undefined);
