// A process that commits until it has done so many, or is killed. Prints the number of each commit it got an answer to.
import { insert, MESSAGES, RESOURCES, Storage, update } from "@selvedge/core/storage";
import { PostgresDriver } from "../postgres-driver.ts";

const [connectionString, schema, name, count] = process.argv.slice(2) as [string, string, string, string];
const storage = new Storage(new PostgresDriver({ connectionString, schema }), { id: name });
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
