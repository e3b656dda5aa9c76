import { describe, expect, it } from "vitest";
import { z } from "zod";
import { InMemoryDriver } from "../storage/in-memory-driver.ts";
import { type Commit, type CommitOutcome, type Row, type Select, Storage } from "../storage/storage.ts";
import { createTool } from "../tool/tool.ts";
import { HERE, ON, onThread } from "./__fixtures__/on-thread.ts";

/** Notes every way to the store, and when the model is asked. */
class CountingDriver extends InMemoryDriver {
  way: (number | "commit" | "ask")[] = [];

  override select(queries: readonly Select[]): Promise<Row[][]> {
    this.way.push(queries.length);
    return super.select(queries);
  }

  override commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    this.way.push("commit");
    return super.commit(commits);
  }

  /** Forgets what it took to come here. */
  start(): void {
    this.way = [];
  }

  /** What it took, up to each question to the model and after the last. */
  get legs(): { reads: number; selects: number; commits: number }[] {
    const legs = [{ reads: 0, selects: 0, commits: 0 }];
    for (const one of this.way) {
      const leg = legs.at(-1)!;
      if (one === "ask") legs.push({ reads: 0, selects: 0, commits: 0 });
      else if (one === "commit") leg.commits++;
      else {
        leg.reads++;
        leg.selects += one;
      }
    }
    return legs;
  }
}

const tools = {
  look: createTool({
    id: "look",
    description: "Looks",
    inputSchema: z.object({}),
    execute: async () => "seen",
  }),
  pay: createTool({
    id: "pay",
    description: "Pays",
    inputSchema: z.object({}),
    requireApproval: true,
    execute: async () => "paid",
  }),
};

/** A thread that has a history, and an agent that calls a tool first, if one is named. */
async function onCountedThread(toolName?: keyof typeof tools) {
  const driver = new CountingDriver("counting");
  const storage = new Storage(driver, { id: "counting" });
  let calls = 0;
  const all = onThread(
    ({ prompt }) => {
      driver.way.push("ask");
      const isAnswered = prompt.at(-1)?.role === "tool";
      if (toolName === undefined || calls === 0 || isAnswered) return `answer ${calls++}`;
      return { toolCalls: [{ toolName, toolCallId: "call", input: {} }] };
    },
    { storage, tools },
  );
  await all.agent.generate("before", ON);
  await all.idle();
  driver.start();
  return { ...all, driver };
}

describe("the ways to the store", () => {
  it("of a reply are 2 to read and 1 to commit before the model is asked, and 1 to commit after", async () => {
    const { agent, driver, asked } = await onCountedThread();
    await agent.generate("now", ON);
    const [before, after] = driver.legs;
    expect(before).toMatchObject({ reads: 2, selects: 4, commits: 1 });
    expect(after!.commits).toBe(1);
    expect(asked(1)).toEqual(["user: before", "assistant: answer 0", "user: now"]);
  });

  it("of the first reply on a thread are 1 to read and 1 to commit before the model is asked, and 1 to commit after", async () => {
    const { agent, driver } = await onCountedThread();
    await agent.generate("hello", { memory: { thread: "new", resource: "r1" } });
    const [before, after] = driver.legs;
    expect(before).toMatchObject({ reads: 1, selects: 3, commits: 1 });
    expect(after).toEqual({ reads: 0, selects: 0, commits: 1 });
  });

  it("of a reply without history are 1 to read, with 2 selects", async () => {
    const { agent, driver } = await onCountedThread();
    await agent.generate("now", { memory: { ...ON.memory, options: { lastMessages: false } } });
    expect(driver.legs[0]).toMatchObject({ reads: 1, selects: 2, commits: 1 });
  });

  it("of a reply that waits for another show it what the other said", async () => {
    const { agent, asked } = await onCountedThread();
    await Promise.all([agent.generate("one", ON), agent.generate("two", ON)]);
    expect(asked(2)).toEqual([...asked(1), "assistant: answer 1", "user: two"]);
  });

  it("of a message that wakes a thread are 3 to read and 1 to commit before the model is asked, and 1 to commit after", async () => {
    const { agent, driver, idle } = await onCountedThread();
    await agent.sendMessage("now", HERE).admitted;
    await expect.poll(() => driver.legs).toHaveLength(2);
    const [before] = driver.legs;
    expect(before).toMatchObject({ reads: 3, commits: 1 });
    await idle();
    expect(driver.legs[1]!.commits).toBe(1);
  });

  it("of a woken run are not needed after the model is asked, even with a reader on the thread", async () => {
    const { agent, driver } = await onCountedThread();
    const { stream } = await agent.subscribeToThread(HERE);
    const reader = stream[Symbol.asyncIterator]();
    const first = reader.next();
    await new Promise(setImmediate);
    driver.start();
    await agent.sendMessage("now", HERE).admitted;
    for (let chunk = await first; chunk.value.type !== "finish";) chunk = await reader.next();
    void reader.next();
    await new Promise(setImmediate);
    expect(driver.legs[1]).toEqual({ reads: 0, selects: 0, commits: 1 });
  });

  it("of a step with tools are 2, both to commit", async () => {
    const { agent, driver } = await onCountedThread("look");
    await agent.generate("now", ON);
    expect(driver.legs[1]).toMatchObject({ reads: 0, commits: 2 });
  });

  it("of an approval are 5 to read, with 6 selects, until the model is asked again", async () => {
    const { agent, driver } = await onCountedThread("pay");
    const { runId } = await agent.generate("now", ON);
    driver.start();
    await (await agent.approveToolCall({ runId, toolCallId: "call" })).consumeStream();
    expect(driver.legs[0]).toMatchObject({ reads: 5, selects: 6, commits: 3 });
  });

  it("of an approval by thread are 4 to read, with 6 selects, until the model is asked again", async () => {
    const { agent, driver, idle } = await onCountedThread("pay");
    await agent.generate("now", ON);
    driver.start();
    await agent.sendToolApproval({ ...HERE, toolCallId: "call", approved: true });
    await expect.poll(() => driver.legs).toHaveLength(2);
    expect(driver.legs[0]).toMatchObject({ reads: 4, selects: 6, commits: 3 });
    await idle();
  });
});
