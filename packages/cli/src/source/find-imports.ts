import { lineOf, maskSource } from "./mask-source.ts";

export interface FoundImport {
  /** As written: `@mastra/core/agent`, `./tools`. */
  module: string;
  line: number;
  /** Where the module's name stands in the source, without its quotes. */
  start: number;
  /** The values it imports by name; `default` is one. Empty for `import *`, `import()` and `require()`. */
  names: { name: string; line: number }[];
  /** It imports only types, so nothing is loaded. */
  typeOnly: boolean;
}

/** `import … from "m"` and `export … from "m"`. The clause has a maximum so that no text takes long. */
export const IMPORT_STATEMENT: RegExp =
  /(?<=(?:^|[;}])[ \t]{0,200})(?:import|export)\b(\s*type\b(?!\s*(?:,|from\b)))?([\w$\s{},*]{1,5000}?)\bfrom\s*["']([^"'\n]+)["']/gm;
/** `import "m"`, `import("m")` and `require("m")`. */
const CALL = /(?:(?<=(?:^|[;}])[ \t]{0,200})import\s*|\b(?:import|require)\s{0,20}\(\s*)["']([^"'\n]+)["']/gm;
const NAME = /(type\s+)?([\w$]+)(?:\s+as\s+[\w$]+)?\s*(?:,|$)/g;

/** What a source file imports, without running it. */
export function findImports(source: string): FoundImport[] {
  const code = maskSource(source);
  const found: FoundImport[] = [];
  for (const match of code.matchAll(IMPORT_STATEMENT)) {
    const [text, type, clause = "", module = ""] = match;
    const clauseAt = match.index + text.indexOf(clause, text.search(/\s|[{*]/));
    const names = type === undefined ? namesIn(clause) : [];
    const hasOnlyTypes = /^\s*\{[^}]*\w[^}]*\}\s*$/.test(clause) && names.length === 0;
    found.push({
      module,
      line: lineOf(source, match.index),
      start: match.index + text.length - 1 - module.length,
      names: names.map(({ name, at }) => ({ name, line: lineOf(source, clauseAt + at) })),
      typeOnly: type !== undefined || hasOnlyTypes,
    });
  }
  for (const match of code.matchAll(CALL)) {
    const [text, module = ""] = match;
    const start = match.index + text.length - 1 - module.length;
    found.push({ module, line: lineOf(source, match.index), start, names: [], typeOnly: false });
  }
  return found.sort((a, b) => a.start - b.start);
}

function namesIn(clause: string): { name: string; at: number }[] {
  const open = clause.indexOf("{");
  const names: { name: string; at: number }[] = [];
  const first = /^\s*([\w$]+)\s*(?:,|$)/.exec(clause);
  if (first) names.push({ name: "default", at: 0 });
  if (open === -1) return names;
  for (const match of clause.slice(open + 1, clause.indexOf("}", open)).matchAll(NAME))
    if (match[1] === undefined) names.push({ name: match[2]!, at: open + 1 + match.index });
  return names;
}
