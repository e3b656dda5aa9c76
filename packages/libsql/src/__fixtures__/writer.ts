/**
 * A separate process that writes to a store: `node writer.ts <url> <name> <commits>`. Prints `open` when it can write,
 * starts on a line from stdin, and prints the number of every acknowledged commit.
 */
import { MESSAGES, MESSAGE_STEPS, RESOURCES } from "@selvedge/core/storage";
import { LibSQLStore } from "../libsql-store.ts";

const [url, name, commits] = process.argv.slice(2);
const storage = new LibSQLStore({ url: url! });

try {
  await storage.init();
  process.stdout.write("open\n");
  await new Promise((resolve) => process.stdin.once("data", resolve));
  process.stdin.destroy();
  for (let index = 0; index < Number(commits); index++) {
    const id = `${name}-${index}`;
    await storage.commit([
      {
        op: "insert",
        table: MESSAGES,
        row: { id, thread_id: "t", role: "assistant", content: { text: "x".repeat(500) }, created_at: index },
      },
      { op: "insert", table: MESSAGE_STEPS, row: { message_id: id, step: 1, thread_id: "t", parts: [] } },
      { op: "insert", table: RESOURCES, row: { id: "counter", version: 0 }, onConflict: "ignore" },
      { op: "update", table: RESOURCES, where: { id: "counter" }, increment: { version: 1 }, require: true },
    ]);
    process.stdout.write(`${index}\n`);
  }
  await storage.close();
} catch (error) {
  const { code, message } = error as { code?: string; message?: string };
  process.stdout.write(`failed ${code} ${message}\n`);
  process.exitCode = 1;
}
