import { posix } from "node:path";
import { AgentError, showValue } from "../errors.ts";
import { pathWithoutLinks, rootIdentity } from "./file-identity.ts";
import { normalize } from "./find-entries.ts";
import {
  DirectoryNotFoundError,
  FileNotFoundError,
  IsDirectoryError,
  PermissionError,
} from "./workspace-errors.ts";
import { patternsBelow } from "./file-rules.ts";
import type { FileLines, LineRange } from "./read-lines.ts";
import type {
  DeleteOptions,
  FileContent,
  FileEntry,
  FilesystemInfo,
  FileStat,
  ProviderStatus,
  ReadOptions,
  WorkspaceFilesystem,
  WriteOptions,
} from "./workspace-filesystem.ts";

/** Called for each mount when a workspace starts. `false` leaves the mount out; `{ success: true }` has started it. */
export type OnMount = (mount: {
  path: string;
  /** The same as `path`. */
  mountPath: string;
  filesystem: WorkspaceFilesystem;
}) => Awaitable<false | { success: true } | undefined | void>;

type Awaitable<Value> = Value | Promise<Value>;

interface ListOptions {
  recursive?: boolean;
  extension?: string | string[];
  maxDepth?: number;
}

export interface CompositeFilesystemOptions {
  id?: string;
  /** Filesystems by the path they appear at. No path may lie in another. */
  mounts: Record<string, WorkspaceFilesystem>;
  onMount?: OnMount | undefined;
}

const MAX_DEPTH = 64;

/** Several filesystems as one, each below its own path. The directories above them are read-only. */
export class CompositeFilesystem implements WorkspaceFilesystem {
  readonly id: string;
  readonly name = "CompositeFilesystem";
  readonly provider = "composite";
  readonly #mounts: Map<string, WorkspaceFilesystem>;
  readonly #onMount: OnMount | undefined;
  #status: ProviderStatus = "ready";

  constructor({ id, mounts, onMount }: CompositeFilesystemOptions) {
    const entries = Object.entries(mounts ?? {}).map(([path, files]) => [normalize(path), files] as const);
    const paths = entries.map(([path]) => path);
    const nested = paths.find((path, index) =>
      paths.some((other, at) => at !== index && isWithin(path, other)),
    );
    if (entries.length === 0 || paths.includes("") || nested !== undefined) {
      throw new AgentError(
        "invalid-argument",
        `mounts must be filesystems by path, such as { "/data": filesystem }, and no path may be the root or lie in another. Got ${showValue(Object.keys(mounts ?? {}))}.`,
      );
    }
    this.#mounts = new Map(entries);
    this.#onMount = onMount;
    this.id = id ?? `composite-${entries.map(([, files]) => files.id).join("-")}`;
  }

  get status(): ProviderStatus {
    return this.#status;
  }

  get readOnly(): boolean {
    return [...this.#mounts.values()].every((files) => files.readOnly);
  }

  get sensitive(): readonly string[] {
    return [...this.#mounts].flatMap(([path, files]) => patternsBelow(path, files).sensitive!);
  }

  get protect(): readonly string[] {
    return [...this.#mounts].flatMap(([path, files]) => patternsBelow(path, files).protect!);
  }

  /** The filesystems by path. */
  get mounts(): ReadonlyMap<string, WorkspaceFilesystem> {
    return this.#mounts;
  }

  async init(): Promise<void> {
    for (const [path, filesystem] of this.#mounts) {
      const said = await this.#onMount?.({ path: `/${path}`, mountPath: `/${path}`, filesystem });
      if (said === false) this.#mounts.delete(path);
      else if (!said) await filesystem.init?.();
    }
  }

  async destroy(): Promise<void> {
    for (const files of this.#mounts.values()) await files.destroy?.();
    this.#status = "destroyed";
  }

  getInfo(): FilesystemInfo {
    const mounts = Object.fromEntries(
      [...this.#mounts].map(([path, files]) => [`/${path}`, files.getInfo()]),
    );
    const { id, name, provider, status, readOnly } = this;
    return { id, name, provider, status, readOnly, mounts };
  }

  getInstructions(): string {
    const list = [...this.#mounts].map(([path, files]) => `/${path}${files.readOnly ? " (read-only)" : ""}`);
    return `Files: paths are relative to the workspace root. Files are below ${list.join(", ")}.`;
  }

  readFile(path: string, options?: ReadOptions): Promise<string | Buffer> {
    return this.#at(path, (files, rest) => files.readFile(rest, options));
  }

  readLines(path: string, range: LineRange): Promise<FileLines | undefined> {
    return this.#at(path, async (files, rest) => files.readLines?.(rest, range));
  }

  writeFile(path: string, content: FileContent, options?: WriteOptions): Promise<void> {
    return this.#changing(path, (files, rest) => files.writeFile(rest, content, options));
  }

  appendFile(path: string, content: FileContent): Promise<void> {
    return this.#changing(path, (files, rest) => files.appendFile(rest, content));
  }

  deleteFile(path: string, options?: DeleteOptions): Promise<void> {
    return this.#changing(path, (files, rest) => files.deleteFile(rest, options));
  }

  async copyFile(
    source: string,
    target: string,
    { overwrite = true }: { overwrite?: boolean } = {},
  ): Promise<void> {
    const content = (await this.readFile(source)) as Buffer;
    await this.writeFile(target, content, { overwrite });
  }

  async moveFile(source: string, target: string, options: { overwrite?: boolean } = {}): Promise<void> {
    const [from, to] = [this.#find(source), this.#find(target)];
    if (from && to && from.files === to.files) return from.files.moveFile(from.rest, to.rest, options);
    if ((await this.stat(source)).type === "directory")
      throw new PermissionError(source, "a directory cannot move to another mount.");
    await this.copyFile(source, target, options);
    await this.deleteFile(source);
  }

  mkdir(path: string, options?: { recursive?: boolean }): Promise<void> {
    return this.#changing(path, (files, rest) => files.mkdir(rest, options));
  }

  async rmdir(path: string, options?: { recursive?: boolean; force?: boolean }): Promise<void> {
    await this.#changing(path, (files, rest) => {
      if (rest === ".") throw new PermissionError(path, "a mount cannot be deleted.");
      return files.rmdir(rest, options);
    });
  }

  async readdir(path: string, options: ListOptions = {}): Promise<FileEntry[]> {
    const found = this.#find(path);
    if (found) return named(path, found.rest, () => found.files.readdir(found.rest, options));
    const names = this.#namesBelow(path);
    if (names.length === 0) throw new DirectoryNotFoundError(path);
    const { recursive = false, maxDepth = recursive ? MAX_DEPTH : 1, extension } = options;
    const entries: FileEntry[] = [];
    for (const name of names) {
      if (extension === undefined) entries.push({ name, type: "directory" });
      if (maxDepth <= 1) continue;
      const below = {
        recursive: true,
        maxDepth: maxDepth - 1,
        ...(extension !== undefined && { extension }),
      };
      for (const entry of await this.readdir(posix.join(path, name), below))
        entries.push({ ...entry, name: `${name}/${entry.name}` });
    }
    return entries;
  }

  async exists(path: string): Promise<boolean> {
    const found = this.#find(path);
    return found ? found.files.exists(found.rest) : this.#namesBelow(path).length > 0;
  }

  async stat(path: string, options?: { follow?: boolean }): Promise<FileStat> {
    const found = this.#find(path);
    if (found) {
      const stat = await named(path, found.rest, () => found.files.stat(found.rest, options));
      return { ...stat, path, name: posix.basename(normalize(path)) };
    }
    if (this.#namesBelow(path).length === 0) throw new FileNotFoundError(path);
    const never = new Date(0);
    return {
      path,
      name: posix.basename(path),
      type: "directory",
      size: 0,
      createdAt: never,
      modifiedAt: never,
    };
  }

  /** Links are resolved within their mount. */
  async realpath(path: string): Promise<string> {
    const found = this.#find(path);
    if (!found) return `/${normalize(path)}`.replace(/\/$/, "");
    const { mount, files, rest } = found;
    return posix.join("/", mount, rest === "." ? "" : await pathWithoutLinks(files, rest));
  }

  async identity(): Promise<string> {
    const parts = [...this.#mounts].map(async ([path, files]) => `${path}=${await rootIdentity(files)}`);
    return (await Promise.all(parts)).join(";");
  }

  async removeLeftovers(path: string): Promise<void> {
    const found = this.#find(path);
    await found?.files.removeLeftovers?.(found.rest);
  }

  #find(path: string): { mount: string; files: WorkspaceFilesystem; rest: string } | undefined {
    const given = normalize(path);
    for (const [mount, files] of this.#mounts)
      if (isWithin(given, mount)) return { mount, files, rest: given.slice(mount.length + 1) || "." };
    return undefined;
  }

  #namesBelow(path: string): string[] {
    const prefix = normalize(path) === "" ? "" : `${normalize(path)}/`;
    const below = [...this.#mounts.keys()].filter((mount) => mount.startsWith(prefix));
    return [...new Set(below.map((mount) => mount.slice(prefix.length).split("/")[0]!))].toSorted();
  }

  async #at<Result>(
    path: string,
    work: (files: WorkspaceFilesystem, rest: string) => Promise<Result>,
  ): Promise<Result> {
    const found = this.#find(path);
    if (found) return named(path, found.rest, () => work(found.files, found.rest));
    throw this.#namesBelow(path).length > 0 ? new IsDirectoryError(path) : new FileNotFoundError(path);
  }

  async #changing(
    path: string,
    work: (files: WorkspaceFilesystem, rest: string) => Promise<void>,
  ): Promise<void> {
    const found = this.#find(path);
    if (found) return named(path, found.rest, () => work(found.files, found.rest));
    const list = [...this.#mounts.keys()].map((mount) => `/${mount}`).join(", ");
    throw new PermissionError(path, `nothing can be changed here. Files are below ${list}.`);
  }
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}

/** Errors show the path as the caller gave it. */
async function named<Result>(path: string, rest: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (AgentError.is(error) && rest !== ".") error.message = error.message.replace(rest, path);
    throw error;
  }
}
