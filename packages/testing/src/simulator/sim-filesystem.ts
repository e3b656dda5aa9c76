import { createHash } from "node:crypto";
import { posix } from "node:path";
import {
  type DeleteOptions,
  DirectoryNotEmptyError,
  DirectoryNotFoundError,
  type FileContent,
  type FileEntry,
  FileExistsError,
  FileNotFoundError,
  type FilesystemInfo,
  type FileStat,
  IsDirectoryError,
  NotDirectoryError,
  PermissionError,
  type ReadOptions,
  StaleFileError,
  type WorkspaceFilesystem,
  type WriteOptions,
} from "@selvedge/core/workspace";

interface DiskEntry {
  id: string;
  /** Absent for a directory. */
  content?: Buffer;
  at: Date;
}

/** What is on a simulated disk, by path. It outlives the processes that use it. */
export class SimDisk {
  readonly entries: Map<string, DiskEntry> = new Map([["", { id: "root", at: new Date(0) }]]);
  #ids = 0;

  put(path: string, content?: Buffer): void {
    this.entries.set(path, { id: String(++this.#ids), at: new Date(this.#ids), ...(content && { content }) });
  }
}

/** How a careless filesystem would behave. */
export interface PlantedFileFault {
  /** Writes in place, so that a crash leaves half a file. */
  inPlace?: boolean;
  /** Ignores what the file should contain. */
  blind?: boolean;
}

export type Step = <Value>(label: () => string, effect: () => Promise<Value>) => Promise<Value>;

/** Files on a simulated disk. Each operation is a step between which a process can die. */
export class SimFilesystem implements WorkspaceFilesystem {
  readonly id = "simulated";
  readonly name = "SimFilesystem";
  readonly provider = "simulated";
  readonly status = "ready";
  readonly #disk: SimDisk;
  readonly #step: Step;
  readonly #planted: PlantedFileFault;

  constructor(disk: SimDisk, step: Step = (_, effect) => effect(), planted: PlantedFileFault = {}) {
    this.#disk = disk;
    this.#step = step;
    this.#planted = planted;
  }

  getInfo(): FilesystemInfo {
    const { id, name, provider, status } = this;
    return { id, name, provider, status, readOnly: false };
  }

  getInstructions(): string {
    return "";
  }

  readFile(path: string, { encoding }: ReadOptions = {}): Promise<string | Buffer> {
    return this.#do("read", path, () => {
      const { content } = this.#get(path);
      if (!content) throw new IsDirectoryError(path);
      return encoding ? content.toString(encoding) : Buffer.from(content);
    });
  }

  async writeFile(path: string, content: FileContent, options: WriteOptions = {}): Promise<void> {
    const { recursive = true, overwrite = true, expectedHash, expectedMtime } = options;
    const bytes = Buffer.from(content);
    await this.#do("write temporary file for", path, () => {
      if (recursive) this.#makeParents(path);
      this.#requireParent(path);
      if (this.#planted.inPlace) this.#disk.put(clean(path), bytes.subarray(0, bytes.length / 2));
    });
    await this.#do("rename to", path, () => {
      const existing = this.#disk.entries.get(clean(path));
      if (existing && !existing.content) throw new IsDirectoryError(path);
      if (existing && !overwrite) throw new FileExistsError(path);
      if (expectedMtime && existing?.at.getTime() !== expectedMtime.getTime()) throw new StaleFileError(path);
      if (expectedHash !== undefined && !this.#planted.inPlace)
        this.#requireHash(path, existing, expectedHash);
      this.#disk.put(clean(path), bytes);
    });
  }

  async appendFile(path: string, content: FileContent): Promise<void> {
    const before = (await this.exists(path)) ? ((await this.readFile(path)) as Buffer) : Buffer.alloc(0);
    await this.writeFile(path, Buffer.concat([before, Buffer.from(content)]));
  }

  deleteFile(path: string, { force, expectedHash }: DeleteOptions = {}): Promise<void> {
    return this.#do("delete", path, () => {
      const found = this.#disk.entries.get(clean(path));
      if (!found && force) return;
      if (!this.#get(path).content) throw new IsDirectoryError(path);
      if (expectedHash !== undefined) this.#requireHash(path, found, expectedHash);
      this.#disk.entries.delete(clean(path));
    });
  }

  async copyFile(
    source: string,
    target: string,
    { overwrite = true }: { overwrite?: boolean } = {},
  ): Promise<void> {
    await this.writeFile(target, (await this.readFile(source)) as Buffer, { overwrite });
  }

  moveFile(
    source: string,
    target: string,
    { overwrite = true }: { overwrite?: boolean } = {},
  ): Promise<void> {
    return this.#do("move", source, () => {
      const entry = this.#get(source);
      const existing = this.#disk.entries.get(clean(target));
      if (existing && !overwrite) throw new FileExistsError(target);
      if (existing && !existing.content && entry.content) throw new IsDirectoryError(target);
      this.#makeParents(target);
      for (const [path, one] of [...this.#below(source), [clean(source), entry] as const]) {
        this.#disk.entries.delete(path);
        this.#disk.entries.set(clean(target) + path.slice(clean(source).length), one);
      }
    });
  }

  mkdir(path: string, { recursive = true }: { recursive?: boolean } = {}): Promise<void> {
    return this.#do("mkdir", path, () => {
      const existing = this.#disk.entries.get(clean(path));
      if (existing?.content) throw new FileExistsError(path);
      if (existing && !recursive) throw new FileExistsError(path);
      if (existing) return;
      if (recursive) this.#makeParents(path);
      this.#requireParent(path);
      this.#disk.put(clean(path));
    });
  }

  rmdir(
    path: string,
    { recursive = false, force = false }: { recursive?: boolean; force?: boolean } = {},
  ): Promise<void> {
    return this.#do("rmdir", path, () => {
      if (clean(path) === "") throw new PermissionError(path, "the root cannot be deleted.");
      if (!this.#disk.entries.has(clean(path)) && force) return;
      if (this.#get(path).content) throw new NotDirectoryError(path);
      const below = this.#below(path);
      if (below.length > 0 && !recursive) throw new DirectoryNotEmptyError(path);
      for (const [name] of below) this.#disk.entries.delete(name);
      this.#disk.entries.delete(clean(path));
    });
  }

  readdir(
    path: string,
    options: { recursive?: boolean; extension?: string | string[]; maxDepth?: number } = {},
  ): Promise<FileEntry[]> {
    const { recursive = false, maxDepth = recursive ? 64 : 1 } = options;
    const wanted = [options.extension ?? []].flat().map((one) => `.${one.replace(/^\./, "")}`);
    return this.#do("list", path, () => {
      const directory = this.#disk.entries.get(clean(path));
      if (!directory) throw new DirectoryNotFoundError(path);
      if (directory.content) throw new NotDirectoryError(path);
      const start = clean(path) === "" ? 0 : clean(path).length + 1;
      return this.#below(path)
        .map(([name, { content }]): FileEntry => ({
          name: name.slice(start),
          type: content ? "file" : "directory",
          ...(content && { size: content.length }),
        }))
        .filter(({ name }) => name.split("/").length <= maxDepth)
        .filter(({ name, type }) =>
          wanted.length === 0 ? true : type === "file" && wanted.includes(posix.extname(name)),
        )
        .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    });
  }

  exists(path: string): Promise<boolean> {
    return this.#do("look at", path, () => this.#disk.entries.has(clean(path)));
  }

  stat(path: string): Promise<FileStat> {
    return this.#do("stat", path, () => {
      const { id, content, at } = this.#get(path);
      return {
        path,
        name: posix.basename(clean(path)),
        type: content ? ("file" as const) : ("directory" as const),
        size: content?.length ?? 0,
        createdAt: at,
        modifiedAt: at,
        id,
      };
    });
  }

  #do<Value>(what: string, path: string, effect: () => Value): Promise<Value> {
    return this.#step(
      () => `${what} ${path}`,
      async () => effect(),
    );
  }

  #get(path: string): DiskEntry {
    const found = this.#disk.entries.get(clean(path));
    if (!found) throw new FileNotFoundError(path);
    return found;
  }

  #below(path: string): [string, DiskEntry][] {
    const prefix = clean(path) === "" ? "" : `${clean(path)}/`;
    return [...this.#disk.entries].filter(([name]) => name !== "" && name.startsWith(prefix));
  }

  #makeParents(path: string): void {
    const names = clean(path).split("/").slice(0, -1);
    for (let count = 1; count <= names.length; count++) {
      const parent = names.slice(0, count).join("/");
      const existing = this.#disk.entries.get(parent);
      if (existing?.content) throw new NotDirectoryError(path);
      if (!existing) this.#disk.put(parent);
    }
  }

  #requireParent(path: string): void {
    const parent = this.#disk.entries.get(posix.dirname(`/${clean(path)}`).slice(1));
    if (!parent) throw new DirectoryNotFoundError(path);
    if (parent.content) throw new NotDirectoryError(path);
  }

  #requireHash(path: string, entry: DiskEntry | undefined, expected: string | null): void {
    const hash = entry?.content ? createHash("sha256").update(entry.content).digest("hex") : null;
    if (hash !== expected && !this.#planted.blind) throw new StaleFileError(path);
  }
}

/** A path from the root without slashes around it. */
function clean(path: string): string {
  if (posix.normalize(path).startsWith(".."))
    throw new PermissionError(path, "the path leaves the workspace.");
  return posix.join("/", path).replace(/^\/|\/$/g, "");
}
