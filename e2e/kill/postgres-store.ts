import { randomUUID } from "node:crypto";
import { Storage } from "@selvedge/core/storage";
import { PostgresDriver } from "../../packages/testing/src/postgres/postgres-driver.ts";
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
  const [schema, connectionString] = place.split(" ") as [string, string];
  return new Storage(new PostgresDriver({ connectionString, schema, connections: 4 }), { id: "postgres" });
}
