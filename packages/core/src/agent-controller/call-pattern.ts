/** A parsed key of the rules by tool. */
export interface CallRule {
  toolName: string;
  /** What the call's main argument must look like; absent if the rule applies to every call. */
  pattern: string | undefined;
}

/** `name` or `name(pattern)`. */
export function parseRule(key: string): CallRule {
  const open = key.indexOf("(");
  if (open <= 0 || !key.endsWith(")")) return { toolName: key, pattern: undefined };
  return { toolName: key.slice(0, open), pattern: key.slice(open + 1, -1) };
}

/** Whether a key is valid. An unclosed parenthesis would be a rule that never applies. */
export function isRule(key: string): boolean {
  const { toolName, pattern } = parseRule(key);
  return toolName !== "__proto__" && !/[()\s]/.test(toolName) && pattern !== "";
}

/** The arguments that patterns are matched against, if a tool has them. */
/** Names that tools use for the file they work on. */
export const PATH_ARGUMENTS = ["path", "filePath", "file_path", "file"] as const;
const MAIN_ARGUMENTS = ["command", "cmd", ...PATH_ARGUMENTS, "url"] as const;

/** Where a shell begins another command, sends output elsewhere, or puts in what a command prints. */
const OPERATORS = /[;&|<>`()\n\r\0]|\$[({]/;
const PARENT_FOLDER = /(?:^|[\\/])\.\.(?:[\\/]|$)/;
const MAX_DEPTH = 8;

/**
 * Whether a call fits a pattern, in which `*` stands for any text without a shell operator. For permission (`whole`) all of
 * the call's main arguments must fit as a whole, and not climb out of a folder: of two, the tool may use either. For a
 * refusal or a question (`any`) it is enough that one of the commands in any of its texts fits, however it is written.
 */
export function matchesCall(pattern: string, args: unknown, how: "whole" | "any"): boolean {
  if (how === "any") return allTexts(args, 0).some((text) => fitsSomewhere(pattern, text));
  const texts = mainArguments(args);
  return texts.length > 0 && texts.every((text) => fitsAsAWhole(pattern, text));
}

function fitsAsAWhole(pattern: string, text: string): boolean {
  if (text === pattern) return true;
  return !OPERATORS.test(text) && !PARENT_FOLDER.test(text) && fits(pattern, text);
}

function fitsSomewhere(pattern: string, text: string): boolean {
  const plain = text.normalize().replaceAll(/\$\{IFS\}|\$IFS\b|\t/g, " ");
  const unquoted = plain.replaceAll(/["'\\]/g, "");
  return [text, plain, unquoted]
    .flatMap((one) => [one, ...one.split(OPERATORS)])
    .map((part) => part.trim())
    .some((part) => fits(pattern, part) || fits(pattern, plainPath(part)));
}

/** A normalised path, without `.` and `..`. */
function plainPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split(/[\\/]+/)) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}

function mainArguments(args: unknown): string[] {
  if (typeof args === "string") return [args];
  if (typeof args !== "object" || args === null) return [];
  const record = args as Record<string, unknown>;
  const named = MAIN_ARGUMENTS.flatMap((name) => (Object.hasOwn(record, name) ? [record[name]] : []));
  // A list in place of a string cannot be allowed by a pattern.
  if (named.length > 0) return named.every((value) => typeof value === "string") ? named : [];
  if (typeof record["query"] === "string") return [record["query"]];
  const texts = Object.values(record).filter((value) => typeof value === "string");
  return texts.length === 1 ? texts : [];
}

function allTexts(value: unknown, depth: number): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return [];
  const texts = Object.values(value).flatMap((item) => allTexts(item, depth + 1));
  return Array.isArray(value) && texts.length > 1 ? [...texts, texts.join(" ")] : texts;
}

/** Wildcard matching: at each mismatch, the last star consumes one more character. */
function fits(pattern: string, text: string): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let taken = 0;
  while (at < text.length) {
    if (next < pattern.length && pattern[next] === "*") {
      star = next++;
      taken = at;
    } else if (next < pattern.length && pattern[next] === text[at]) {
      at++;
      next++;
    } else if (star >= 0) {
      next = star + 1;
      at = ++taken;
    } else return false;
  }
  while (pattern[next] === "*") next++;
  return next === pattern.length;
}
