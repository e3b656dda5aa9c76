import { cutOutput } from "../cut-output.ts";
import { type GrepInput, showGrep } from "../grep-files.ts";
import type { ListInput } from "../list-files.ts";
import { runScan } from "../scan/run-scan.ts";
import { searchText } from "../scan/search-text.ts";
import { fields, PATH, type WorkspaceTool } from "./tool-frame.ts";

const GREP_TOKENS = 12_000;
const LIST_TOKENS = 2000;
const NAMES = { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] } as const;

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
  run: ({ files, system, maxOutputTokens }, input, { abortSignal }) =>
    runScan(files, "list", { ...input, maxOutputTokens }, { system, signal: abortSignal }),
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
    const found = await searchText(files, input, {
      system,
      signal: abortSignal,
      sensitive: rules.sensitive,
    });
    return cutOutput(showGrep(found), maxOutputTokens);
  },
};
