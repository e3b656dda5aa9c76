import { libsqlStore } from "./libsql-store.ts";
import { testKills } from "./test-kills.ts";

const open = async () => ({ factory: libsqlStore() });

testKills("libSQL", { kills: 6, share: 1, lanes: 1, tags: [], open });
testKills("libSQL", { kills: 60, share: 10, lanes: 1, tags: ["long"], open });
