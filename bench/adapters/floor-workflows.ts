import { DatabaseSync } from "node:sqlite";
import { randomUUID } from "node:crypto";
import type { WorkflowsApi } from "./types.ts";

/** The floor of case m: functions that are called in turn, and one row per result. */
export function floorWorkflows(file: string | undefined): WorkflowsApi {
  const db = file === undefined ? undefined : new DatabaseSync(file);
  db?.exec(`PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;
    CREATE TABLE IF NOT EXISTS steps (run TEXT, step TEXT, output TEXT, at INTEGER, PRIMARY KEY (run, step));`);
  const insert = db?.prepare("INSERT INTO steps (run, step, output, at) VALUES (?, ?, ?, ?)");
  const keep = (run: string, step: string, output: object) =>
    void insert?.run(run, step, JSON.stringify(output), Date.now());
  return {
    async chain({ steps, bytes }) {
      const text = "x".repeat(bytes);
      const execute = async ({ n }: { n: number }) => ({ n: n + 1, ...(bytes > 0 && { text }) });
      return async () => {
        const run = randomUUID();
        let value = { n: 0 };
        for (let i = 0; i < steps; i++) {
          value = await execute(value);
          keep(run, `s${i}`, value);
        }
        if (value.n !== steps) throw new Error(`${value.n}`);
      };
    },
    async foreach({ items, concurrency }) {
      return async () => {
        const run = randomUUID();
        let next = 0;
        const work = async () => {
          for (let n = next++; n < items; n = next++) {
            await Promise.resolve();
            keep(run, `s${n}`, { n: n + 1 });
          }
        };
        await Promise.all(Array.from({ length: concurrency }, work));
      };
    },
    async close() {
      db?.close();
    },
  };
}
