import { lstatSync, mkdirSync, readlinkSync } from "node:fs";
import { posix } from "node:path";
import {
  DirectoryNotFoundError,
  DiskFullError,
  FileLimitError,
  FileNotFoundError,
  NotDirectoryError,
  PermissionError,
} from "../workspace-errors.ts";
import { type Directory, openDirectory } from "./directory.ts";
import { isWithin, parsePath } from "./parse-path.ts";

const CREATE_PARENT = "Create it first, or write with recursive: true.";
const MAX_LINKS = 40;

/** An entry of an open directory, or the root itself. Close it after use. */
export interface Place {
  directory: Directory;
  /** Absent for a root. */
  name: string | undefined;
  /** The path without links, as an identity for locks and records. */
  realPath: string;
  /** A path to the entry that is valid until `close`. */
  path: string;
  close(): void;
}

export interface WalkOptions {
  /** Resolve a link at the end of the path. */
  follow: boolean;
  /** Create missing parent directories. */
  createParents?: boolean;
  /** The roots as they were given, with links. */
  aliases?: readonly string[];
}

/**
 * Walks to an entry, component by component from an open handle of its root. Every name is looked up in a directory that
 * is already open, and links are resolved by the same rules, so no path is checked by name and used by name afterwards.
 * `roots` are real paths; the first is the workspace's own.
 */
export function walk(path: string, roots: readonly string[], options: WalkOptions): Place {
  const { root, names } = parsePath(path, roots, options.aliases);
  return new Walk(path, roots, options).from(root, names);
}

class Walk {
  readonly #shown: string;
  readonly #roots: readonly string[];
  readonly #options: WalkOptions;
  #links = 0;

  constructor(shown: string, roots: readonly string[], options: WalkOptions) {
    this.#shown = shown;
    this.#roots = roots;
    this.#options = options;
  }

  from(root: number, names: string[]): Place {
    let next: Start | Place = { root, names };
    while (!("directory" in next)) next = this.#pass(next);
    return next;
  }

  /** Walks until the entry is found, or until a link or `..` makes it start elsewhere. */
  #pass({ root, names }: Start): Start | Place {
    const base = this.#roots[root]!;
    const walked: string[] = [];
    const rest = [...names];
    let directory: Directory | undefined = openRoot(base, this.#shown);
    try {
      for (;;) {
        const name = rest.shift();
        if (name === undefined) return place(release(), undefined, base);
        if (name === "." || name === "") continue;
        if (name === "..") {
          if (walked.length === 0) return this.#startAt(posix.join(posix.dirname(base), ...rest));
          return { root, names: [...walked.slice(0, -1), ...rest] };
        }
        const target = this.#linkAt(directory, name, rest.length === 0);
        if (target?.startsWith("/")) return this.#startAt(posix.join(target, ...rest));
        if (target !== undefined) rest.unshift(...target.split("/"));
        else if (rest.length === 0) return place(release(), name, posix.join(base, ...walked, name));
        else {
          const child = this.#enter(directory, name);
          directory.close();
          directory = child;
          walked.push(name);
        }
      }
    } finally {
      directory?.close();
    }

    function release(): Directory {
      const released = directory!;
      directory = undefined;
      return released;
    }
  }

  /** The target of a link that has to be followed. */
  #linkAt(directory: Directory, name: string, isLast: boolean): string | undefined {
    if (isLast && !this.#options.follow) return undefined;
    if (!lstatSync(directory.at(name), { throwIfNoEntry: false })?.isSymbolicLink()) return undefined;
    this.#links += 1;
    if (this.#links > MAX_LINKS)
      throw new PermissionError(this.#shown, `the path has more than ${MAX_LINKS} links.`);
    return readlinkSync(directory.at(name));
  }

  #enter(directory: Directory, name: string): Directory {
    try {
      return directory.child(name);
    } catch (error) {
      if (codeOf(error) !== "ENOENT" || !this.#options.createParents)
        throw toPathError(error, this.#shown, this.#options.createParents === undefined ? "entry" : "parent");
    }
    try {
      mkdirSync(directory.at(name));
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw toPathError(error, this.#shown, "parent");
    }
    return directory.child(name);
  }

  /** An absolute path, which must lie in one of the roots. */
  #startAt(path: string): Start {
    const target = posix.normalize(path);
    const root = this.#roots.findIndex((one) => isWithin(target, one));
    if (root < 0) throw new PermissionError(this.#shown, "a link in the path leads out of the workspace.");
    return { root, names: target.slice(this.#roots[root]!.length).split("/").filter(Boolean) };
  }
}

/** Where to walk from: a root, and the names below it. */
interface Start {
  root: number;
  names: string[];
}

/** Converts Node's error to one that names the path as the caller gave it. */
export function toPathError(
  error: unknown,
  shown: string,
  what: "entry" | "directory" | "parent" = "entry",
): unknown {
  switch (codeOf(error)) {
    case "ENOENT":
      if (what === "entry") return new FileNotFoundError(shown);
      return new DirectoryNotFoundError(shown, what === "parent" ? CREATE_PARENT : undefined);
    case "ENOTDIR":
    case "ELOOP":
      return new NotDirectoryError(shown);
    case "EACCES":
    case "EPERM":
      return new PermissionError(shown, "the operating system denies access.");
    case "EROFS":
      return new PermissionError(shown, "the file system is read-only.");
    case "ENOSPC":
    case "EDQUOT":
      return new DiskFullError(shown);
    case "EFBIG":
      return new FileLimitError(shown, "the file system does not allow files of this size.");
    case "ENAMETOOLONG":
      return new PermissionError(shown, "the name is too long.");
    case "EKERNELFS":
      return new PermissionError(shown, "kernel and device file systems cannot be used.");
    case "ESTALE":
      return new PermissionError(shown, "a directory in the path was replaced during the operation.");
    default:
      return error;
  }
}

export function codeOf(error: unknown): string | undefined {
  return (error as { code?: string } | null)?.code;
}

function openRoot(base: string, shown: string): Directory {
  try {
    return openDirectory(base);
  } catch (error) {
    throw toPathError(error, shown, "parent");
  }
}

function place(directory: Directory, name: string | undefined, realPath: string): Place {
  return {
    directory,
    name,
    realPath,
    get path() {
      return name === undefined ? directory.self : directory.at(name);
    },
    close: () => directory.close(),
  };
}
