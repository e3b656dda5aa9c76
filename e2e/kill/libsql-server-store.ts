import type { Storage } from "@selvedge/core/storage";
import { LibSQLStore } from "@selvedge/libsql";
import { SqldServer } from "../../packages/libsql/src/__fixtures__/sqld-server.ts";
import type { StoreFactory } from "./store-factory.ts";

/** A libSQL server per store. `stop` ends them. */
export function libsqlServerStore(): { factory: StoreFactory; stop(): Promise<void> } {
  const servers: SqldServer[] = [];
  return {
    factory: {
      name: "a libSQL server",
      knowsDeath: false,
      create: async () => {
        const server = await SqldServer.start();
        servers.push(server);
        return { module: import.meta.url, url: server.url() };
      },
    },
    stop: async () => {
      for (const server of servers.splice(0)) await server.stop();
    },
  };
}

export function openStore(url: string): Storage {
  return new LibSQLStore({ url, pollMs: 50 });
}
