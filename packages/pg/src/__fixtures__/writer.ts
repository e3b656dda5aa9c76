// A process that commits until it has done so many, or is killed. Prints the number of each commit it got an answer to.
import { insert, MESSAGES, RESOURCES, update } from "@selvedge/core/storage";
import { PostgresStore } from "../store/postgres-store.ts";

const [connectionString, schema, name, count] = process.argv.slice(2) as [string, string, string, string];
const storage = new PostgresStore({ connectionString, schemaName: schema });
await storage.init();
await storage.commit([insert(RESOURCES, { id: "counter", version: 0 }, "ignore")]);
console.log("open");
await new Promise((resolve) => process.stdin.once("data", resolve));
for (let at = 0; at < Number(count); at++) {
  await storage.commit([
    insert(MESSAGES, {
      id: `${name}-${at}`,
      thread_id: "counter",
      role: "user",
      content: {},
      created_at: at,
    }),
    update(RESOURCES, { where: { id: "counter" }, increment: { version: 1 }, require: true }),
  ]);
  console.log(at);
}
await storage.close();
process.stdin.destroy();
