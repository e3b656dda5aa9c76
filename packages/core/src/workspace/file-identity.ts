import { AgentError } from "../errors.ts";
import { normalize } from "./find-entries.ts";
import type { WorkspaceFilesystem } from "./workspace-filesystem.ts";

/** What two spellings of one file have in common: its path without links. For locks and records. */
export async function fileIdentity(files: WorkspaceFilesystem, path: string): Promise<string> {
  try {
    return (await files.realpath?.(path)) ?? normalize(path);
  } catch (error) {
    // Its directory is not there yet.
    if (AgentError.is(error, "not-found")) return normalize(path);
    throw error;
  }
}
