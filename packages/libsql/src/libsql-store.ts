import { Storage, type System } from "@selvedge/core/storage";
import type { Durability } from "./connection.ts";
import { LibSQLDriver } from "./libsql-driver.ts";

export interface LibSQLStoreOptions {
  /** `file:<path>` or `:memory:`. Folders on the way to the file are made. */
  url: string;
  id?: string;
  /** For remote databases, which are not supported yet. */
  authToken?: string;
  durability?: Durability;
  system?: System;
}

/** Threads, messages and whatever else a store holds, in one libSQL file. */
export class LibSQLStore extends Storage {
  readonly #driver: LibSQLDriver;

  constructor({ id = "libsql", url, durability, system }: LibSQLStoreOptions) {
    const driver = new LibSQLDriver({ url, durability, system });
    super(driver, { id, system });
    this.#driver = driver;
  }

  /**
   * Rewrites the file without the space that deleted rows left. Takes time and free disk space in proportion to the file,
   * during which nobody else can write; other processes wait. Call `prune()` first.
   */
  async vacuum(): Promise<void> {
    await this.init();
    await this.#driver.vacuum();
  }
}
