import { startPostgres } from "../../packages/pg/src/__fixtures__/embedded-server.ts";
import { postgresStore } from "./postgres-store.ts";
import { type Opened, testKills } from "./test-kills.ts";

async function open(): Promise<Opened> {
  const server = await startPostgres();
  if ("missing" in server) console.warn(`skipped: kills on PostgreSQL: ${server.missing}`);
  return "missing" in server ? server : { ...server, factory: postgresStore(server.connectionString) };
}

testKills("PostgreSQL", { kills: 60, share: 2, lanes: 4, tags: ["long"], open });
