import { cutOutput } from "./cut-output.ts";
import { findEntries, type FoundEntry } from "./find-entries.ts";
import { globber } from "./globber.ts";
import type { ScanContext } from "./scan/scan-context.ts";
import type { ScanSource } from "./scan/scan-source.ts";

export interface ListInput {
  path?: string;
  maxDepth?: number;
  showHidden?: boolean;
  dirsOnly?: boolean;
  exclude?: string | string[];
  extension?: string | string[];
  pattern?: string | string[];
  respectGitignore?: boolean;
}

const MARKS = { file: "", directory: "/", symlink: "@" } as const;

/** The files below a directory as a tree, for a model. */
export async function listFiles(
  source: ScanSource,
  input: ListInput & { maxOutputTokens: number },
  { pause }: ScanContext = {},
): Promise<string> {
  const { path = ".", maxDepth = 2, showHidden = false, dirsOnly = false, respectGitignore = true } = input;
  const isExcluded = input.exclude ? await globber(input.exclude, true) : () => false;
  const isWanted = input.pattern ? await globber(input.pattern, showHidden) : () => true;
  const extensions = [input.extension ?? []].flat().map((one: string) => `.${one.replace(/^\./, "")}`);
  const found: FoundEntry[] = [];
  // A directory comes before its contents.
  let excluded: FoundEntry | undefined;
  await findEntries(source, { path, maxDepth, showHidden, respectGitignore, pause }, (entry) => {
    if (isBelow(excluded, entry)) return;
    if (isExcluded(entry.path)) {
      excluded = entry;
      return;
    }
    if (entry.type !== "directory") {
      if (dirsOnly || !isWanted(entry.path)) return;
      if (extensions.length > 0 && !extensions.some((one) => entry.name.endsWith(one))) return;
    }
    found.push(entry);
  });
  const shown = input.pattern || extensions.length > 0 ? withoutEmpty(found) : found;
  const lines = shown.map(({ name, type, depth }) => `${"\t".repeat(depth - 1)}${name}${MARKS[type]}`);
  const directories = shown.filter(({ type }) => type === "directory").length;
  return cutOutput(
    `${path}: ${plural(directories, "directory", "directories")}, ${plural(shown.length - directories, "file", "files")}\n${lines.join("\n")}`,
    input.maxOutputTokens,
  );
}

function isBelow(directory: FoundEntry | undefined, { path }: FoundEntry): boolean {
  return directory !== undefined && path.startsWith(`${directory.path}/`);
}

/** Leaves out directories that have no wanted file in them. */
function withoutEmpty(entries: readonly FoundEntry[]): FoundEntry[] {
  const used = new Set<string>();
  for (const { path, type } of entries) {
    if (type === "directory") continue;
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
      const directory = path.slice(0, at);
      if (used.has(directory)) break;
      used.add(directory);
    }
  }
  return entries.filter(({ type, path }) => type !== "directory" || used.has(path));
}

function plural(count: number, one: string, many: string): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
