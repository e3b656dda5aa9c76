import { randomUUID } from "node:crypto";
import type { Storage } from "@selvedge/core/storage";
import { PostgresStore } from "@selvedge/pg";
import type { StoreFactory } from "./store-factory.ts";

/** A schema per store on a PostgreSQL server. */
export function postgresStore(connectionString: string): StoreFactory {
  return {
    name: "PostgreSQL",
    knowsDeath: false,
    create: () => ({ module: import.meta.url, url: `kill_${randomUUID().slice(0, 8)} ${connectionString}` }),
  };
}

export function openStore(place: string): Storage {
  const [schemaName, connectionString] = place.split(" ") as [string, string];
  return new PostgresStore({ connectionString, schemaName, max: 4 });
}
