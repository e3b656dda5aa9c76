import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";

/** Editors write a file in several steps. The first one starts this wait, and one change is reported. */
const SETTLE_MS = 60;

/** Tells when one of a growing set of files changes. It watches folders, because editors replace files. */
export class FileWatch {
  readonly #onChange: (file: string) => void;
  readonly #folders = new Map<string, { watcher: FSWatcher; names: Set<string> }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(onChange: (file: string) => void) {
    this.#onChange = onChange;
  }

  add(file: string): void {
    const folder = dirname(file);
    const known = this.#folders.get(folder);
    if (known) {
      known.names.add(basename(file));
      return;
    }
    const names = new Set([basename(file)]);
    try {
      const watcher = watch(folder, (_, name) => {
        if (name !== null && names.has(name)) this.#notice(`${folder}/${name}`);
      });
      watcher.on("error", () => this.#folders.delete(folder));
      this.#folders.set(folder, { watcher, names });
    } catch {
      // A folder that is gone, or a system that has no watches left: the server runs on, without restarts from here.
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const { watcher } of this.#folders.values()) watcher.close();
    this.#folders.clear();
  }

  #notice(file: string): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#onChange(file);
    }, SETTLE_MS);
  }
}
