import { AgentError, showValue } from "../errors.ts";
import { SafePattern } from "../processor/safe-pattern.ts";
import type { System } from "../system.ts";
import { findEntries, normalize } from "./find-entries.ts";
import { toText } from "./text-file.ts";
import type { WorkspaceFilesystem } from "./workspace-filesystem.ts";

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

interface GrepOptions {
  system: System;
  signal?: AbortSignal | undefined;
  /** Files whose content must not be shown. */
  isSensitive(path: string): boolean;
}

const MAX_PATTERN = 1000;
const MAX_MATCHES = 1000;
const MAX_FILE_BYTES = 5 * 1024 * 1024;
const MAX_LINE = 500;
const TIME_LIMIT_MS = 20_000;
/** Other work gets a turn at least this often. */
const SLICE_MS = 10;
const GLOB = /[*?[\]{}]/;

/** Searches text files for a JavaScript regular expression, line by line. A pattern cannot block the process. */
export async function grepFiles(
  files: WorkspaceFilesystem,
  input: GrepInput,
  { system, signal, isSensitive }: GrepOptions,
): Promise<GrepResult> {
  const { contextLines = 0, maxCount = MAX_MATCHES } = input;
  const pattern = toPattern(input);
  const literal = /^[\w \-/:;,"'=<>@#%&!~`]+$/.test(input.pattern) && input.caseSensitive !== false;
  const result: GrepResult = { matches: [], files: 0, searched: 0, skipped: 0 };
  const deadline = system.monotonic() + TIME_LIMIT_MS;
  let sliceEnd = system.monotonic() + SLICE_MS;
  for await (const { path, size = 0 } of filesOf(files, input, signal)) {
    if (system.monotonic() > deadline) return { ...result, stopped: `after ${TIME_LIMIT_MS / 1000} s` };
    if (system.monotonic() > sliceEnd) {
      await new Promise<void>((resolve) => void system.setTimer(0, resolve));
      sliceEnd = system.monotonic() + SLICE_MS;
    }
    if (size > MAX_FILE_BYTES || isSensitive(path)) {
      result.skipped++;
      continue;
    }
    const bytes = (await files.readFile(path)) as Buffer;
    result.searched++;
    if (literal && !bytes.includes(input.pattern)) continue;
    const file = toText(bytes);
    if (typeof file === "string") {
      result.searched--;
      result.skipped++;
      continue;
    }
    const spans = spansIn(pattern, file.text, path, result);
    if (spans.length > 0) result.files++;
    for (const match of toMatches(path, file.text, spans, Math.min(maxCount, MAX_MATCHES), contextLines)) {
      if (result.matches.length >= MAX_MATCHES) return { ...result, stopped: `after ${MAX_MATCHES} matches` };
      result.matches.push(match);
    }
    if (result.stopped) return result;
  }
  return result;
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

async function* filesOf(
  files: WorkspaceFilesystem,
  { path = ".", includeHidden = false }: GrepInput,
  signal: AbortSignal | undefined,
): AsyncGenerator<{ path: string; size?: number | undefined }> {
  const isGlob = GLOB.test(path) && !(await files.exists(path));
  if (!isGlob) {
    const found = await files.stat(path);
    if (found.type !== "directory") return yield { path, size: found.size };
  }
  const start = isGlob ? startOf(path) : path;
  const matches = isGlob ? await globber(path, includeHidden) : () => true;
  for await (const entry of findEntries(files, { path: start, showHidden: includeHidden, signal })) {
    if (entry.type === "file" && matches(entry.path)) yield entry;
  }
}

/** A test of paths relative to the root. */
export async function globber(
  patterns: string | readonly string[],
  includeHidden: boolean,
): Promise<(path: string) => boolean> {
  const { default: picomatch } = await import("picomatch");
  // A pattern without a slash is about names, at any depth.
  const globs = [patterns].flat().map((one) => (one.includes("/") ? normalize(one) : `**/${one}`));
  return picomatch(globs, { dot: includeHidden });
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

function toPattern({ pattern, caseSensitive = true }: GrepInput): SafePattern {
  if (typeof pattern !== "string" || pattern === "" || pattern.length > MAX_PATTERN) {
    throw new AgentError(
      "invalid-argument",
      `pattern must be a regular expression of 1 to ${MAX_PATTERN} characters, but got ${showValue(pattern)}.`,
    );
  }
  try {
    return new SafePattern(new RegExp(pattern, caseSensitive ? "m" : "mi"));
  } catch (error) {
    throw new AgentError(
      "invalid-argument",
      `pattern is not a valid regular expression: ${(error as Error).message}.`,
    );
  }
}

function spansIn(pattern: SafePattern, text: string, path: string, result: GrepResult): { start: number }[] {
  try {
    return pattern.find(text);
  } catch (error) {
    if (!AgentError.is(error, "limit-exceeded")) throw error;
    result.stopped = `at ${path}: the pattern takes too long. Write it without repetitions inside repetitions`;
    return [];
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
  const lines = text.split("\n");
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

function cut(line: string): string {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  return text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}… (${text.length} characters)` : text;
}

function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
