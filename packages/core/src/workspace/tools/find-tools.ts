import { cutOutput } from "../cut-output.ts";
import { findEntries, type FoundEntry } from "../find-entries.ts";
import { globber, type GrepInput, grepFiles, showGrep } from "../grep-files.ts";
import { fields, PATH, type WorkspaceTool } from "./tool-frame.ts";

const GREP_TOKENS = 12_000;
const LIST_TOKENS = 2000;
const NAMES = { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] } as const;

interface ListInput {
  path?: string;
  maxDepth?: number;
  showHidden?: boolean;
  dirsOnly?: boolean;
  exclude?: string | string[];
  extension?: string | string[];
  pattern?: string | string[];
  respectGitignore?: boolean;
}

export const listFilesTool: WorkspaceTool<ListInput> = {
  name: "list_files",
  description: "List the files below a directory as a tree.",
  category: "read",
  readOnly: true,
  idempotent: true,
  maxOutputTokens: LIST_TOKENS,
  inputSchema: fields(
    {},
    {
      path: { ...PATH, default: "." },
      maxDepth: { type: "integer", minimum: 1, maximum: 64, default: 2 },
      showHidden: { type: "boolean", default: false },
      dirsOnly: { type: "boolean", default: false },
      exclude: { ...NAMES, description: "Globs to leave out." },
      extension: { ...NAMES, description: "Only files with these extensions." },
      pattern: { ...NAMES, description: "Only files that match these globs." },
      respectGitignore: { type: "boolean", default: true },
    },
  ),
  async run(frame, input, { abortSignal }) {
    const { path = ".", maxDepth = 2, showHidden = false, dirsOnly = false, respectGitignore = true } = input;
    const isExcluded = input.exclude ? await globber(input.exclude, true) : () => false;
    const isWanted = input.pattern ? await globber(input.pattern, showHidden) : () => true;
    const extensions = [input.extension ?? []].flat().map((one: string) => `.${one.replace(/^\./, "")}`);
    const found: FoundEntry[] = [];
    for await (const entry of findEntries(frame.files, {
      path,
      maxDepth,
      showHidden,
      respectGitignore,
      signal: abortSignal,
    })) {
      if (isExcluded(entry.path)) continue;
      if (entry.type !== "directory") {
        if (dirsOnly || !isWanted(entry.path)) continue;
        if (extensions.length > 0 && !extensions.some((one) => entry.name.endsWith(one))) continue;
      }
      found.push(entry);
    }
    const shown = input.pattern || extensions.length > 0 ? withoutEmpty(found) : found;
    const lines = shown.map(({ name, type, depth }) => `${"\t".repeat(depth - 1)}${name}${MARKS[type]}`);
    const directories = shown.filter(({ type }) => type === "directory").length;
    return cutOutput(
      `${path}: ${plural(directories, "directory", "directories")}, ${plural(shown.length - directories, "file", "files")}\n${lines.join("\n")}`,
      frame.maxOutputTokens,
    );
  },
};

export const grepTool: WorkspaceTool<GrepInput> = {
  name: "grep",
  description: "Search the contents of text files for a JavaScript regular expression.",
  category: "read",
  readOnly: true,
  idempotent: true,
  maxOutputTokens: GREP_TOKENS,
  inputSchema: fields(
    { pattern: { type: "string", minLength: 1, maxLength: 1000 } },
    {
      path: { type: "string", default: ".", description: "A file, a directory or a glob." },
      contextLines: { type: "integer", minimum: 0, maximum: 20, default: 0 },
      maxCount: { type: "integer", minimum: 1, description: "Matches per file." },
      caseSensitive: { type: "boolean", default: true },
      includeHidden: { type: "boolean", default: false },
    },
  ),
  async run({ files, rules, system, maxOutputTokens }, input, { abortSignal }) {
    const found = await grepFiles(files, input, {
      system,
      signal: abortSignal,
      isSensitive: rules.isSensitive,
    });
    return cutOutput(showGrep(found), maxOutputTokens);
  },
};

const MARKS = { file: "", directory: "/", symlink: "@" } as const;

/** Leaves out directories that have no wanted file in them. */
function withoutEmpty(entries: readonly FoundEntry[]): FoundEntry[] {
  const used = new Set<string>();
  for (const { path, type } of entries) {
    if (type === "directory") continue;
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
      used.add(path.slice(0, at));
  }
  return entries.filter(({ type, path }) => type !== "directory" || used.has(path));
}

function plural(count: number, one: string, many: string): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
