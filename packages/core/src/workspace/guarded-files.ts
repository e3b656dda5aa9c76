import { AgentError } from "../errors.ts";
import { pathWithoutLinks } from "./file-identity.ts";
import { type FileRules, requireUnprotected } from "./file-rules.ts";
import { normalize } from "./find-entries.ts";
import type { DeleteOptions, FileEntry, FileStat, WorkspaceFilesystem } from "./workspace-filesystem.ts";
import { PermissionError } from "./workspace-errors.ts";

interface Guard {
  rules: FileRules;
  /** Whether files that the tools only read after approval can be read. */
  secrets: boolean;
  /** Makes a change while no tool of this process changes the file, and keeps the index up to date. */
  change<Result>(path: string, work: () => Promise<Result>): Promise<Result>;
}

/** The files of a workspace for callers other than its tools, under the same rules. */
export class GuardedFiles {
  readonly #files: WorkspaceFilesystem;
  readonly #guard: Guard;

  constructor(files: WorkspaceFilesystem, guard: Guard) {
    this.#files = files;
    this.#guard = guard;
  }

  list(path: string, options: { recursive?: boolean } = {}): Promise<FileEntry[]> {
    return this.#files.readdir(path, options);
  }

  stat(path: string): Promise<FileStat> {
    return this.#files.stat(path);
  }

  /** Refuses secrets, also behind links. */
  async read(path: string): Promise<Buffer> {
    const { rules, secrets } = this.#guard;
    if (!secrets) {
      const real = await pathWithoutLinks(this.#files, path);
      if (rules.isSensitive(normalize(path)) || rules.isSensitive(real))
        throw new PermissionError(path, "it may contain secrets.");
    }
    return (await this.#files.readFile(path)) as Buffer;
  }

  write(path: string, content: string | Uint8Array, options: { recursive?: boolean } = {}): Promise<void> {
    return this.#change(path, () => this.#files.writeFile(path, content, options));
  }

  mkdir(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    return this.#change(path, () => this.#files.mkdir(path, options));
  }

  delete(path: string, options: DeleteOptions & { recursive?: boolean } = {}): Promise<void> {
    return this.#change(path, async () => {
      const { type } = await this.#files.stat(path, { follow: false }).catch((error: unknown) => {
        if (options.force && AgentError.is(error, "not-found")) return { type: undefined };
        throw error;
      });
      if (type === "directory") await this.#files.rmdir(path, options);
      else if (type) await this.#files.deleteFile(path, options);
    });
  }

  async #change(path: string, work: () => Promise<void>): Promise<void> {
    const { rules, change } = this.#guard;
    await requireUnprotected(rules, this.#files, path);
    await change(path, work);
  }
}
