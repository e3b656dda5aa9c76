import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testStore } from "@selvedge/testing/suites";
import { LibSQLStore } from "./libsql-store.ts";

testStore("LibSQLStore in a file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-"));
  const url = `file:${join(folder, "made/on the way/store.db")}`;
  const storage = new LibSQLStore({ url });
  return {
    storage,
    reopen: async () => new LibSQLStore({ url }),
    connect: async () => new LibSQLStore({ url }),
    close: async () => {
      await storage.close();
      await rm(folder, { recursive: true });
    },
  };
});

testStore("LibSQLStore in memory", async () => {
  const storage = new LibSQLStore({ url: ":memory:" });
  return { storage, close: () => storage.close() };
});
