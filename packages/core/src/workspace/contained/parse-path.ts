import { posix } from "node:path";
import { AgentError, showValue } from "../../errors.ts";
import { PermissionError } from "../workspace-errors.ts";

const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;

/** A path below one of the roots: which root, and the names from there. */
export interface ParsedPath {
  root: number;
  names: string[];
}

/**
 * Resolves a caller's path lexically. It is relative to the first root; a leading `/` also means that root, unless the
 * path lies in one of the roots, or in the same place of `aliases`: how the roots were given. `..` must not leave the root, and `~` is an ordinary name. Links are not resolved here.
 */
export function parsePath(
  path: string,
  roots: readonly string[],
  aliases: readonly string[] = [],
): ParsedPath {
  if (typeof path !== "string" || path === "") {
    throw new AgentError("invalid-argument", `path must be a non-empty string, but got ${showValue(path)}.`);
  }
  if (path.includes("\0")) throw new PermissionError(JSON.stringify(path), "a path cannot contain NUL.");
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new PermissionError(`${path.slice(0, 100)}…`, `a path can have at most ${MAX_PATH_BYTES} bytes.`);
  }
  const absolute = path.startsWith("/") ? posix.normalize(path) : undefined;
  const find = (among: readonly string[]): number =>
    absolute === undefined ? -1 : among.findIndex((one) => isWithin(absolute, one));
  const [inRoot, inAlias] = [find(roots), find(aliases)];
  const root = inRoot >= 0 ? inRoot : inAlias;
  const base = inRoot >= 0 ? roots[inRoot]! : (aliases[inAlias] ?? "");
  const names: string[] = [];
  const relative = root >= 0 ? absolute!.slice(base.length) : path;
  for (const name of relative.split("/")) {
    if (name === "" || name === ".") continue;
    if (name === "..") {
      if (names.pop() === undefined) throw new PermissionError(path, "the path leaves the workspace.");
    } else names.push(checkName(name, path));
  }
  return { root: Math.max(root, 0), names };
}

/** A path relative to the first root, or an absolute one in another root. */
export function locatePath(path: string, roots: readonly string[]): string {
  const { root, names } = parsePath(path, roots);
  return (root === 0 ? names : [roots[root], ...names]).join("/");
}

/** Whether an absolute normalised path is a directory or lies below it. */
export function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

function checkName(name: string, path: string): string {
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
    throw new PermissionError(`${path.slice(0, 100)}…`, `a name can have at most ${MAX_NAME_BYTES} bytes.`);
  }
  if (process.platform === "win32" && (/[:\\]|[. ]$/.test(name) || WINDOWS_DEVICE.test(name))) {
    throw new PermissionError(path, `${JSON.stringify(name)} is not a valid file name on Windows.`);
  }
  return name;
}

const WINDOWS_DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;
