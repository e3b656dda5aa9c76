import { AgentError } from "../../errors.ts";
import { locatePath } from "../contained/parse-path.ts";
import type { FileEntry, WorkspaceFilesystem } from "../workspace-filesystem.ts";

type Awaitable<Value> = Value | Promise<Value>;

export type ScanEntry = Pick<FileEntry, "name" | "type">;

/** A change of a file shows in these. */
export interface ScanFacts {
  size: number;
  /** Milliseconds since the epoch. */
  modifiedAt: number;
}

/** A directory during a scan. Missing entries and entries that cannot be read are `undefined`. Close it after use. */
export interface ScanFolder {
  entries(): Awaitable<ScanEntry[]>;
  /** The content of a regular file of at most `most` bytes. Valid until the next call. */
  read(name: string, most: number): Awaitable<Buffer | undefined>;
  facts(name: string): Awaitable<ScanFacts | undefined>;
  folder(name: string): Awaitable<ScanFolder | undefined>;
  close(): void;
}

/** Files to scan: those of a thread's own tree, or any filesystem. */
export interface ScanSource {
  /** Throws if there is nothing at the path. */
  typeOf(path: string): Awaitable<FileEntry["type"]>;
  folder(path: string): Awaitable<ScanFolder>;
  /** Where a file is, after its links. */
  file(path: string): Awaitable<{ folder: ScanFolder; name: string }>;
  /** A path relative to the root, or absolute in an allowed path. Without it, all paths are relative to the root. */
  locate?(path: string): string;
}

/** Scans a filesystem through its interface. */
export function filesystemSource(files: WorkspaceFilesystem): ScanSource {
  const roots = files.scanRoots?.().roots;
  return {
    ...(roots && { locate: (path: string) => locatePath(path, roots) }),
    typeOf: async (path) => (await files.stat(path)).type,
    folder: (path) => filesystemFolder(files, path),
    async file(path) {
      const real = (await files.realpath?.(path)) ?? path;
      const slash = real.lastIndexOf("/");
      const folder = filesystemFolder(files, slash < 0 ? "." : real.slice(0, slash));
      return { folder, name: real.slice(slash + 1) };
    },
  };
}

function filesystemFolder(files: WorkspaceFilesystem, path: string): ScanFolder {
  const at = (name: string): string => (path === "." ? name : `${path}/${name}`);
  return {
    entries: () => files.readdir(path),
    read: (name, most) =>
      ifReadable(async () => {
        if ((await files.stat(at(name))).size > most) return undefined;
        return (await files.readFile(at(name))) as Buffer;
      }),
    facts: (name) =>
      ifReadable(async () => {
        const { size, modifiedAt } = await files.stat(at(name));
        return { size, modifiedAt: modifiedAt.getTime() };
      }),
    folder: (name) => filesystemFolder(files, at(name)),
    close() {},
  };
}

async function ifReadable<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!AgentError.is(error)) throw error;
    return undefined;
  }
}
