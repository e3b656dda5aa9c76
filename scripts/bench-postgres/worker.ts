// A worker that carries out turns on its own threads until the time is over, and prints what it measured.
import { PostgresStore } from "@selvedge/pg";
import { openApp } from "./bench-app.ts";

const [connectionString, schemaName, name, threads, seconds] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];
const { agent, mastra, counts } = openApp(new PostgresStore({ connectionString, schemaName }), () => ({
  text: Array.from({ length: 20 }, () => "word "),
  chunkDelayMs: 200 / 22,
}));
await mastra.start();
process.send?.("ready");
await new Promise((resolve) => process.once("message", resolve));
Object.assign(counts, { commits: 0, transactions: 0, reads: 0 });
const took: number[] = [];
const until = performance.now() + Number(seconds) * 1_000;
await Promise.all(
  Array.from({ length: Number(threads) }, async (_, index) => {
    while (performance.now() < until) {
      const began = performance.now();
      await agent.generate("What next?", { memory: { thread: `${name}-${index}`, resource: name } });
      took.push(performance.now() - began);
    }
  }),
);
process.send?.({ took, ...counts });
await mastra.close();
process.disconnect();
