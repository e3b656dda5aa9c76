import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testVector } from "@selvedge/testing/suites";
import { LibSQLVector } from "./libsql-vector.ts";

testVector("LibSQLVector in a file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-"));
  const url = `file:${join(folder, "vectors.db")}`;
  const vector = new LibSQLVector({ url });
  return {
    vector,
    reopen: async () => new LibSQLVector({ connectionUrl: url }),
    close: async () => {
      await vector.close();
      await rm(folder, { recursive: true });
    },
  };
});

testVector("LibSQLVector in memory", async () => {
  const vector = new LibSQLVector({ connectionUrl: ":memory:" });
  return { vector, close: () => vector.close() };
});
