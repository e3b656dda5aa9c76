import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync } from "node:fs";
import { FileLimitError } from "../workspace-errors.ts";
import type { ScanEntry, ScanFacts, ScanFolder } from "../scan/scan-source.ts";
import type { Directory } from "./directory.ts";
import { codeOf } from "./walk.ts";

const OPEN_FILE = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const MAX_ENTRIES = 100_000;
const FIRST_BUFFER = 64 * 1024;

/**
 * An open directory whose entries are read one after the other. Names are looked up in its handle and links are not
 * followed. Every call blocks, so use it in a thread.
 */
export class TreeFolder implements ScanFolder {
  readonly #directory: Directory;
  readonly #shown: string;
  readonly #refusesHardLinks: boolean;
  /** Shared with the folders below: what `read` returned is valid until the next `read`. */
  readonly #buffer: { bytes: Buffer };

  constructor(
    directory: Directory,
    shown: string,
    refusesHardLinks: boolean,
    buffer: { bytes: Buffer } = { bytes: Buffer.allocUnsafe(FIRST_BUFFER) },
  ) {
    this.#directory = directory;
    this.#shown = shown;
    this.#refusesHardLinks = refusesHardLinks;
    this.#buffer = buffer;
  }

  entries(): ScanEntry[] {
    // Reads all at once: four times as fast as one by one. A thread's memory is limited.
    const listing = readdirSync(this.#directory.self, { withFileTypes: true });
    if (listing.length > MAX_ENTRIES) {
      throw new FileLimitError(
        this.#shown,
        `the directory has more than ${MAX_ENTRIES.toLocaleString("en")} entries.`,
      );
    }
    const found: ScanEntry[] = [];
    for (const entry of listing) {
      if (entry.isFile()) found.push({ name: entry.name, type: "file" });
      else if (entry.isDirectory()) found.push({ name: entry.name, type: "directory" });
      else if (entry.isSymbolicLink()) found.push({ name: entry.name, type: "symlink" });
    }
    return found;
  }

  read(name: string, most: number): Buffer | undefined {
    return ifThere(() => {
      const handle = openSync(this.#directory.at(name), OPEN_FILE);
      try {
        const { size, nlink, mode } = fstatSync(handle);
        if ((mode & constants.S_IFMT) !== constants.S_IFREG || size > most) return undefined;
        if (nlink > 1 && this.#refusesHardLinks) return undefined;
        return this.#fill(handle, size);
      } finally {
        closeSync(handle);
      }
    });
  }

  facts(name: string): ScanFacts | undefined {
    return ifThere(() => {
      const { size, mtimeMs } = lstatSync(this.#directory.at(name));
      return { size, modifiedAt: mtimeMs };
    });
  }

  folder(name: string): TreeFolder | undefined {
    return ifThere(
      () =>
        new TreeFolder(
          this.#directory.child(name),
          `${this.#shown}/${name}`,
          this.#refusesHardLinks,
          this.#buffer,
        ),
    );
  }

  close(): void {
    this.#directory.close();
  }

  #fill(handle: number, size: number): Buffer {
    if (this.#buffer.bytes.length < size) this.#buffer.bytes = Buffer.allocUnsafe(size * 2);
    const { bytes } = this.#buffer;
    let filled = 0;
    while (filled < size) {
      const count = readSync(handle, bytes, filled, size - filled, filled);
      if (count === 0) break;
      filled += count;
    }
    return bytes.subarray(0, filled);
  }
}

/** Entries that vanish, or that the operating system denies, are left out. */
function ifThere<Result>(look: () => Result): Result | undefined {
  try {
    return look();
  } catch (error) {
    if (codeOf(error) === undefined || codeOf(error) === "EMFILE") throw error;
    return undefined;
  }
}
