import { posix } from "node:path";
import { AgentError } from "../errors.ts";
import { normalize } from "./find-entries.ts";
import type { FileKey } from "./workspace-domain.ts";
import type { WorkspaceFilesystem } from "./workspace-filesystem.ts";

/** What two spellings of one file have in common: its path without links. For locks and records. */
export async function fileIdentity(files: WorkspaceFilesystem, path: string): Promise<string> {
  try {
    return (await files.realpath?.(path)) ?? normalize(path);
  } catch (error) {
    if (!AgentError.is(error, "not-found")) throw error;
    // Its directory is not there yet.
    const parent = posix.dirname(path);
    if (parent === path) return normalize(path);
    return posix.join(await fileIdentity(files, parent), posix.basename(path));
  }
}

/** Identifies a file of a workspace in the store. It is the same in every process. */
export async function fileKey(
  workspaceId: string,
  files: WorkspaceFilesystem,
  path: string,
): Promise<FileKey> {
  return {
    root: `${workspaceId}:${await rootIdentity(files)}`,
    file: await fileIdentity(files, path),
  };
}

/** The path below the root, without links. */
export async function pathWithoutLinks(files: WorkspaceFilesystem, path: string): Promise<string> {
  const [root, real] = [await fileIdentity(files, "."), await fileIdentity(files, path)];
  return normalize(real.startsWith(`${root}/`) ? real.slice(root.length) : real);
}

/** Where the files are. Filesystems that cannot tell are only equal to themselves. */
export async function rootIdentity(files: WorkspaceFilesystem): Promise<string> {
  return (await files.identity?.()) ?? (await files.realpath?.(".")) ?? files.id;
}
