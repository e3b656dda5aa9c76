import type { AgentChunk } from "@selvedge/protocol";
import { describe, expect, it } from "vitest";
import type { Processor } from "../processor/processor.ts";
import { InMemoryDriver } from "../storage/in-memory-driver.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { type Commit, type CommitOutcome, type Select, Storage } from "../storage/storage.ts";
import type { Row } from "../storage/table.ts";
import { MESSAGES } from "../storage/tables.ts";
import { ACTORS, EVENTS } from "../storage/thread-tables.ts";
import { createTool } from "../tool/tool.ts";
import { HERE, ON, onThread } from "./__fixtures__/on-thread.ts";

/** Notes the number of writes of each commit, and the tables that are read. */
class CountingDriver extends InMemoryDriver {
  writes: number[] = [];
  read: string[] = [];

  override select(queries: readonly Select[]): Promise<Row[][]> {
    this.read.push(...queries.map(({ table }) => table.name));
    return super.select(queries);
  }

  override commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    this.writes.push(...commits.map(({ writes }) => writes.length));
    return super.commit(commits);
  }
}

async function onCountedThread(inputProcessors: Processor[] = []) {
  const driver = new CountingDriver("counting");
  const storage = new Storage(driver, { id: "counting" });
  const all = onThread(() => "ok", { storage, inputProcessors });
  await all.agent.generate("before", ON);
  await all.idle();
  driver.writes = [];
  driver.read = [];
  return { ...all, driver };
}

describe("the writes of a run", () => {
  it("are 6 for the input of a call on a thread that is there, and 5 for its end", async () => {
    const { agent, driver, idle } = await onCountedThread();
    await agent.generate("now", ON);
    await idle();
    expect(driver.writes).toEqual([6, 5]);
  });

  it("are 6 for a message that opens its run", async () => {
    const { agent, driver, idle } = await onCountedThread();
    await agent.sendMessage("now", HERE).admitted;
    await idle();
    expect(driver.writes[0]).toBe(6);
  });

  it("are not followed by a look at the thread when nothing waits for it", async () => {
    const { agent, driver, idle } = await onCountedThread();
    await agent.generate("now", ON);
    await idle();
    expect(driver.read.filter((name) => name === ACTORS.name)).toHaveLength(1);
  });

  it("are followed by the run of a message that was queued meanwhile", async () => {
    const { agent, history, idle } = await onCountedThread([
      {
        id: "queues",
        async processInput({ messages }) {
          if (JSON.stringify(messages.at(-1)).includes("first"))
            await agent.queueMessage("second", HERE).admitted;
        },
      },
    ]);
    await agent.generate("first", ON);
    await idle();
    await expect.poll(() => history()).toHaveLength(6);
    expect(await history()).toEqual([
      "user: before",
      "assistant: ok",
      "user: first",
      "assistant: ok",
      "signal: second",
      "assistant: ok",
    ]);
  });

  it("keep a message that is there as it is when it is given again", async () => {
    const { agent, storage, history } = await onCountedThread();
    const message = { id: "mine", role: "user", content: "hello" } as const;
    await agent.generate([message], ON);
    await agent.generate([{ ...message, content: "changed" }], ON);
    expect(await storage.count({ table: MESSAGES, where: { id: "mine" } })).toBe(1);
    expect(await history()).toContain("user: hello");
  });

  it("make a thread anew that was deleted while the input was prepared", async () => {
    let isDeleted = false;
    const { agent, storage, history } = await onCountedThread([
      {
        id: "deletes",
        async processInput({ messages }) {
          if (isDeleted || !JSON.stringify(messages.at(-1)).includes("now")) return;
          isDeleted = true;
          await (await storage.getStore("memory"))!.deleteThread({ threadId: HERE.threadId });
        },
      },
    ]);
    expect((await agent.generate("now", ON)).text).toBe("ok");
    expect(await history()).toEqual(["user: now", "assistant: ok"]);
  });

  it("include everything that was said before a tool, when the tool begins", async () => {
    const storage = new (class extends InMemoryStorage {
      override get flushMs(): number {
        return 60_000;
      }
    })();
    const before: string[] = [];
    const look = createTool({
      id: "look",
      description: "Looks at what a reader would find.",
      execute: async (_input, { toolCallId }) => {
        const rows = await storage.select({ table: EVENTS, where: { thread_id: HERE.threadId } });
        const chunks = rows.flatMap((row) => row.chunks as AgentChunk[]);
        before.push(
          ...chunks.flatMap((chunk) =>
            chunk.type === "tool-call" && chunk.payload.toolCallId === toolCallId ? [toolCallId] : [],
          ),
        );
        return "nothing";
      },
    });
    const script = ["c1", "c2", "c3"].map((toolCallId) => ({
      text: "I look.",
      toolCalls: [{ toolName: "look", input: {}, toolCallId }],
    }));
    const { agent } = onThread([...script, "ok"], { storage, tools: { look } });
    await agent.generate("now", ON);
    expect(before).toEqual(["c1", "c2", "c3"]);
  });
});
