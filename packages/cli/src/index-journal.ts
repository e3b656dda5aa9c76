import { appendFile, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** What an index was made with. An index made with something else is of no use. */
export interface IndexSettings {
  /** The folder, as seen from that of the journal, so that both can be moved together. */
  folder: string;
  embedder: string;
  size: number;
  overlap: number;
}

/** A file of the folder as it was read. */
export interface IndexedFile {
  hash: string;
  passages: number;
}

type Line =
  | ({ settings: IndexSettings } & { v: 1 })
  | { begun: string }
  | { done: string; hash: string; passages: number }
  | { gone: string };

/**
 * What has been read, a line for each step, beside the database:
 *
 *   {"settings": …}   {"begun": path}   {"done": path, "hash": …, "passages": n}   {"gone": path}
 *
 * `begun` is written before anything of a file is changed in the index and `done` after, so a file that was begun and
 * not done is in an unknown state and read again. A last line that was cut off is overlooked.
 */
export class IndexJournal {
  readonly #path: string;
  settings: IndexSettings | undefined;
  readonly files: Map<string, IndexedFile> = new Map();
  /** Files that were begun and not done. */
  readonly unsure: Set<string> = new Set();

  private constructor(path: string) {
    this.#path = path;
  }

  static async open(path: string): Promise<IndexJournal> {
    const journal = new IndexJournal(path);
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    for (const line of text.split("\n")) {
      try {
        if (line !== "") journal.#apply(JSON.parse(line) as Line);
      } catch {
        continue;
      }
    }
    return journal;
  }

  /** Starts over, with no files. */
  async reset(settings: IndexSettings): Promise<void> {
    this.files.clear();
    this.unsure.clear();
    this.settings = settings;
    await this.compact();
  }

  async begin(path: string): Promise<void> {
    await this.#write({ begun: path });
  }

  async finish(path: string, file: IndexedFile): Promise<void> {
    await this.#write({ done: path, ...file });
  }

  async forget(path: string): Promise<void> {
    await this.#write({ gone: path });
  }

  get passages(): number {
    return [...this.files.values()].reduce((sum, { passages }) => sum + passages, 0);
  }

  /** Writes what is known in as few lines as it takes. The old file stays whole until the new one is. */
  async compact(): Promise<void> {
    const lines: Line[] = this.settings ? [{ v: 1, settings: this.settings }] : [];
    for (const path of this.unsure) lines.push({ begun: path });
    for (const [path, file] of this.files) lines.push({ done: path, ...file });
    await mkdir(dirname(this.#path), { recursive: true });
    await writeFile(`${this.#path}.new`, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    await rename(`${this.#path}.new`, this.#path);
  }

  async #write(line: Line): Promise<void> {
    // After a line that was cut off a new one must not be glued to it.
    await appendFile(this.#path, `\n${JSON.stringify(line)}\n`);
    this.#apply(line);
  }

  #apply(line: Line): void {
    if ("settings" in line) {
      this.settings = line.settings;
    } else if ("begun" in line) {
      this.files.delete(line.begun);
      this.unsure.add(line.begun);
    } else if ("done" in line) {
      this.unsure.delete(line.done);
      this.files.set(line.done, { hash: line.hash, passages: line.passages });
    } else {
      this.unsure.delete(line.gone);
      this.files.delete(line.gone);
    }
  }
}
