import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InMemoryStorage, type Storage } from "@selvedge/core/storage";
import { InMemoryVector, type Vector } from "@selvedge/core/vector";
import { LibSQLStore, LibSQLVector } from "@selvedge/libsql";

export interface Stores {
  storage: Storage;
  vector: Vector;
  close(): Promise<void>;
}

/** Every pair of a store and a vector store that memory is promised to work on. */
export const STORES: readonly [name: string, open: () => Promise<Stores>][] = [
  [
    "memory",
    async () => ({ storage: new InMemoryStorage(), vector: new InMemoryVector(), close: async () => {} }),
  ],
  ["libSQL", openLibSQL],
];

async function openLibSQL(): Promise<Stores> {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-memory-"));
  const url = `file:${join(folder, "memory.db")}`;
  const storage = new LibSQLStore({ url });
  const vector = new LibSQLVector({ url: `file:${join(folder, "vectors.db")}` });
  return {
    storage,
    vector,
    close: async () => {
      await storage.close();
      await vector.close?.();
      await rm(folder, { recursive: true });
    },
  };
}
