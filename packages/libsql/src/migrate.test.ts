import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { insert, SCHEMA_VERSION, type Table } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import Database from "libsql";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { LibSQLStore } from "./libsql-store.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "selvedge-"));
  file = join(folder, "store.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = () => new LibSQLStore({ url: `file:${file}` });

/** A file of schema 6: a finished thread, one that waits for an approval, and one whose process was killed in a tool. */
function oldFile(): void {
  writeFileSync(file, gunzipSync(readFileSync(new URL("__fixtures__/store-v6.db.gz", import.meta.url))));
}

function worker(storage: LibSQLStore): { agent: Agent; ran: string[] } {
  const ran: string[] = [];
  const tool = (id: string, more: object) =>
    createTool({ id, description: id, ...more, execute: async () => (ran.push(id), "done") });
  const agent = new Agent({
    id: "worker",
    name: "worker",
    instructions: "",
    model: scriptedModel(() => "An answer of the new version."),
    tools: { danger: tool("danger", { requireApproval: true }), hang: tool("hang", {}) },
    memory: new Memory({ storage }),
  });
  return { agent: agent as unknown as Agent, ran };
}

describe("a file of an older version", () => {
  it("is upgraded in place: its runs continue, its approvals can be answered, its messages are there", async () => {
    oldFile();
    const storage = open();
    const { agent, ran } = worker(storage);
    const lease = { leaseMs: 200, renewMs: 50 };
    const mastra = new Mastra({ agents: { agent }, storage, logger: false, threads: { lease } });
    await mastra.start();
    const memory = (await storage.getStore("memory"))!;
    const texts = async (threadId: string): Promise<string> =>
      JSON.stringify(
        (await memory.listMessages({ threadId, perPage: false })).messages.map((one) => one.content),
      );
    expect(await texts("finished")).toContain("An answer of the old version.");
    await agent.sendToolApproval({ threadId: "waits", resourceId: "user", toolCallId: "d1", approved: true });
    while (!(await texts("waits")).includes("new version")) await new Promise((go) => setTimeout(go, 10));
    expect(ran).toEqual(["danger"]);
    while ((await texts("interrupted")).split("new version").length < 3)
      await new Promise((go) => setTimeout(go, 10));
    expect(await texts("interrupted")).toContain("tool-outcome-unknown");
    expect(await texts("interrupted")).toContain("queued behind");
    await mastra.close();
  });

  it("loses the old events of threads that rest, and keeps those of runs that go on", async () => {
    oldFile();
    const storage = open();
    await storage.prune({ retentionMs: 0 });
    const database = new Database(file);
    const threads = database.prepare("SELECT DISTINCT thread_id FROM selvedge_events").all();
    expect(threads).toEqual([{ thread_id: "interrupted" }, { thread_id: "waits" }]);
    database.close();
    await storage.close();
  });

  it("loses the rows of a domain with their thread, before the domain is used", async () => {
    oldFile();
    const database = new Database(file);
    database
      .prepare(
        "INSERT INTO selvedge_responses (id, thread_id) VALUES ('gone', 'finished'), ('kept', 'waits')",
      )
      .run([]);
    const storage = open();
    await (await storage.getStore("memory"))!.deleteThread({ threadId: "finished" });
    expect(database.prepare("SELECT id FROM selvedge_responses").all([])).toEqual([{ id: "kept" }]);
    database.close();
    await storage.close();
  });

  it("keeps its scores, which nobody owns, and adds the owners of new ones", async () => {
    const columns = { scorer_id: "text", run_id: "text", entity_id: "text", entity_type: "text" } as const;
    const table: Table = {
      name: "selvedge_scores",
      columns: { id: "text", ...columns, source: "text", score: "real", more: "json", created_at: "integer" },
      key: ["id"],
      partition: "id",
      indexes: [{ columns: ["scorer_id", "created_at"] }],
    };
    const old = open();
    await old.domain({ name: "scores", version: 1, tables: [table], open: () => undefined });
    const row = {
      scorer_id: "s",
      run_id: "r",
      entity_id: "a",
      entity_type: "AGENT",
      source: "LIVE",
      score: 1,
    };
    await old.commit([
      insert(table, { ...row, id: "old", more: { resourceId: "ann" }, created_at: Date.now() }),
    ]);
    await old.close();
    const storage = open();
    const scores = (await storage.getStore("scores"))!;
    const about = { scorerId: "s", runId: "r", entityId: "a", entityType: "AGENT", source: "LIVE" } as const;
    const { score } = await scores.saveScore({ ...about, score: 0.5, resourceId: "ann" });
    const { scores: all } = await scores.listScoresByRunId({ runId: "r" });
    expect(new Set(all.map(({ id }) => id))).toEqual(new Set(["old", score.id]));
    const own = await scores.listScoresByRunId({ runId: "r", resourceId: "ann" });
    expect(own.scores).toEqual([score]);
    await storage.close();
  });

  it("has workflow runs that are read, continue and travel in time", async () => {
    // The first version had a row for each step: a run that waits for an answer, and one that got it.
    const old = new URL("__fixtures__/workflows-v1.db.gz", import.meta.url);
    writeFileSync(file, gunzipSync(readFileSync(old)));
    const storage = open();
    const ran: string[] = [];
    const io = { inputSchema: z.number(), outputSchema: z.number() };
    const add = (id: string) =>
      createStep({ id, ...io, execute: async ({ inputData }) => (ran.push(id), inputData + 1) });
    const ask = createStep({
      id: "ask",
      ...io,
      resumeSchema: z.number(),
      execute: async ({ inputData, resumeData }) => inputData + (resumeData ?? 0),
    });
    const sum = createWorkflow({ id: "sum", ...io })
      .then(add("one"))
      .then(add("two"))
      .then(ask)
      .then(add("three"))
      .commit();
    const mastra = new Mastra({ workflows: { sum }, storage, logger: false });
    const waits = await sum.createRun({ runId: "waits" });
    expect(await waits.resume({ resumeData: 100 })).toMatchObject({ status: "success", result: 104 });
    expect(ran).toEqual(["three"]);
    const steps = async (runId: string): Promise<unknown> => (await sum.getWorkflowRunById(runId))?.steps;
    expect(await steps("waits")).toMatchObject({
      one: { output: 2 },
      ask: { output: 103 },
      three: { output: 104 },
    });
    const finished = await sum.createRun({ runId: "finished" });
    expect(await steps("finished")).toMatchObject({ two: { output: 3 }, three: { output: 14 } });
    expect(await finished.timeTravel({ step: "two" })).toMatchObject({ status: "success", result: 4 });
    expect(ran).toEqual(["three", "two", "three"]);
    expect(await steps("finished")).toMatchObject({
      one: { output: 2 },
      two: { output: 3 },
      three: { output: 4 },
    });
    await mastra.close();
    await storage.close();
  });

  it("loses the indexes that no query uses any more", async () => {
    oldFile();
    const database = new Database(file);
    const names = () =>
      database
        .prepare("SELECT name FROM sqlite_master WHERE name LIKE 'selvedge_message_steps_by_%'")
        .all([]);
    expect(names()).toEqual([{ name: "selvedge_message_steps_by_thread_id" }]);
    const storage = open();
    await storage.init();
    expect(names()).toEqual([]);
    database.close();
    await storage.close();
  });

  it("is upgraded once when several open it at the same moment", async () => {
    oldFile();
    const stores = [open(), open(), open()];
    await Promise.all(stores.map((store) => store.init()));
    for (const store of stores) await store.close();
    const database = new Database(file);
    const rows = database.prepare("SELECT version FROM selvedge_migrations ORDER BY version").all([]) as {
      version: number;
    }[];
    expect(rows.map(({ version }) => version)).toEqual([6, SCHEMA_VERSION]);
    database.close();
  });
});

describe("a file of a newer version", () => {
  const newer = async (readableFrom: number): Promise<void> => {
    const storage = open();
    await storage.init();
    await storage.close();
    const database = new Database(file);
    database
      .prepare("INSERT INTO selvedge_migrations (version, applied_at, readable_from) VALUES (?, 0, ?)")
      .run([SCHEMA_VERSION + 1, readableFrom]);
    database.close();
  };

  it("can be used beside newer programs when it says so", async () => {
    await newer(SCHEMA_VERSION);
    const storage = open();
    await expect(storage.init()).resolves.toBeUndefined();
    await storage.close();
  });

  it("is refused with a clear error when it does not", async () => {
    await newer(SCHEMA_VERSION + 1);
    await expect(open().init()).rejects.toMatchObject({
      code: "storage-failed",
      message: expect.stringContaining("was written by a newer version"),
    });
  });
});
