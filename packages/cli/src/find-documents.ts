import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { IgnoreRules } from "./ignore-rules.ts";

const MAX_BYTES = 2_000_000;
const LEFT_OUT = new Set(["node_modules", "dist", "build", "coverage", "target", "vendor", "__pycache__"]);
const EXTENSIONS = new Set(
  (
    ".md .mdx .markdown .txt .rst .adoc .tex .html .htm .json .yaml .yml .toml .csv .sql .css .ts .tsx .mts .js .jsx .mjs " +
    ".cjs .py .rb .php .go .rs .java .kt .swift .scala .c .h .cc .cpp .hpp .cs .sh .lua .ex .exs .vue .svelte"
  ).split(" "),
);

/** Paths are relative, with forward slashes, in order. */
export interface FoundDocuments {
  paths: string[];
  /** Files and folders that `all` would have looked at. */
  leftOut: number;
  /** Folders that could not be listed and files that could not be looked at, with the reason. */
  unreadable: Map<string, unknown>;
}

/**
 * The documents below a folder. Links are not followed, and Git's own folder is never read. Unless `all` is set, hidden
 * files, dependencies, build output and what `.gitignore` files name are left out. Stops at `limit` documents.
 */
export async function findDocuments(
  folder: string,
  { all = false, limit = Infinity }: { all?: boolean; limit?: number } = {},
): Promise<FoundDocuments> {
  const found: FoundDocuments = { paths: [], leftOut: 0, unreadable: new Map() };
  const toPath = (path: string): string => relative(folder, path).split(sep).join("/");
  const visit = async (path: string, rules: IgnoreRules): Promise<void> => {
    for (const entry of await readdir(path, { withFileTypes: true })) {
      if (found.paths.length >= limit) return;
      const inside = join(path, entry.name);
      if (entry.name === ".git" || !isCandidate(entry)) continue;
      if (!all && isLeftOut(entry, inside, rules)) {
        found.leftOut++;
        continue;
      }
      try {
        if (entry.isDirectory()) await visit(inside, all ? rules : await rules.inside(inside));
        else if (isSized((await stat(inside)).size)) found.paths.push(toPath(inside));
      } catch (error) {
        if (!isGone(error)) found.unreadable.set(toPath(inside), error);
      }
    }
  };
  await visit(folder, await IgnoreRules.at(folder));
  found.paths.sort((a, b) => (a < b ? -1 : 1));
  return found;
}

/** Files come and go while a folder is read. */
export function isGone(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "EISDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
}

function isCandidate(entry: Dirent): boolean {
  return entry.isDirectory() || (entry.isFile() && EXTENSIONS.has(extname(entry.name).toLowerCase()));
}

function isLeftOut(entry: Dirent, path: string, rules: IgnoreRules): boolean {
  const isFolder = entry.isDirectory();
  if (entry.name.startsWith(".") || (isFolder && LEFT_OUT.has(entry.name))) return true;
  return rules.leavesOut(path, isFolder);
}

function isSized(size: number): boolean {
  return size > 0 && size <= MAX_BYTES;
}
