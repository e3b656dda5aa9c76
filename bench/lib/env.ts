import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { readFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";

/** Where the peers are installed: one folder per peer, each with its own node_modules. */
export const PEERS_DIR = process.env.PEERS_DIR ?? join(tmpdir(), "selvedge-bench");

export const peerDir = (peer: string) => join(PEERS_DIR, peer);
export const peerInstalled = (peer: string) => existsSync(join(peerDir(peer), "node_modules"));

/**
 * Import a bare specifier as seen from a peer's folder, so that the harness has no
 * dependencies. Needs --experimental-import-meta-resolve (the runner passes it).
 */
export async function peerImport(peer: string, specifier: string): Promise<any> {
  return importFrom(join(peerDir(peer), "package.json"), specifier);
}

export async function importFrom(file: string, specifier: string): Promise<any> {
  const parent = pathToFileURL(file).href;
  const url = (import.meta.resolve as (s: string, p: string) => string)(specifier, parent);
  return import(url);
}

export function peerVersion(peer: string, pkg: string): string | undefined {
  const file = join(peerDir(peer), "node_modules", pkg, "package.json");
  if (!existsSync(file)) return undefined;
  return JSON.parse(readFileSync(file, "utf8")).version;
}

export function scratchDir(): { dir: string; remove(): void } {
  const dir = mkdtempSync(join(tmpdir(), "selvedge-bench-run-"));
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) };
}
