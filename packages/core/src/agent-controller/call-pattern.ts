/** A key of the rules by tool, read. */
export interface CallRule {
  toolName: string;
  /** What the call's main argument must look like; absent where the rule is about every call. */
  pattern: string | undefined;
}

/** `name` or `name(pattern)`. */
export function parseRule(key: string): CallRule {
  const open = key.indexOf("(");
  if (open <= 0 || !key.endsWith(")")) return { toolName: key, pattern: undefined };
  return { toolName: key.slice(0, open), pattern: key.slice(open + 1, -1) };
}

/** Which argument a pattern is about, by preference. */
const MAIN_ARGUMENTS = ["command", "cmd", "path", "filePath", "file_path", "file", "url", "query"] as const;

/** Where a shell begins another command, sends output elsewhere, or puts in what a command prints. */
const OPERATORS = /[;&|<>`()\n\r\0]|\$[({]/;
const PARENT_FOLDER = /(?:^|[\\/])\.\.(?:[\\/]|$)/;

/**
 * Whether a call's main argument fits a pattern, in which `*` stands for any text without a shell operator. For
 * permission (`whole`) the argument as a whole must fit, and not climb out of a folder. For a refusal or a question
 * (`any`) it is enough that one of the commands in it fits.
 */
export function matchesCall(pattern: string, args: unknown, how: "whole" | "any"): boolean {
  const subject = mainArgument(args);
  if (subject === undefined) return false;
  if (how === "any") return [subject, ...subject.split(OPERATORS)].some((part) => fits(pattern, part.trim()));
  if (subject === pattern) return true;
  return !OPERATORS.test(subject) && !PARENT_FOLDER.test(subject) && fits(pattern, subject);
}

function mainArgument(args: unknown): string | undefined {
  if (typeof args === "string") return args;
  if (typeof args !== "object" || args === null) return undefined;
  const record = args as Record<string, unknown>;
  for (const name of MAIN_ARGUMENTS) {
    const value = Object.hasOwn(record, name) ? record[name] : undefined;
    if (typeof value === "string") return value;
  }
  const texts = Object.values(record).filter((value) => typeof value === "string");
  return texts.length === 1 ? texts[0] : undefined;
}

/** The usual match with stars: at each mismatch the last star takes one character more. */
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
