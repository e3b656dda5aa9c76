import { realSystem, Storage } from "@selvedge/core/storage";
import { PostgresDriver } from "./postgres-driver.ts";
import { type PostgresStoreOptions, toSettings } from "./store-options.ts";

/** Threads, messages and everything else of a store, in PostgreSQL. Any number of processes may share it. */
export class PostgresStore extends Storage {
  constructor(options: PostgresStoreOptions) {
    const settings = toSettings(options);
    const { id = "postgres", system = realSystem } = options;
    super(new PostgresDriver(settings, system), { id, system });
  }
}
