import type { FilePatterns } from "./file-rules.ts";
import type { FileLines, LineRange } from "./read-lines.ts";

/** The states of a provider: a filesystem or a sandbox. */
export type ProviderStatus =
  | "pending"
  | "initializing"
  | "ready"
  | "starting"
  | "running"
  | "stopping"
  | "stopped"
  | "destroying"
  | "destroyed"
  | "error";

export type FileContent = string | Uint8Array;

export interface ReadOptions {
  /** Returns a string in this encoding, instead of bytes. */
  encoding?: BufferEncoding;
}

export interface WriteOptions {
  /** Create missing parent directories. Default: true. */
  recursive?: boolean;
  /** Default: true. */
  overwrite?: boolean;
  mimeType?: string;
  /** Refuse if the file was modified at another time. */
  expectedMtime?: Date;
  /** Refuse if the file has another SHA-256 (in hex), or with `null` if it exists. */
  expectedHash?: string | null;
}

export interface DeleteOptions {
  /** Do not fail if the file does not exist. */
  force?: boolean;
  /** Refuse if the file has another SHA-256 (in hex). */
  expectedHash?: string;
}

export interface FileEntry {
  /** With `recursive`, the path below the listed directory. */
  name: string;
  type: "file" | "directory" | "symlink";
  size?: number;
}

export interface FileStat {
  path: string;
  name: string;
  type: "file" | "directory" | "symlink";
  size: number;
  createdAt: Date;
  modifiedAt: Date;
  mimeType?: string;
  /** Identifies an entry while it exists. A later entry with the same name has another value. */
  id?: string;
}

export interface FilesystemInfo {
  id: string;
  name: string;
  provider: string;
  status: ProviderStatus;
  readOnly: boolean;
  [detail: string]: unknown;
}

/** What a thread needs to open the files of a tree. The roots are real paths. */
export interface ScanRoots {
  roots: string[];
  refusesHardLinks: boolean;
}

/** Files as an agent sees them. Implement it for another place to keep files; `testFilesystem` is its test suite. */
export interface WorkspaceFilesystem extends FilePatterns {
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly readOnly?: boolean;
  readonly status: ProviderStatus;
  init?(): Promise<void>;
  destroy?(): Promise<void>;
  getInfo(): FilesystemInfo;
  /** Text for the system message. */
  getInstructions(): string;
  readFile(path: string, options?: ReadOptions): Promise<string | Buffer>;
  /** Some lines of a file that `readFile` refuses because of its size. `undefined` if that is not possible. */
  readLines?(path: string, range: LineRange): Promise<FileLines | undefined>;
  writeFile(path: string, content: FileContent, options?: WriteOptions): Promise<void>;
  appendFile(path: string, content: FileContent): Promise<void>;
  deleteFile(path: string, options?: DeleteOptions): Promise<void>;
  copyFile(source: string, target: string, options?: { overwrite?: boolean }): Promise<void>;
  moveFile(source: string, target: string, options?: { overwrite?: boolean }): Promise<void>;
  mkdir(path: string, options?: { recursive?: boolean }): Promise<void>;
  rmdir(path: string, options?: { recursive?: boolean; force?: boolean }): Promise<void>;
  readdir(
    path: string,
    options?: { recursive?: boolean; extension?: string | string[]; maxDepth?: number },
  ): Promise<FileEntry[]>;
  exists(path: string): Promise<boolean>;
  /** Without `follow`, of a link itself. Default: true. */
  stat(path: string, options?: { follow?: boolean }): Promise<FileStat>;
  /** The same files, and more directories by their absolute paths. Those that are gone are left out. */
  withAllowedPaths?(paths: readonly string[]): WorkspaceFilesystem;
  /** Where the files are, the same in every process. Default: `realpath(".")`, or `id`. */
  identity?(): Promise<string>;
  /** Deletes temporary files that a process left when it died while writing. */
  removeLeftovers?(path: string): Promise<void>;
  /** The path without links. */
  realpath?(path: string): Promise<string>;
  resolveAbsolutePath?(path: string): string | undefined;
  /** For files of this machine: lets threads list and search them. */
  scanRoots?(): ScanRoots;
}
