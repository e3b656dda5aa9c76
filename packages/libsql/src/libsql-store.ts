import { Storage, type System } from "@selvedge/core/storage";
import type { Durability } from "./connection.ts";
import { LibSQLDriver } from "./libsql-driver.ts";

export interface LibSQLStoreOptions {
  /** `file:<path>` or `:memory:`. Missing folders are created. */
  url: string;
  id?: string;
  /** For remote databases, which are not supported yet. */
  authToken?: string;
  durability?: Durability;
  system?: System;
}

/** Threads, messages and everything else of a store, in one libSQL file. */
export class LibSQLStore extends Storage {
  readonly #driver: LibSQLDriver;

  constructor({ id = "libsql", url, durability, system }: LibSQLStoreOptions) {
    const driver = new LibSQLDriver({ url, durability, system });
    super(driver, { id, system });
    this.#driver = driver;
  }

  /**
   * Rewrites the file without the space of deleted rows. Takes time and free disk space in proportion to the file, and
   * other writers wait. Call `prune()` first.
   */
  async vacuum(): Promise<void> {
    await this.init();
    await this.#driver.vacuum();
  }
}
