import type { FilePatterns } from "../file-rules.ts";
import type { FileEntry, FileStat } from "../workspace-filesystem.ts";

/** Where skills are read from. A `WorkspaceFilesystem` is one. */
export interface SkillSource extends Pick<FilePatterns, "sensitive"> {
  stat(path: string): Promise<Pick<FileStat, "type" | "size" | "modifiedAt">>;
  readFile(path: string): Promise<string | Buffer>;
  readdir(path: string): Promise<FileEntry[]>;
  /** The path without links. */
  realpath?(path: string): Promise<string>;
}
