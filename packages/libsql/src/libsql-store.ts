import { AgentError } from "@selvedge/core/errors";
import { Storage, type StorageDriver, type System } from "@selvedge/core/storage";
import type { Durability } from "./connection.ts";
import { LibSQLDriver } from "./libsql-driver.ts";
import { isRemoteUrl } from "./parse-url.ts";
import { RemoteDriver } from "./remote/remote-driver.ts";

export interface LibSQLStoreOptions {
  /**
   * `file:<path>` or `:memory:`; missing folders are created. For a server: `libsql://`, `https://`, `http://`, `wss://`
   * or `ws://`.
   */
  url: string;
  id?: string;
  /** The token of a server. */
  authToken?: string;
  /** For files. On a server, its settings decide. */
  durability?: Durability;
  /** How often a server is asked for changes of other processes, in milliseconds. Default: 500. */
  pollMs?: number;
  system?: System;
}

/** Threads, messages and everything else of a store, in one libSQL file or on a libSQL server. */
export class LibSQLStore extends Storage {
  readonly #file: LibSQLDriver | undefined;

  constructor({ id = "libsql", ...options }: LibSQLStoreOptions) {
    const file = isRemoteUrl(options.url) ? undefined : new LibSQLDriver(options);
    const driver: StorageDriver = file ?? new RemoteDriver(checkRemote(options));
    super(driver, { id, system: options.system });
    this.#file = file;
  }

  /**
   * Rewrites the file without the space of deleted rows. Takes time and free disk space in proportion to the file, and
   * other writers wait. Call `prune()` first.
   */
  async vacuum(): Promise<void> {
    if (!this.#file)
      throw new AgentError("not-supported", "vacuum() is for files. A libSQL server manages its own space.");
    await this.init();
    await this.#file.vacuum();
  }
}

function checkRemote(options: Omit<LibSQLStoreOptions, "id">): Omit<LibSQLStoreOptions, "id"> {
  const { url, authToken, durability, pollMs } = options;
  if (!URL.canParse(url) || new URL(url).host === "")
    throw new AgentError("invalid-argument", 'url must be an address such as "libsql://name.example.com"');
  if (authToken !== undefined && (typeof authToken !== "string" || authToken === ""))
    throw new AgentError("invalid-argument", "authToken must be a non-empty string");
  if (durability !== undefined)
    throw new AgentError(
      "invalid-argument",
      `durability is for files, got ${JSON.stringify(durability)}. On a libSQL server, its settings decide.`,
    );
  if (pollMs !== undefined && !(Number.isSafeInteger(pollMs) && pollMs > 0))
    throw new AgentError(
      "invalid-argument",
      `pollMs must be a whole number of milliseconds, 1 or more, got ${pollMs}`,
    );
  return options;
}
