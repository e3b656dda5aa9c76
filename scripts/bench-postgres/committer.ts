// Commits at a steady rate on threads of its own, as the runs of another worker do, until it is told to stop.
import { insert, RESOURCES } from "@selvedge/core/storage";
import { PostgresStore } from "@selvedge/pg";

const [connectionString, schemaName, perSecond] = process.argv.slice(2) as [string, string, string];
const storage = new PostgresStore({ connectionString, schemaName });
await storage.init();
process.send?.("ready");
let commits = 0;
let late = 0;
const began = performance.now();
const timer = setInterval(() => {
  const due = ((performance.now() - began) / 1_000) * Number(perSecond);
  while (commits < due) {
    const id = `foreign-${commits++ % 5_000}`;
    storage.commit([insert(RESOURCES, { id, version: commits }, "update")], { key: id }).catch(() => late++);
  }
}, 10);
process.once("message", () => {
  clearInterval(timer);
  process.send?.({ perSecond: commits / ((performance.now() - began) / 1_000), late });
  void storage.close().then(() => process.disconnect());
});
