import { join } from "node:path";
import type { Storage } from "@selvedge/core/storage";
import { type Durability, LibSQLStore } from "@selvedge/libsql";
import type { StoreFactory } from "./store-factory.ts";

/** A libSQL file. */
export function libsqlStore(durability: Durability = "process-safe"): StoreFactory {
  return {
    name: "libSQL",
    knowsDeath: true,
    create: (folder) => ({
      module: import.meta.url,
      url: `${durability} file:${fileIn(folder)}`,
    }),
  };
}

/** The file of a store that was created in a folder. */
export function fileIn(folder: string): string {
  return join(folder, "threads.db");
}

export function openStore(place: string): Storage {
  const [durability, url] = place.split(/ (.*)/) as [Durability, string];
  return new LibSQLStore({ url, durability });
}
