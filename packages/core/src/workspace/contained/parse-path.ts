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
 * path lies in one of the roots. `..` must not leave the root, and `~` is an ordinary name. Links are not resolved here.
 */
export function parsePath(path: string, roots: readonly string[]): ParsedPath {
  if (typeof path !== "string" || path === "") {
    throw new AgentError("invalid-argument", `path must be a non-empty string, but got ${showValue(path)}.`);
  }
  if (path.includes("\0")) throw new PermissionError(JSON.stringify(path), "a path cannot contain NUL.");
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new PermissionError(`${path.slice(0, 100)}…`, `a path can have at most ${MAX_PATH_BYTES} bytes.`);
  }
  const root = path.startsWith("/") ? roots.findIndex((one) => isWithin(posix.normalize(path), one)) : 0;
  const names: string[] = [];
  const relative =
    root < 0 || !path.startsWith("/") ? path : posix.normalize(path).slice(roots[root]!.length);
  for (const name of relative.split("/")) {
    if (name === "" || name === ".") continue;
    if (name === "..") {
      if (names.pop() === undefined) throw new PermissionError(path, "the path leaves the workspace.");
    } else names.push(checkName(name, path));
  }
  return { root: Math.max(root, 0), names };
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
