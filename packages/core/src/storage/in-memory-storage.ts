import type { System } from "../system.ts";
import { InMemoryDriver } from "./in-memory-driver.ts";
import { Storage } from "./storage.ts";

/** A store that lasts as long as its process. */
export class InMemoryStorage extends Storage {
  constructor({ id = "in-memory", system }: { id?: string; system?: System } = {}) {
    super(new InMemoryDriver(id), { id, system });
  }
}

/** The same class under another documented name. */
export { InMemoryStorage as InMemoryStore };
