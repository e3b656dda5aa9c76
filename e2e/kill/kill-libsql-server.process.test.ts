import { sqldMissing } from "../../packages/libsql/src/__fixtures__/sqld-server.ts";
import { libsqlServerStore } from "./libsql-server-store.ts";
import { type Opened, testKills } from "./test-kills.ts";

async function open(): Promise<Opened> {
  if (sqldMissing === undefined) return libsqlServerStore();
  console.warn(`skipped: kills on a libSQL server: ${sqldMissing}`);
  return { missing: sqldMissing };
}

testKills("a libSQL server", { kills: 12, share: 2, lanes: 2, tags: ["long"], open });
