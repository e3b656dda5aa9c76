import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Agent } from "@selvedge/core/agent";
import { insert, MESSAGES, remove, type Storage } from "@selvedge/core/storage";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { PostgresStore } from "@selvedge/pg";
import { scriptedModel } from "@selvedge/testing";
import { afterAll, expect, it } from "vitest";
import { runMoveCommand } from "../packages/cli/src/move-command.ts";
import { type PostgresServer, startPostgres } from "../packages/pg/src/__fixtures__/embedded-server.ts";

const found = await startPostgres();
if ("missing" in found) console.warn(`skipped: moving to PostgreSQL: ${found.missing}`);
const { connectionString, stop } = found as PostgresServer;
const folder = mkdtempSync(join(tmpdir(), "selvedge-move-"));
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await stop?.();
});

const on = { memory: { thread: "t", resource: "r" } };

function agentOn(storage: Storage): Agent {
  const model = scriptedModel(({ prompt }) => `Message ${prompt.length}`);
  return new Agent({
    name: "a",
    instructions: "",
    model,
    memory: new Memory({ storage }),
  }) as unknown as Agent;
}

async function textsIn(storage: Storage): Promise<string> {
  const memory = (await storage.getStore("memory"))!;
  return JSON.stringify(await memory.listMessages({ threadId: "t", perPage: false }));
}

it.skipIf("missing" in found)("moves a file to PostgreSQL, where threads continue", async () => {
  const from = join(folder, "app.db");
  const file = new LibSQLStore({ url: `file:${from}` });
  const agent = agentOn(file);
  for (let turn = 0; turn < 3; turn++) await agent.generate("hi", on);
  const many = Array.from({ length: 1_200 }, (_, at) =>
    insert(MESSAGES, {
      id: `m${at}`,
      thread_id: "long",
      role: "user",
      content: { at: "\0" },
      created_at: at,
    }),
  );
  await file.commit(many);
  await file.commit([remove(MESSAGES, { id: "m3" })]);
  await agent.close();
  const before = await textsIn(file);
  await file.close();
  const move = (): Promise<number> => runMoveCommand({ from, to: connectionString, schema: "moved" });
  expect(await move()).toBe(0);
  const store = new PostgresStore({ connectionString, schemaName: "moved" });
  expect(await textsIn(store)).toBe(before);
  expect(await store.count({ table: MESSAGES, where: { thread_id: "long" } })).toBe(1_199);
  const there = agentOn(store);
  expect((await there.generate("and now?", on)).text).toBe("Message 7");
  await there.close();
  await store.close();
  await expect(move()).rejects.toThrow("Copy into an empty schema");
});

it.skipIf("missing" in found)("leaves the schema empty if it is killed", async () => {
  const url = `file:${join(folder, "killed.db")}`;
  const file = new LibSQLStore({ url });
  await file.commit([
    insert(MESSAGES, { id: "m", thread_id: "t", role: "user", content: {}, created_at: 0 }),
  ]);
  await file.close();
  const program = fileURLToPath(new URL("killed-move.ts", import.meta.url));
  const child = fork(program, [url, connectionString, "killed"], {
    execArgv: ["--conditions=selvedge-source"],
  });
  expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
  const store = new PostgresStore({ connectionString, schemaName: "killed" });
  expect(await store.count({ table: MESSAGES })).toBe(0);
  const from = join(folder, "killed.db");
  expect(await runMoveCommand({ from, to: connectionString, schema: "killed" })).toBe(0);
  expect(await store.count({ table: MESSAGES })).toBe(1);
  await store.close();
});

it("names the file or the database that is missing", async () => {
  await expect(runMoveCommand({ from: "none.db", schema: "public" })).rejects.toThrow("--to");
  await expect(
    runMoveCommand({ from: "none.db", to: "postgresql://a@b/c", schema: "public" }),
  ).rejects.toThrow("There is no file none.db");
});
