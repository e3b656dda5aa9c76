import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { AgentError, errorMessage } from "@selvedge/core/errors";

/** What is known about a folder that a person trusts. */
interface TrustedFolder {
  /**
   * Names the folder's store. It is random, so that a store which came with the folder, and could hold approvals, is
   * never opened.
   */
  storeId: string;
  trustedAt: string;
}

/**
 * The folders that this user trusts, by their real path. They are kept in the home directory: a folder cannot trust itself.
 */
export class TrustedFolders {
  readonly #home: string;
  readonly #file: string;

  /** Takes the real path of the home directory. */
  constructor(home: string) {
    this.#home = home;
    this.#file = join(home, ".selvedge", "trusted-folders.json");
  }

  /** Whether a folder can be trusted. One that contains the home directory contains this record and all the user's settings. */
  canTrust(folder: string): boolean {
    const path = relative(folder, this.#home);
    return path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path);
  }

  async find(folder: string): Promise<TrustedFolder | undefined> {
    if (!this.canTrust(folder)) return undefined;
    const all = await this.#read();
    return Object.hasOwn(all, folder) ? all[folder] : undefined;
  }

  async trust(folder: string): Promise<TrustedFolder> {
    const entry = { storeId: randomBytes(8).toString("hex"), trustedAt: new Date().toISOString() };
    const all = await this.#read();
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    // Other processes read the whole file, old or new.
    const temporary = `${this.#file}.${entry.storeId}`;
    const text = JSON.stringify({ ...all, [folder]: entry }, null, 2);
    await writeFile(temporary, `${text}\n`, { mode: 0o600, flag: "wx" });
    await rename(temporary, this.#file);
    return entry;
  }

  async #read(): Promise<Record<string, TrustedFolder>> {
    try {
      const entries = Object.entries(Object(JSON.parse(await readFile(this.#file, "utf8"))) as object);
      return Object.fromEntries(entries.filter(([, entry]) => /^[0-9a-f]{16}$/.test(entry?.storeId)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw new AgentError(
        "invalid-argument",
        `${this.#file} cannot be read (${errorMessage(error)}). Repair or delete it: you will be asked again about each folder.`,
        { cause: error },
      );
    }
  }
}
