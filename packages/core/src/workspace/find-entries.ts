import { IgnoreRules } from "./ignore-rules.ts";
import type { ScanFolder, ScanSource } from "./scan/scan-source.ts";
import { PermissionError } from "./workspace-errors.ts";
import type { FileEntry } from "./workspace-filesystem.ts";

export interface FindOptions {
  /** Where to start, relative to the root. */
  path: string;
  maxDepth?: number;
  showHidden?: boolean;
  respectGitignore?: boolean;
  /** Called before each entry. Throws to stop. */
  pause?: (() => void | Promise<void>) | undefined;
}

/** An entry below the start, with its path relative to the root, or absolute in an allowed path. */
export interface FoundEntry {
  path: string;
  name: string;
  type: FileEntry["type"];
  depth: number;
}

/** Called with each entry and the open directory that it is in. Returns true to stop. */
type Visit = (entry: FoundEntry, folder: ScanFolder) => boolean | void | Promise<boolean | void>;

/** From the weakest to the strongest. */
const IGNORE_FILES = [".gitignore", ".ignore"];
const MAX_RULE_BYTES = 1024 * 1024;
const MAX_DEPTH = 64;

/**
 * Visits what is below a directory, sorted by name; directories come before their contents. Ignored entries are left
 * out, unless the start itself is ignored: naming a directory reaches it. Links are visited and not followed.
 */
export async function findEntries(source: ScanSource, options: FindOptions, visit: Visit): Promise<void> {
  const { maxDepth = MAX_DEPTH, showHidden = false, respectGitignore = true, pause } = options;
  const start = source.locate?.(options.path || ".") ?? normalize(options.path);
  // An allowed path is a root of its own, and rules are about paths relative to their root.
  const root = start.startsWith("/") ? `${start}/` : "";
  const isBelowRoot = root === "";
  const rules = respectGitignore && isBelowRoot ? await rulesAbove(source, start) : new IgnoreRules();
  const folder = await source.folder(start === "" ? "." : start);
  await enter(folder, start, rules, 1);

  async function enter(
    folder: ScanFolder,
    directory: string,
    above: IgnoreRules,
    depth: number,
  ): Promise<boolean | void> {
    try {
      const entries = (await folder.entries()).sort((a, b) => (a.name < b.name ? -1 : 1));
      const inside = directory.slice(root.length);
      const rules = respectGitignore ? await rulesOf(folder, inside, entries, above) : above;
      for (const { name, type } of entries) {
        if (name === ".git" || (!showHidden && name.startsWith("."))) continue;
        const path = directory === "" ? name : `${directory}/${name}`;
        if (respectGitignore && rules.leavesOutEntry(path.slice(root.length), type === "directory")) continue;
        if (pause) await pause();
        const visited = visit({ path, name, type, depth }, folder);
        if (typeof visited === "object" ? await visited : visited) return true;
        if (type !== "directory" || depth >= Math.min(maxDepth, MAX_DEPTH)) continue;
        const child = await folder.folder(name);
        if (child && (await enter(child, path, rules, depth + 1))) return true;
      }
    } finally {
      folder.close();
    }
    return false;
  }
}

/** A path relative to the root, without `.` and leading slashes; the root is an empty string. */
export function normalize(path: string): string {
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "..") {
      if (names.pop() === undefined) throw new PermissionError(path, "the path leaves the workspace.");
    } else if (name !== "" && name !== ".") names.push(name);
  }
  return names.join("/");
}

/** The rules of the directories above the start. If they leave the start out, none apply. */
async function rulesAbove(source: ScanSource, start: string): Promise<IgnoreRules> {
  let rules = new IgnoreRules();
  const names = start.split("/").filter(Boolean);
  let folder: ScanFolder | undefined = names.length > 0 ? await source.folder(".") : undefined;
  for (let depth = 0; depth < names.length && folder; depth++) {
    const directory = names.slice(0, depth).join("/");
    let child: ScanFolder | undefined;
    try {
      rules = await rules.inside(directory, await readRules(folder, IGNORE_FILES, true));
      if (rules.leavesOut(names.slice(0, depth + 1).join("/"), true)) return new IgnoreRules();
      child = depth + 1 < names.length ? await folder.folder(names[depth]!) : undefined;
    } finally {
      folder.close();
    }
    folder = child;
  }
  return rules;
}

async function rulesOf(
  folder: ScanFolder,
  directory: string,
  entries: readonly { name: string; type: FileEntry["type"] }[],
  rules: IgnoreRules,
): Promise<IgnoreRules> {
  const names: string[] = [];
  let isRepository = false;
  for (const { name, type } of entries) {
    // Sorted: the names with a dot come early.
    if (name > ".j") break;
    if (type === "file" && IGNORE_FILES.includes(name)) names.push(name);
    else if (type === "directory" && name === ".git") isRepository = true;
  }
  if (names.length === 0 && !isRepository) return rules;
  const strongestLast = IGNORE_FILES.filter((name) => names.includes(name));
  return rules.inside(directory, await readRules(folder, strongestLast, isRepository));
}

async function readRules(
  folder: ScanFolder,
  names: readonly string[],
  isRepository: boolean,
): Promise<string[]> {
  const texts: string[] = [];
  if (isRepository) texts.push(await readExclude(folder));
  for (const name of names) texts.push(decode(await folder.read(name, MAX_RULE_BYTES)));
  return texts;
}

/** `.git/info/exclude`: rules that are not checked in. */
async function readExclude(folder: ScanFolder): Promise<string> {
  const git = await folder.folder(".git");
  try {
    const info = await git?.folder("info");
    try {
      return decode(await info?.read("exclude", MAX_RULE_BYTES));
    } finally {
      info?.close();
    }
  } finally {
    git?.close();
  }
}

function decode(bytes: Uint8Array | undefined): string {
  return bytes ? new TextDecoder().decode(bytes) : "";
}
