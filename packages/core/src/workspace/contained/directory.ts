import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  statfsSync,
  statSync,
  type Stats,
} from "node:fs";
import { join } from "node:path";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const OPEN_DIRECTORY = O_RDONLY | (O_DIRECTORY ?? 0) | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0);
/** procfs, sysfs, cgroup, cgroup2, debugfs, tracefs, securityfs and devpts. */
const KERNEL_FILESYSTEMS = new Set([
  0x9fa0, 0x62656572, 0x27e0eb, 0x63677270, 0x64626720, 0x74726163, 0x73636673, 0x1cd1,
]);

/**
 * A directory that stays the same one, whatever happens to its name. `at(name)` is a path to one of its entries that is
 * valid until `close`.
 *
 * On Linux the path goes through the open handle (`/proc/self/fd/<n>/<name>`), so it behaves like `openat`: swapping a
 * parent for a link has no effect. Elsewhere the directory's identity is compared each time a path is made.
 */
export interface Directory {
  readonly device: number;
  /** The directory itself. */
  readonly self: string;
  at(name: string): string;
  /** Opens an entry that is a directory and not a link. Throws Node's error otherwise. */
  child(name: string): Directory;
  close(): void;
}

/** Whether paths are bound to open handles here (`strict`), or only compared (`checked`). */
export const containment: "strict" | "checked" = hasHandlePaths() ? "strict" : "checked";

/** Opens a root by its real path. */
export function openDirectory(path: string): Directory {
  return containment === "strict"
    ? new HandleDirectory(openSync(path, OPEN_DIRECTORY))
    : new NamedDirectory(path);
}

/** The path that a directory has without links. */
export function realDirectory(path: string): string {
  const real = realpathSync.native(path);
  if (!statSync(real).isDirectory()) throw Object.assign(new Error("not a directory"), { code: "ENOTDIR" });
  return real;
}

/** Creates a missing root. A path that cannot be created is refused when the root is opened. */
export function makeRoot(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch {
    // Another entry is there, or a directory above cannot be written.
  }
}

export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

class HandleDirectory implements Directory {
  readonly #handle: number;
  readonly device: number;
  readonly self: string;

  constructor(handle: number, parentDevice?: number) {
    this.#handle = handle;
    this.self = `/proc/self/fd/${handle}`;
    this.device = fstatSync(handle).dev;
    if (this.device !== parentDevice && isKernelFilesystem(this.self, this.device)) {
      closeSync(handle);
      throw Object.assign(new Error("kernel filesystem"), { code: "EKERNELFS" });
    }
  }

  at(name: string): string {
    return `${this.self}/${name}`;
  }

  child(name: string): Directory {
    return new HandleDirectory(openSync(this.at(name), OPEN_DIRECTORY), this.device);
  }

  close(): void {
    closeSync(this.#handle);
  }
}

class NamedDirectory implements Directory {
  readonly device: number;
  readonly #path: string;
  readonly #inode: number;

  constructor(path: string) {
    const found = lstatSync(path);
    if (!found.isDirectory()) throw Object.assign(new Error("not a directory"), { code: "ENOTDIR" });
    this.#path = path;
    this.device = found.dev;
    this.#inode = found.ino;
  }

  get self(): string {
    const found: Stats = lstatSync(this.#path);
    if (found.dev !== this.device || found.ino !== this.#inode) {
      throw Object.assign(new Error("directory was replaced"), { code: "ESTALE" });
    }
    return this.#path;
  }

  at(name: string): string {
    return join(this.self, name);
  }

  child(name: string): Directory {
    return new NamedDirectory(this.at(name));
  }

  close(): void {}
}

function hasHandlePaths(): boolean {
  try {
    const handle = openSync("/", OPEN_DIRECTORY);
    try {
      return lstatSync(`/proc/self/fd/${handle}/.`).ino === fstatSync(handle).ino;
    } finally {
      closeSync(handle);
    }
  } catch {
    return false;
  }
}

function isKernelFilesystem(path: string, device: number): boolean {
  if (KERNEL_FILESYSTEMS.has(statfsSync(path).type)) return true;
  try {
    return statSync("/dev").dev === device && statSync("/").dev !== device;
  } catch {
    return false;
  }
}
