import { createHash } from "node:crypto";
import {
  close as closeCallback,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  type Dirent,
  read as readCallback,
  renameSync,
  rmdirSync,
  type Stats,
  unlinkSync,
  write as writeCallback,
} from "node:fs";
import { opendir } from "node:fs/promises";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { AgentError, showValue } from "../../errors.ts";
import type { System } from "../../system.ts";
import {
  DirectoryNotEmptyError,
  DirectoryNotFoundError,
  FileExistsError,
  FileLimitError,
  FileNotFoundError,
  IsDirectoryError,
  PermissionError,
} from "../workspace-errors.ts";
import { openDirectory, realDirectory } from "./directory.ts";
import { codeOf, type Place, toPathError, walk, type WalkOptions } from "./walk.ts";

const read = promisify(readCallback);
const write = promisify(writeCallback);
const close = promisify(closeCallback);
const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;

/** With the number of the process that made it. */
const TEMPORARY = /^\.selvedge-(\d+)-.*\.tmp$/;
const READ_PIECE = 256 * 1024;
const MAX_ENTRIES = 100_000;
const MAX_DEPTH = 64;

type EntryType = "file" | "directory" | "symlink" | "other";

export interface TreeEntry {
  name: string;
  type: EntryType;
  /** Of a regular file. */
  size?: number;
}

export interface TreeStat {
  /** The path without links. */
  realPath: string;
  /** Identifies the entry. A later one with the same name has another value. */
  id: string;
  type: EntryType;
  size: number;
  links: number;
  createdAt: Date;
  modifiedAt: Date;
}

/** An open regular file. */
export interface OpenFile extends TreeStat {
  /** The bytes from `position` on, at most `length`; fewer at the end. */
  read(position: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

export interface TreeWrite {
  overwrite: boolean;
  createParents: boolean;
  /** Called with the existing file right before it is replaced; throws to refuse. */
  check?: ((existing: OpenFile | undefined) => Promise<void>) | undefined;
}

/**
 * Files below some roots. Every operation walks from an open handle of its root (`walk.ts`), so links and renames during
 * an operation cannot lead it outside. Only regular files and directories are opened.
 */
export class FileTree {
  readonly #system: System;
  #roots: string[];
  #aliases: string[];

  /** Resolves the roots once. The first is the tree's own; the others can be reached by their absolute paths. */
  constructor(roots: readonly string[], system: System) {
    this.#system = system;
    this.#roots = roots.map(toRoot);
    this.#aliases = roots.map((root) => resolve(root));
  }

  get roots(): readonly string[] {
    return this.#roots;
  }

  allow(paths: readonly string[]): void {
    this.#roots = [this.#roots[0]!, ...paths.map(toRoot)];
    this.#aliases = [this.#aliases[0]!, ...paths.map((path) => resolve(path))];
  }

  /** The path without links: the identity of an entry that may not exist yet. */
  realPath(path: string): string {
    return this.#at(path, { follow: true }, (place) => place.realPath);
  }

  /** `undefined` if there is no such entry. */
  stat(path: string, follow = true): TreeStat | undefined {
    try {
      return this.#at(path, { follow }, (place) => {
        const found = lstatSync(place.path, { throwIfNoEntry: false });
        // The root is a handle path, which is a link itself.
        if (place.name === undefined) return toStat(place, lstatSync(place.directory.at(".")));
        return found && toStat(place, found);
      });
    } catch (error) {
      if (AgentError.is(error, "not-found")) return undefined;
      throw error;
    }
  }

  /** The entries of a directory, unsorted. Yields to the event loop while it reads. */
  async list(path: string): Promise<TreeEntry[]> {
    const place = this.#walk(path, { follow: true });
    try {
      const directory = place.name === undefined ? place.directory : place.directory.child(place.name);
      try {
        const entries: TreeEntry[] = [];
        for await (const entry of await opendir(directory.self, { bufferSize: 256 })) {
          const type = typeOf(entry);
          const size =
            type === "file"
              ? lstatSync(directory.at(entry.name), { throwIfNoEntry: false })?.size
              : undefined;
          entries.push({ name: entry.name, type, ...(size !== undefined && { size }) });
          if (entries.length > MAX_ENTRIES) {
            throw new FileLimitError(
              path,
              `the directory has more than ${MAX_ENTRIES.toLocaleString("en")} entries.`,
            );
          }
        }
        return entries;
      } finally {
        if (directory !== place.directory) directory.close();
      }
    } catch (error) {
      throw toPathError(error, path);
    } finally {
      place.close();
    }
  }

  open(path: string): OpenFile {
    return this.#at(path, { follow: true }, (place) => openPlace(place, path));
  }

  /**
   * Replaces or creates a file: writes a temporary file beside it, flushes it, and renames it over the target. So no
   * reader sees half a file, and a hard link is broken instead of written through.
   */
  async write(path: string, content: Uint8Array, options: TreeWrite): Promise<void> {
    const place = this.#walk(path, { follow: true, createParents: options.createParents });
    try {
      if (place.name === undefined) throw new IsDirectoryError(path);
      const existing = openIfThere(place, path);
      await existing?.close();
      if (existing && !options.overwrite) throw new FileExistsError(path);
      await this.#replace(place, path, content, existing?.mode, options);
    } catch (error) {
      throw toPathError(error, path, "parent");
    } finally {
      place.close();
    }
  }

  async #replace(
    place: Place,
    shown: string,
    content: Uint8Array,
    mode: number | undefined,
    { overwrite, check }: TreeWrite,
  ): Promise<void> {
    const temporary = place.directory.at(`.selvedge-${process.pid}-${this.#system.newId()}.tmp`);
    const handle = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666);
    try {
      try {
        for (let done = 0; done < content.length;) {
          done += (await write(handle, content, done, content.length - done, null)).bytesWritten;
        }
        if (mode !== undefined) fchmodSync(handle, mode & 0o7777);
        fsyncSync(handle);
      } finally {
        closeSync(handle);
      }
      if (check) {
        const existing = openIfThere(place, shown);
        await check(existing).finally(() => existing?.close());
      }
      if (overwrite) renameSync(temporary, place.path);
      else {
        // A link fails if the target exists, which a rename would replace.
        linkSync(temporary, place.path);
        unlinkSync(temporary);
      }
    } catch (error) {
      removeQuietly(temporary);
      if (codeOf(error) === "EEXIST") throw new FileExistsError(shown);
      if (codeOf(error) === "EISDIR") throw new IsDirectoryError(shown);
      throw error;
    }
    flushDirectory(place);
  }

  /** Deletes temporary files that dead processes left beside a file. */
  async removeLeftovers(path: string): Promise<void> {
    const place = this.#walk(path, { follow: true });
    try {
      for await (const { name } of await opendir(place.directory.self, { bufferSize: 256 })) {
        const pid = Number(TEMPORARY.exec(name)?.[1]);
        if (pid && isLeftover(place.directory.at(name), pid, this.#system))
          removeQuietly(place.directory.at(name));
      }
    } catch (error) {
      throw toPathError(error, path);
    } finally {
      place.close();
    }
  }

  /** Deletes a file or a link. */
  remove(path: string): void {
    this.#at(path, { follow: false }, (place) => {
      if (place.name === undefined)
        throw new PermissionError(path, "the root of a workspace cannot be deleted.");
      try {
        unlinkSync(place.path);
      } catch (error) {
        if (codeOf(error) === "EISDIR" || codeOf(error) === "EPERM") throw new IsDirectoryError(path);
        throw error;
      }
      flushDirectory(place);
    });
  }

  /** Deletes a directory. With `recursive`, links in it are deleted and not followed, and other mounts are refused. */
  async removeDirectory(path: string, recursive: boolean): Promise<void> {
    let place: Place | undefined;
    try {
      place = this.#walk(path, { follow: false });
      if (place.name === undefined)
        throw new PermissionError(path, "the root of a workspace cannot be deleted.");
      if (recursive) await removeContents(place.directory.child(place.name), path, place.directory.device, 0);
      rmdirSync(place.path);
      flushDirectory(place);
    } catch (error) {
      if (codeOf(error) === "ENOTEMPTY" || codeOf(error) === "EEXIST") throw new DirectoryNotEmptyError(path);
      if (error instanceof FileNotFoundError) throw new DirectoryNotFoundError(path);
      throw toPathError(error, path, "directory");
    } finally {
      place?.close();
    }
  }

  /** Returns false if the directory is already there. */
  makeDirectory(path: string, recursive: boolean): boolean {
    return this.#at(path, { follow: true, createParents: recursive }, (place) => {
      if (place.name === undefined) return false;
      try {
        mkdirSync(place.path);
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw toPathError(error, path, "parent");
        if (!lstatSync(place.path).isDirectory()) throw new FileExistsError(path);
        return false;
      }
      flushDirectory(place);
      return true;
    });
  }

  move(from: string, to: string, overwrite: boolean): void {
    this.#at(from, { follow: false }, (source) => {
      if (source.name === undefined)
        throw new PermissionError(from, "the root of a workspace cannot be moved.");
      const found = lstatSync(source.path, { throwIfNoEntry: false });
      if (!found) throw toPathError({ code: "ENOENT" }, from);
      this.#at(to, { follow: true, createParents: true }, (target) => {
        if (target.name === undefined) throw new FileExistsError(to);
        const existing = lstatSync(target.path, { throwIfNoEntry: false });
        if (existing && !overwrite) throw new FileExistsError(to);
        if (existing?.isDirectory() && !found.isDirectory()) throw new IsDirectoryError(to);
        try {
          if (overwrite || found.isDirectory()) renameSync(source.path, target.path);
          else {
            linkSync(source.path, target.path);
            unlinkSync(source.path);
          }
        } catch (error) {
          if (codeOf(error) === "EEXIST") throw new FileExistsError(to);
          if (codeOf(error) === "ENOTEMPTY") throw new DirectoryNotEmptyError(to);
          if (codeOf(error) === "EXDEV")
            throw new PermissionError(to, "the target is on another file system.");
          if (codeOf(error) === "EINVAL")
            throw new PermissionError(to, "a directory cannot move into itself.");
          throw error;
        }
        flushDirectory(source);
        flushDirectory(target);
      });
    });
  }

  #walk(path: string, options: WalkOptions): Place {
    return walk(path, this.#roots, { ...options, aliases: this.#aliases });
  }

  #at<Result>(path: string, options: WalkOptions, work: (place: Place) => Result): Result {
    const place = this.#walk(path, options);
    try {
      return work(place);
    } catch (error) {
      throw toPathError(error, path);
    } finally {
      place.close();
    }
  }
}

/** SHA-256 of a file, in hex. */
export async function hashFile(file: OpenFile): Promise<string> {
  const hash = createHash("sha256");
  for (let position = 0; ;) {
    const piece = await file.read(position, READ_PIECE);
    if (piece.length === 0) return hash.digest("hex");
    hash.update(piece);
    position += piece.length;
  }
}

function toRoot(path: string): string {
  if (typeof path !== "string" || path === "") {
    throw new AgentError(
      "invalid-argument",
      `A workspace path must be a non-empty string, but got ${showValue(path)}.`,
    );
  }
  try {
    const real = realDirectory(path);
    openDirectory(real).close();
    return real;
  } catch (error) {
    const reason = codeOf(error) === "ENOENT" ? "does not exist" : "cannot be opened as a directory";
    throw new AgentError(
      "invalid-argument",
      `${path} ${reason}. Create the directory, or pass another one.`,
      {
        cause: error,
      },
    );
  }
}

function openPlace(place: Place, shown: string): OpenFile & { mode: number } {
  if (place.name === undefined) throw new IsDirectoryError(shown);
  let handle: number;
  try {
    handle = openSync(place.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === "ENXIO") throw new PermissionError(shown, "only regular files can be opened.");
    throw error;
  }
  try {
    const stats = fstatSync(handle);
    if (stats.isDirectory()) throw new IsDirectoryError(shown);
    if (!stats.isFile()) throw new PermissionError(shown, "only regular files can be opened.");
    return {
      ...toStat(place, stats),
      mode: stats.mode,
      async read(position, length) {
        const buffer = Buffer.allocUnsafe(length);
        let filled = 0;
        while (filled < length) {
          const { bytesRead } = await read(handle, buffer, filled, length - filled, position + filled);
          if (bytesRead === 0) break;
          filled += bytesRead;
        }
        return buffer.subarray(0, filled);
      },
      close: () => close(handle),
    };
  } catch (error) {
    closeSync(handle);
    throw error;
  }
}

function openIfThere(place: Place, shown: string): (OpenFile & { mode: number }) | undefined {
  try {
    return openPlace(place, shown);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function removeContents(
  directory: ReturnType<typeof openDirectory>,
  shown: string,
  device: number,
  depth: number,
): Promise<void> {
  try {
    if (directory.device !== device)
      throw new PermissionError(shown, "another file system is mounted in it.");
    if (depth > MAX_DEPTH) throw new FileLimitError(shown, `it is more than ${MAX_DEPTH} levels deep.`);
    for await (const entry of await opendir(directory.self, { bufferSize: 256 })) {
      const path = directory.at(entry.name);
      if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) {
        await removeContents(directory.child(entry.name), shown, device, depth + 1);
        rmdirSync(path);
      } else unlinkSync(path);
    }
  } finally {
    directory.close();
  }
}

function flushDirectory(place: Place): void {
  let handle: number;
  try {
    handle = openSync(place.directory.at("."), O_RDONLY);
  } catch {
    // A directory without read permission, or a system that cannot open one.
    return;
  }
  try {
    fsyncSync(handle);
  } catch {
    // Not every file system can flush a directory.
  } finally {
    closeSync(handle);
  }
}

/** Whether a temporary file belongs to a dead process. Its number may have been reused. */
function isLeftover(path: string, pid: number, system: System): boolean {
  if (pid === process.pid) {
    const made = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    return made < system.now() - process.uptime() * 1000;
  }
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return codeOf(error) === "ESRCH";
  }
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It was not created, or its directory is gone.
  }
}

function toStat(place: Place, stats: Stats): TreeStat {
  return {
    realPath: place.realPath,
    id: `${stats.dev}:${stats.ino}:${stats.birthtimeMs}`,
    type: typeOf(stats),
    size: stats.size,
    links: stats.nlink,
    createdAt: stats.birthtime,
    modifiedAt: stats.mtime,
  };
}

function typeOf(entry: Stats | Dirent): EntryType {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "directory";
  return entry.isSymbolicLink() ? "symlink" : "other";
}
