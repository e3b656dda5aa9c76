import { basename, extname, posix, resolve } from "node:path";
import { AgentError, showValue } from "../errors.ts";
import { realSystem, type System } from "../system.ts";
import { containment, isDirectory, makeRoot } from "./contained/directory.ts";
import { FileTree, hashFile, type OpenFile, type TreeEntry } from "./contained/file-tree.ts";
import { fileIdentity } from "./file-identity.ts";
import type { FilePatterns } from "./file-rules.ts";
import { type InstructionsOption, toInstructions } from "./instructions-option.ts";
import { KeyedLock } from "./keyed-lock.ts";
import { type FileLines, type LineRange, readLines } from "./read-lines.ts";
import { typeByName } from "./type-by-name.ts";
import {
  DirectoryNotFoundError,
  FileLimitError,
  FileNotFoundError,
  PermissionError,
  StaleFileError,
  WorkspaceReadOnlyError,
} from "./workspace-errors.ts";
import type {
  DeleteOptions,
  FileContent,
  FileEntry,
  FilesystemInfo,
  FileStat,
  ProviderStatus,
  ReadOptions,
  ScanRoots,
  WorkspaceFilesystem,
  WriteOptions,
} from "./workspace-filesystem.ts";

const READ_BYTES = 10 * 1024 * 1024;
const READ_LINES_BYTES = 100 * 1024 * 1024;
const WRITE_BYTES = 10 * 1024 * 1024;
const LIST_ENTRIES = 100_000;
const LIST_DEPTH = 64;
const LOCK_MS = 30_000;

export interface LocalFilesystemOptions extends FilePatterns {
  id?: string;
  /** The root. Relative paths count from the current directory. It is created, unless `readOnly` is set. */
  basePath: string;
  /** Keep every path below the root and the allowed paths. Default: true. */
  contained?: boolean;
  /** More directories, reachable by their absolute paths. */
  allowedPaths?: string[];
  readOnly?: boolean;
  /** Replaces the text for the system message. A function receives the usual text. */
  instructions?: InstructionsOption;
  /** `"refuse"` denies reading files that have several names. For roots that tenants share a file system with. */
  hardLinks?: "allow" | "refuse";
  system?: System;
}

/** Files below a directory of this machine. Paths, links and renames cannot lead outside. */
export class LocalFilesystem implements WorkspaceFilesystem {
  readonly id: string;
  readonly name = "LocalFilesystem";
  readonly provider = "local";
  readonly readOnly: boolean;
  readonly basePath: string;
  readonly sensitive: readonly string[] | undefined;
  readonly protect: readonly string[] | undefined;
  readonly #options: LocalFilesystemOptions;
  readonly #isContained: boolean;
  readonly #tree: FileTree;
  readonly #locks: KeyedLock;
  #allowedPaths: string[];
  #status: ProviderStatus = "ready";

  constructor(options: LocalFilesystemOptions) {
    const {
      basePath,
      contained = true,
      allowedPaths = [],
      readOnly = false,
      system = realSystem,
    } = options ?? {};
    if (typeof basePath !== "string" || basePath === "") {
      throw new AgentError(
        "invalid-argument",
        `basePath must be the path of a directory, but got ${showValue(basePath)}.`,
      );
    }
    if (options.hardLinks !== undefined && options.hardLinks !== "allow" && options.hardLinks !== "refuse")
      throw new AgentError(
        "invalid-argument",
        `hardLinks must be "allow" or "refuse", but got ${showValue(options.hardLinks)}.`,
      );
    requireList("allowedPaths", allowedPaths);
    requireList("protect", options.protect);
    requireList("sensitive", options.sensitive);
    if (!readOnly) makeRoot(resolve(basePath));
    this.#options = options;
    this.id = options.id ?? `local-filesystem-${system.newId()}`;
    this.#locks = new KeyedLock(system);
    this.readOnly = readOnly;
    this.sensitive = options.sensitive;
    this.protect = options.protect;
    this.basePath = resolve(basePath);
    this.#isContained = contained;
    this.#allowedPaths = allowedPaths;
    this.#tree = new FileTree([this.basePath, ...allowedPaths, ...(contained ? [] : ["/"])], system);
  }

  get status(): ProviderStatus {
    return this.#status;
  }

  get allowedPaths(): readonly string[] {
    return this.#allowedPaths;
  }

  setAllowedPaths(paths: string[] | ((current: readonly string[]) => string[])): void {
    const next = typeof paths === "function" ? paths(this.#allowedPaths) : paths;
    requireList("allowedPaths", next);
    this.#tree.allow(this.#isContained ? next : [...next, "/"]);
    this.#allowedPaths = next;
  }

  withAllowedPaths(paths: readonly string[]): LocalFilesystem {
    const there = paths.filter((path) => isDirectory(path));
    const allowedPaths = [...this.#allowedPaths, ...there];
    return there.length === 0 ? this : new LocalFilesystem({ ...this.#options, id: this.id, allowedPaths });
  }

  async destroy(): Promise<void> {
    this.#status = "destroyed";
  }

  getInfo(): FilesystemInfo {
    return {
      id: this.id,
      name: this.name,
      provider: this.provider,
      status: this.#status,
      readOnly: this.readOnly,
      basePath: this.#tree.roots[0],
      contained: this.#isContained,
      ...(this.#isContained && { containment }),
    };
  }

  getInstructions(): string {
    return toInstructions(
      this.#options.instructions,
      `Files: paths are relative to the workspace root.${this.readOnly ? " Files cannot be changed." : ""}`,
    );
  }

  async readFile(path: string, options: ReadOptions = {}): Promise<string | Buffer> {
    return this.#reading(path, async (file) => {
      if (file.size > READ_BYTES) {
        throw new FileLimitError(
          path,
          `it has ${count(file.size)} bytes; at most ${count(READ_BYTES)} can be read at once.`,
        );
      }
      // A file that grows meanwhile is cut at the limit, too.
      const bytes = await file.read(0, Math.min(READ_BYTES, file.size + 1));
      return options.encoding ? bytes.toString(options.encoding) : bytes;
    });
  }

  async readLines(path: string, range: LineRange): Promise<FileLines> {
    return this.#reading(path, async (file) => {
      if (file.size > READ_LINES_BYTES)
        throw new FileLimitError(
          path,
          `it has ${count(file.size)} bytes; lines can be read of files up to ${count(READ_LINES_BYTES)} bytes.`,
        );
      return readLines(file, range);
    });
  }

  async writeFile(path: string, content: FileContent, options: WriteOptions = {}): Promise<void> {
    this.#checkWritable(path);
    await this.#locked(path, () => this.#write(path, content, options));
  }

  async #write(path: string, content: FileContent, options: WriteOptions): Promise<void> {
    const { recursive = true, overwrite = true, expectedMtime, expectedHash } = options;
    await this.#tree.write(path, toBytes(path, content), {
      overwrite,
      createParents: recursive,
      async check(existing) {
        if (expectedMtime && existing?.modifiedAt.getTime() !== expectedMtime.getTime())
          throw new StaleFileError(path);
        if (expectedHash !== undefined) await requireHash(path, existing, expectedHash);
      },
    });
  }

  async appendFile(path: string, content: FileContent): Promise<void> {
    this.#checkWritable(path);
    await this.#locked(path, async () => {
      const before = (await this.exists(path)) ? ((await this.readFile(path)) as Buffer) : Buffer.alloc(0);
      await this.#write(path, Buffer.concat([before, toBytes(path, content)]), {});
    });
  }

  /** Changes of one file are serial in this process. */
  async #locked(path: string, work: () => Promise<void>): Promise<void> {
    await this.#locks.run(await fileIdentity(this, path), LOCK_MS, work);
  }

  async deleteFile(path: string, { force, expectedHash }: DeleteOptions = {}): Promise<void> {
    this.#checkWritable(path);
    try {
      if (expectedHash !== undefined)
        await this.#reading(path, (file) => requireHash(path, file, expectedHash));
      this.#tree.remove(path);
    } catch (error) {
      if (!force || !AgentError.is(error, "not-found")) throw error;
    }
  }

  async removeLeftovers(path: string): Promise<void> {
    if (!this.readOnly) await this.#tree.removeLeftovers(path);
  }

  async copyFile(source: string, target: string, options: { overwrite?: boolean } = {}): Promise<void> {
    this.#checkWritable(target);
    const content = (await this.readFile(source)) as Buffer;
    await this.writeFile(target, content, { overwrite: options.overwrite ?? true });
  }

  async moveFile(source: string, target: string, options: { overwrite?: boolean } = {}): Promise<void> {
    this.#checkWritable(source);
    this.#tree.move(source, target, options.overwrite ?? true);
  }

  async mkdir(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    this.#checkWritable(path);
    this.#tree.makeDirectory(path, options.recursive ?? true);
  }

  async rmdir(path: string, options: { recursive?: boolean; force?: boolean } = {}): Promise<void> {
    this.#checkWritable(path);
    try {
      await this.#tree.removeDirectory(path, options.recursive ?? false);
    } catch (error) {
      if (!options.force || !AgentError.is(error, "not-found")) throw error;
    }
  }

  async readdir(
    path: string,
    options: { recursive?: boolean; extension?: string | string[]; maxDepth?: number } = {},
  ): Promise<FileEntry[]> {
    const { recursive = false, maxDepth = recursive ? LIST_DEPTH : 1 } = options;
    const extensions = options.extension === undefined ? undefined : [options.extension].flat().map(withDot);
    const found: FileEntry[] = [];
    const visit = async (directory: string, prefix: string, depth: number): Promise<void> => {
      for (const entry of sorted(await this.#entries(directory))) {
        const name = prefix + entry.name;
        if (entry.type === "directory") {
          if (!extensions) found.push({ name, type: "directory" });
          if (depth < Math.min(maxDepth, LIST_DEPTH))
            await visit(posix.join(directory, entry.name), `${name}/`, depth + 1);
        } else if (entry.type !== "other" && (!extensions || extensions.includes(extname(name)))) {
          const { type, size } = entry;
          found.push({ name, type, ...(size !== undefined && { size }) });
        }
        if (found.length > LIST_ENTRIES) {
          throw new FileLimitError(
            path,
            `it has more than ${count(LIST_ENTRIES)} entries. List a subdirectory instead.`,
          );
        }
      }
    };
    await visit(path, "", 1);
    return found;
  }

  scanRoots(): ScanRoots {
    return { roots: [...this.#tree.roots], refusesHardLinks: this.#options.hardLinks === "refuse" };
  }

  async exists(path: string): Promise<boolean> {
    return this.#tree.stat(path) !== undefined;
  }

  async stat(path: string, { follow = true }: { follow?: boolean } = {}): Promise<FileStat> {
    const found = this.#tree.stat(path, follow);
    if (!found) throw new FileNotFoundError(path, this.#similarName(path));
    if (found.type === "other")
      throw new PermissionError(path, "only regular files and directories can be used.");
    return {
      path,
      name: basename(found.realPath),
      type: found.type,
      size: found.size,
      createdAt: found.createdAt,
      modifiedAt: found.modifiedAt,
      ...(found.type === "file" && { mimeType: typeByName(found.realPath) }),
      id: found.id,
    };
  }

  async realpath(path: string): Promise<string> {
    return this.#tree.realPath(path);
  }

  resolveAbsolutePath(path: string): string | undefined {
    return this.#tree.realPath(path);
  }

  async #reading<Result>(path: string, work: (file: OpenFile) => Promise<Result>): Promise<Result> {
    const file = this.#open(path);
    try {
      if (file.links > 1 && this.#options.hardLinks === "refuse") {
        throw new PermissionError(path, "files with more than one hard link cannot be read here.");
      }
      return await work(file);
    } finally {
      await file.close();
    }
  }

  #open(path: string): OpenFile {
    try {
      return this.#tree.open(path);
    } catch (error) {
      const hint = AgentError.is(error, "not-found") && this.#similarName(path);
      throw hint ? new FileNotFoundError(path, hint) : error;
    }
  }

  async #entries(directory: string): Promise<TreeEntry[]> {
    try {
      return await this.#tree.list(directory);
    } catch (error) {
      if (AgentError.is(error, "not-found")) throw new DirectoryNotFoundError(directory);
      throw error;
    }
  }

  /** A hint for a name that differs from an existing one only in its Unicode form. */
  #similarName(path: string): string | undefined {
    for (const form of ["NFC", "NFD"] as const) {
      const other = path.normalize(form);
      if (other !== path && this.#tree.stat(other)) {
        return `There is a file whose name looks the same in another Unicode form (${form}): ${JSON.stringify(other)}.`;
      }
    }
    return undefined;
  }

  #checkWritable(path: string): void {
    if (this.readOnly) throw new WorkspaceReadOnlyError(path);
    if (this.#status === "destroyed") throw new PermissionError(path, "the workspace was destroyed.");
  }
}

function requireList(name: string, value: unknown): void {
  if (value === undefined || (Array.isArray(value) && value.every((one) => typeof one === "string"))) return;
  throw new AgentError("invalid-argument", `${name} must be a list of strings, but got ${showValue(value)}.`);
}

async function requireHash(path: string, file: OpenFile | undefined, expected: string | null): Promise<void> {
  if ((file ? await hashFile(file) : null) !== expected) throw new StaleFileError(path);
}

function toBytes(path: string, content: FileContent): Uint8Array {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  if (!(bytes instanceof Uint8Array)) {
    throw new AgentError(
      "invalid-argument",
      `content must be a string or bytes, but got ${showValue(content)}.`,
    );
  }
  if (bytes.length > WRITE_BYTES) {
    throw new FileLimitError(
      path,
      `${count(bytes.length)} bytes are too many. At most ${count(WRITE_BYTES)} can be written.`,
    );
  }
  return bytes;
}

function sorted(entries: TreeEntry[]): TreeEntry[] {
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function withDot(extension: string): string {
  return extension.startsWith(".") ? extension : `.${extension}`;
}

function count(number: number): string {
  return number.toLocaleString("en");
}
