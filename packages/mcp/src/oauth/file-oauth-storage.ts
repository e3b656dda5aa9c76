import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { OAuthStorage } from "./oauth-storage.ts";

/**
 * Stores each value in a file that only this user can read. Values are replaced atomically, so processes that share the
 * folder never read a partial one.
 */
export class FileOAuthStorage implements OAuthStorage {
  readonly #folder: string;

  constructor(folder: string = join(homedir(), ".selvedge", "mcp-oauth")) {
    this.#folder = folder;
  }

  async get(key: string): Promise<string | undefined> {
    try {
      const stored = JSON.parse(await readFile(this.#file(key), "utf8")) as {
        key?: unknown;
        value?: unknown;
      };
      return stored.key === key && typeof stored.value === "string" ? stored.value : undefined;
    } catch (error) {
      // A missing or damaged file counts as empty: the user signs in again.
      if (error instanceof SyntaxError || (error as { code?: string }).code === "ENOENT") return undefined;
      throw error;
    }
  }

  async set(key: string, value: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await chmod(this.#folder, 0o700);
    const temporary = `${this.#file(key)}.${randomBytes(6).toString("hex")}`;
    try {
      await writeFile(temporary, JSON.stringify({ key, value }), { mode: 0o600, flag: "wx" });
      await rename(temporary, this.#file(key));
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  async delete(key: string): Promise<void> {
    await rm(this.#file(key), { force: true });
  }

  #file(key: string): string {
    return join(this.#folder, `${createHash("sha256").update(key).digest("hex")}.json`);
  }
}
