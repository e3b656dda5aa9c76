import { isAscii, isUtf8 } from "node:buffer";
import { AgentError, showValue } from "../errors.ts";
import { SafePattern } from "../processor/safe-pattern.ts";
import { fileRules } from "./file-rules.ts";
import { findEntries, type FoundEntry } from "./find-entries.ts";
import { globber } from "./globber.ts";
import { requiredText } from "./scan/required-text.ts";
import type { ScanContext } from "./scan/scan-context.ts";
import type { ScanFolder, ScanSource } from "./scan/scan-source.ts";

export interface GrepInput {
  pattern: string;
  /** A file, a directory or a glob. */
  path?: string;
  contextLines?: number;
  /** Matches per file. */
  maxCount?: number;
  caseSensitive?: boolean;
  includeHidden?: boolean;
}

interface GrepMatch {
  path: string;
  line: number;
  column: number;
  text: string;
  before: string[];
  after: string[];
}

export interface GrepResult {
  matches: GrepMatch[];
  files: number;
  searched: number;
  /** Binary files, and files that are too large. */
  skipped: number;
  /** Why the search ended early. */
  stopped?: string;
}

/** What a search found since the last report. */
export interface GrepPart {
  matches: GrepMatch[];
  searched: number;
  skipped: number;
}

export interface GrepOptions {
  /** Globs of files whose content must not be shown. */
  sensitive: readonly string[];
  /** Search only these of the files, so that several threads can share the work. */
  share?: { count: number; mine: number };
}

const MAX_PATTERN = 1000;
const MAX_MATCHES = 1000;
const MAX_FILE_BYTES = 5 * 1024 * 1024;
const MAX_LINE = 500;
const REPORT_FILES = 1000;
const SNIFFED = 8 * 1024;
const GLOB = /[*?[\]{}]/;

/**
 * Searches text files for a JavaScript regular expression, and returns the matches that were not reported. In a thread, the
 * pattern may take any time; elsewhere one that takes too long stops the search.
 */
export async function grepFiles(
  source: ScanSource,
  { sensitive, share, ...input }: GrepInput & GrepOptions,
  { pause, report, isThread = false }: ScanContext<GrepPart> = {},
): Promise<GrepPart & { stopped?: string }> {
  const { contextLines = 0, maxCount = MAX_MATCHES, path = ".", includeHidden = false } = input;
  const pattern = new SafePattern(toPattern(input), isThread);
  const needle = Buffer.from(requiredText(input) ?? "");
  const { isSensitive } = await fileRules({ sensitive });
  let part: GrepPart = { matches: [], searched: 0, skipped: 0 };
  let found = 0;
  let stopped: string | undefined;
  const search = (file: FoundEntry, bytes: Buffer | undefined): boolean => {
    // What was found must not be lost if the pattern never ends in this file.
    if (report && (part.matches.length > 0 || part.searched + part.skipped >= REPORT_FILES)) {
      report(part);
      part = { matches: [], searched: 0, skipped: 0 };
    }
    const isMiss = bytes !== undefined && needle.length > 0 && !bytes.includes(needle);
    const text = bytes && !isMiss ? decode(bytes) : undefined;
    if (isMiss || text !== undefined) part.searched++;
    else part.skipped++;
    if (text === undefined) return false;
    try {
      const spans = pattern.find(text);
      for (const match of toMatches(file.path, text, spans, maxCount, contextLines)) {
        part.matches.push(match);
        if (++found > MAX_MATCHES) return true;
      }
      return false;
    } catch (error) {
      if (!AgentError.is(error, "limit-exceeded")) throw error;
      stopped = `at ${file.path}: ${TOO_SLOW}`;
      return true;
    }
  };
  await findFiles(source, { path, includeHidden, pause }, (file, folder) => {
    if (share && shareOf(file.name, share.count) !== share.mine) return false;
    // Behind a link, the name is that of the file it leads to.
    const isSecret = isSensitive(file.path) || isSensitive(file.name);
    const bytes = isSecret ? undefined : folder.read(file.name, MAX_FILE_BYTES);
    // Waiting for what is already there would take a fifth of the time.
    return bytes instanceof Promise ? bytes.then((read) => search(file, read)) : search(file, bytes);
  });
  return { ...part, ...(stopped !== undefined && { stopped }) };
}

export const TOO_SLOW = "the pattern takes too long. Avoid repetitions inside repetitions, such as (a+)+";

/** Joins what threads found into one result, in the order of paths. */
export function joinParts(parts: readonly GrepPart[], stopped?: string): GrepResult {
  const matches = parts.flatMap((part) => part.matches);
  const keys = new Map(matches.map(({ path }) => [path, path.replaceAll("/", "\0")]));
  matches.sort((a, b) => compare(keys.get(a.path)!, keys.get(b.path)!) || a.line - b.line);
  const why = stopped ?? (matches.length > MAX_MATCHES ? `after ${MAX_MATCHES} matches` : undefined);
  const shown = matches.slice(0, MAX_MATCHES);
  return {
    matches: shown,
    files: new Set(shown.map(({ path }) => path)).size,
    searched: parts.reduce((sum, { searched }) => sum + searched, 0),
    skipped: parts.reduce((sum, { skipped }) => sum + skipped, 0),
    ...(why !== undefined && { stopped: why }),
  };
}

/** The text for a model: totals first, then `path:line:column: text`. */
export function showGrep({ matches, files, searched, skipped, stopped }: GrepResult): string {
  const notes = [
    `${plural(matches.length, "match", "matches")} in ${plural(files, "file")}, ${plural(searched, "file")} searched`,
    ...(skipped > 0 ? [`${plural(skipped, "file")} skipped (binary, too large or sensitive)`] : []),
    ...(stopped ? [`stopped ${stopped}`] : []),
  ];
  const lines = matches.flatMap(({ path, line, column, text, before, after }) => [
    ...before.map((one, index) => `${path}-${line - before.length + index}- ${one}`),
    `${path}:${line}:${column}: ${text}`,
    ...after.map((one, index) => `${path}-${line + 1 + index}- ${one}`),
  ]);
  return [`${notes.join("; ")}.`, ...lines].join("\n");
}

/** Visits the files that a path names: one file, those below a directory, or those that match a glob. */
export async function findFiles(
  source: ScanSource,
  { path, includeHidden, pause }: { path: string; includeHidden: boolean; pause?: ScanContext["pause"] },
  visit: (file: FoundEntry, folder: ScanFolder) => boolean | Promise<boolean>,
): Promise<void> {
  const type = await typeOf(source, path);
  if (type === "directory" || type === undefined) {
    const glob = path.startsWith("/") ? located(source, path) : path;
    const matches = type ? () => true : await globber(glob, includeHidden);
    const start = type ? path : startOf(glob);
    return findEntries(source, { path: start, showHidden: includeHidden, pause }, (entry, folder) =>
      entry.type === "file" && matches(entry.path) ? visit(entry, folder) : false,
    );
  }
  const { folder, name } = await source.file(path);
  try {
    await visit({ path, name, type: "file", depth: 1 }, folder);
  } finally {
    folder.close();
  }
}

/** A glob that starts at a root, relative to the workspace's own. */
function located(source: ScanSource, path: string): string {
  const found = source.locate?.(path) ?? path;
  return found.startsWith("/") ? found : `./${found}`;
}

/** What is at a path; `undefined` for a glob. */
async function typeOf(source: ScanSource, path: string): Promise<FoundEntry["type"] | undefined> {
  try {
    return await source.typeOf(path);
  } catch (error) {
    if (GLOB.test(path) && AgentError.is(error, "not-found")) return undefined;
    throw error;
  }
}

/** The directories before the first part with a wildcard. */
function startOf(glob: string): string {
  const names = glob.split("/");
  return (
    names
      .slice(
        0,
        names.findIndex((name) => GLOB.test(name)),
      )
      .join("/") || "."
  );
}

/** Throws if the pattern is not valid. */
export function toPattern({ pattern, caseSensitive = true }: GrepInput): RegExp {
  if (typeof pattern !== "string" || pattern === "" || pattern.length > MAX_PATTERN) {
    throw new AgentError(
      "invalid-argument",
      `pattern must be a regular expression of 1 to ${MAX_PATTERN} characters, but got ${showValue(pattern)}.`,
    );
  }
  try {
    return new RegExp(pattern, caseSensitive ? "m" : "mi");
  } catch (error) {
    throw new AgentError(
      "invalid-argument",
      `pattern is not a valid regular expression: ${(error as Error).message}.`,
    );
  }
}

function* toMatches(
  path: string,
  text: string,
  spans: readonly { start: number }[],
  most: number,
  contextLines: number,
): Generator<GrepMatch> {
  if (spans.length === 0) return;
  const lines = text.replace(/\n$/, "").split("\n");
  let line = 0;
  let lineStart = 0;
  let last = -1;
  let count = 0;
  for (const { start } of spans) {
    while (lineStart + lines[line]!.length < start) lineStart += lines[line++]!.length + 1;
    if (line === last) continue;
    last = line;
    if (++count > most) return;
    yield {
      path,
      line: line + 1,
      column: start - lineStart + 1,
      text: cut(lines[line]!),
      before: lines.slice(Math.max(0, line - contextLines), line).map(cut),
      after: lines.slice(line + 1, line + 1 + contextLines).map(cut),
    };
  }
}

/** A share of the files, by name, of about the same size for all. */
function shareOf(name: string, count: number): number {
  let hash = 0;
  for (let at = 0; at < name.length; at++) hash = (hash * 31 + name.charCodeAt(at)) | 0;
  return (hash >>> 0) % count;
}

/** The text of a file, or `undefined` if it is binary. */
function decode(bytes: Buffer): string | undefined {
  if (bytes.subarray(0, SNIFFED).includes(0)) return undefined;
  if (isAscii(bytes)) return bytes.toString("latin1");
  if (!isUtf8(bytes)) return undefined;
  return bytes.toString("utf8").replace(/^\uFEFF/, "");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function cut(line: string): string {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  return text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}… (${text.length} characters)` : text;
}

function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
