import { AgentError } from "../errors.ts";
import { IgnoreRules } from "./ignore-rules.ts";
import { PermissionError } from "./workspace-errors.ts";
import type { FileEntry, WorkspaceFilesystem } from "./workspace-filesystem.ts";

export interface FindOptions {
  /** Where to start, relative to the root. */
  path: string;
  maxDepth?: number;
  showHidden?: boolean;
  respectGitignore?: boolean;
  signal?: AbortSignal | undefined;
}

/** An entry below the start, with its path relative to the root. Directories come before their contents. */
export interface FoundEntry {
  path: string;
  name: string;
  type: FileEntry["type"];
  size?: number | undefined;
  depth: number;
}

const IGNORE_FILES = [".gitignore", ".ignore"];
const MAX_DEPTH = 64;

/**
 * Yields what is below a directory, sorted by name. Ignored entries are left out, unless the start itself is ignored: who
 * names a directory wants to see it. Links are listed and not followed.
 */
export async function* findEntries(
  files: WorkspaceFilesystem,
  options: FindOptions,
): AsyncGenerator<FoundEntry> {
  const { maxDepth = MAX_DEPTH, showHidden = false, respectGitignore = true, signal } = options;
  const start = normalize(options.path);
  yield* visit(start, respectGitignore ? await rulesAbove(files, start) : new IgnoreRules(), 1);

  async function* visit(directory: string, rules: IgnoreRules, depth: number): AsyncGenerator<FoundEntry> {
    signal?.throwIfAborted();
    const entries = await files.readdir(directory === "" ? "." : directory);
    const own = respectGitignore ? await rulesOf(files, directory, entries, rules) : rules;
    for (const { name, type, size } of entries) {
      const path = directory === "" ? name : `${directory}/${name}`;
      if (name === ".git" || (!showHidden && name.startsWith("."))) continue;
      if (respectGitignore && own.leavesOut(path, type === "directory")) continue;
      yield { path, name, type, size, depth };
      if (type === "directory" && depth < Math.min(maxDepth, MAX_DEPTH)) yield* visit(path, own, depth + 1);
    }
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
async function rulesAbove(files: WorkspaceFilesystem, start: string): Promise<IgnoreRules> {
  let rules = new IgnoreRules();
  const names = start.split("/").filter(Boolean);
  for (let depth = 0; depth < names.length; depth++) {
    const directory = names.slice(0, depth).join("/");
    rules = await rules.inside(directory, await readRules(files, directory, IGNORE_FILES));
    if (rules.leavesOut(names.slice(0, depth + 1).join("/"), true)) return new IgnoreRules();
  }
  return rules;
}

async function rulesOf(
  files: WorkspaceFilesystem,
  directory: string,
  entries: readonly FileEntry[],
  rules: IgnoreRules,
): Promise<IgnoreRules> {
  const there = entries.filter(({ name, type }) => type === "file" && IGNORE_FILES.includes(name));
  return there.length === 0
    ? rules
    : rules.inside(
        directory,
        await readRules(
          files,
          directory,
          there.map(({ name }) => name),
        ),
      );
}

async function readRules(
  files: WorkspaceFilesystem,
  directory: string,
  names: readonly string[],
): Promise<string[]> {
  const texts: string[] = [];
  for (const name of names) {
    try {
      const path = directory === "" ? name : `${directory}/${name}`;
      texts.push((await files.readFile(path, { encoding: "utf8" })) as string);
    } catch (error) {
      if (!AgentError.is(error)) throw error;
    }
  }
  return texts;
}
