import { setTimeout as wait } from "node:timers/promises";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Mastra, silentLogger } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import type { Change, Select } from "@selvedge/core/storage";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import Database from "libsql";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { LibSQLStore } from "./libsql-store.ts";

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "selvedge-"))));
afterEach(() => rmSync(folder, { recursive: true }));

class CountingStore extends LibSQLStore {
  selects = 0;

  override select<R extends object>(query: Select<R>): Promise<R[]> {
    this.selects++;
    return super.select(query);
  }
}

const open = () => new CountingStore({ url: `file:${join(folder, "store.db")}` });
const until = async (done: () => boolean): Promise<void> => {
  while (!done()) await new Promise((resolve) => setTimeout(resolve, 5));
};

function agentOn(storage: LibSQLStore): Agent {
  const model = scriptedModel(() => ({ text: ["a", "b", "c"] }));
  return new Agent({
    id: "a",
    name: "a",
    instructions: "",
    model,
    memory: new Memory({ storage }),
    threads: { recover: false },
  }) as unknown as Agent;
}

describe("news of a file that processes share", () => {
  it("name the threads that changed, also where a commit leaves no event", async () => {
    const [here, elsewhere] = [open(), open()];
    await Promise.all([here.init(), elsewhere.init()]);
    const seen = new Set<string>();
    const stop = here.watch((change: Change) => {
      if (change !== "unknown") for (const key of change.keys) seen.add(key);
    });
    const agent = agentOn(elsewhere);
    await agent.generate("hi", { memory: { thread: "one", resource: "r" } });
    await until(() => seen.has("one"));
    const memory = (await elsewhere.getStore("memory"))!;
    const at = new Date();
    await memory.saveThread({ thread: { id: "two", resourceId: "r", createdAt: at, updatedAt: at } });
    await until(() => seen.has("two"));
    stop();
    await agent.close();
    await Promise.all([here.close(), elsewhere.close()]);
  });

  it("name workflow runs whose steps another process executes, without a row for each step", async () => {
    const [here, elsewhere] = [open(), open()];
    await Promise.all([here.init(), elsewhere.init()]);
    const any = { inputSchema: z.any(), outputSchema: z.any() };
    const build = () => {
      let workflow: any = createWorkflow({ id: "w", ...any });
      for (let index = 0; index < 20; index++)
        workflow = workflow.then(createStep({ id: `s${index}`, ...any, execute: async () => index }));
      return workflow.commit();
    };
    const hosts = [here, elsewhere].map(
      (storage) => new Mastra({ workflows: { w: build() }, storage, logger: silentLogger }),
    );
    const seen = new Set<string>();
    const stop = here.watch((change: Change) => {
      if (change !== "unknown") for (const key of change.keys) seen.add(key);
    });
    // A reader in this process follows the run in the other.
    const chunks: string[] = [];
    const reader = await hosts[0]!.getWorkflow("w").createRun({ runId: "r" });
    reader.watch(({ type }: { type: string }) => void chunks.push(type));
    const run = await hosts[1]!.getWorkflow("w").createRun({ runId: "r" });
    expect((await run.start({ inputData: 1 })).status).toBe("success");
    await until(() => seen.has("r") && chunks.includes("workflow-finish"));
    expect(chunks.filter((type) => type === "workflow-step-result")).toHaveLength(20);
    const file = new Database(join(folder, "store.db"));
    const { rows } = file.prepare("SELECT count(*) AS rows FROM selvedge_news WHERE key = ?").get("r") as {
      rows: number;
    };
    expect(rows).toBeLessThan(5);
    file.close();
    stop();
    await Promise.all(hosts.map((host) => host.close()));
  });

  it("cost the readers of other threads nothing", async () => {
    const [here, elsewhere] = [open(), open()];
    await Promise.all([here.init(), elsewhere.init()]);
    const [reader, writer] = [agentOn(here), agentOn(elsewhere)];
    const subscriptions = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        reader.subscribeToThread({ threadId: `read-${index}`, resourceId: "r" }),
      ),
    );
    const chunks: string[] = [];
    for (const [index, { stream }] of subscriptions.entries())
      void (async () => {
        for await (const chunk of stream) chunks.push(`${index} ${chunk.type}`);
      })();
    const warm = { memory: { thread: "read-0", resource: "r" } };
    await writer.generate("hi", warm);
    await until(() => chunks.includes("0 finish"));
    // Readers take turns to find out where their threads are.
    for (let seen = -1; seen !== here.selects; await wait(50)) seen = here.selects;
    const before = here.selects;
    let told = 0;
    const stop = here.watch(() => told++);
    await writer.generate("hi", { memory: { thread: "another", resource: "r" } });
    await until(() => told > 0);
    expect(here.selects - before).toBe(0);
    stop();
    for (const { unsubscribe } of subscriptions) unsubscribe();
    await Promise.all([reader.close(), writer.close()]);
    await Promise.all([here.close(), elsewhere.close()]);
  });
});
