import type { AgentChunk } from "@selvedge/protocol";
import { type Script, virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { HERE, onThread } from "../../agent/__fixtures__/on-thread.ts";
import { AgentError } from "../../errors.ts";
import type { Processor } from "../../processor/processor.ts";
import { InMemoryStorage } from "../../storage/in-memory-storage.ts";
import { THREADS } from "../../storage/tables.ts";
import { EVENTS, RUNS } from "../../storage/thread-tables.ts";
import { insert, requireRow, update } from "../../storage/writes.ts";
import type { Thread } from "../hold/thread.ts";
import { FencedLog } from "../../actor/log/fenced-log.ts";
import { threadLog } from "./thread-log.ts";

const FENCE = 3;

/** A run under a fence, and the log it writes to. */
async function opened() {
  const system = virtualSystem();
  const storage = new InMemoryStorage({ system });
  await storage.init();
  const seen: string[] = [];
  const tail = {
    append: (first: number, chunks: readonly AgentChunk[]) =>
      void seen.push(...chunks.map((chunk, index) => `${first + index} ${chunk.type}`)),
  };
  const thread = { threadId: "t", storage, system, tail } as unknown as Thread;
  await storage.commit([
    insert(RUNS, {
      id: "run",
      thread_id: "t",
      resource_id: "r",
      agent_id: "me",
      fence: FENCE,
      state: "running",
      options: {},
      step: 0,
      next: "continue",
      first_seq: 1,
      started_at: 0,
    }),
  ]);
  let lost = 0;
  const log = new FencedLog(threadLog(thread, "run"), () => lost++);
  log.open({ fence: FENCE, nextSeq: 1 });
  const stored = async () => {
    const rows = await storage.select({ table: EVENTS, orderBy: [{ column: "first" }] });
    return rows.map(({ first, last }) => `${first}-${last}`);
  };
  const run = async () => (await storage.select({ table: RUNS }))[0]!;
  return { system, storage, log, seen, stored, run, lost: () => lost };
}

const chunk = (type: "start" | "finish" = "start"): AgentChunk =>
  ({ type, runId: "run", from: "AGENT", payload: {} }) as AgentChunk;

describe("the log of a run", () => {
  it("shows nothing before it is made audible, and then numbers chunks without a gap", async () => {
    const { log, system, seen, stored } = await opened();
    log.publish(chunk());
    await system.advance(1_000);
    expect(seen).toEqual([]);
    log.makeAudible();
    log.publish(chunk("finish"));
    await system.advance(1_000);
    expect(seen).toEqual(["1 start", "2 finish"]);
    await log.commit([], { chunks: [chunk()] });
    expect(seen.at(-1)).toBe("3 start");
    expect(await stored()).toEqual(["1-2", "3-3"]);
  });

  it("leaves chunks for a later commit when asked to be quiet", async () => {
    const { log, seen, run } = await opened();
    log.publish(chunk());
    await log.commit([], { quiet: true, run: { step: 1 } });
    expect([seen, (await run()).step]).toEqual([[], 1]);
    await log.commit([]);
    expect(seen).toEqual(["1 start"]);
  });

  it("takes what is staged along with the next commit, once", async () => {
    const { log, storage, run } = await opened();
    const thread = insert(THREADS, { id: "t", resource_id: "r", created_at: 0, updated_at: 0 });
    log.stage({ writes: [thread], run: { step: 1 } });
    await log.commit([], { run: { next: "stop" } });
    expect(await run()).toMatchObject({ step: 1, next: "stop" });
    // A second insert would be a conflict.
    await log.commit([], { run: { step: 2 } });
    expect(await storage.count({ table: THREADS })).toBe(1);
  });

  it("writes nothing and says that it lost the thread once another fence is there", async () => {
    const { log, storage, stored, seen, lost } = await opened();
    await storage.commit([update(RUNS, { where: { id: "run" }, set: { fence: FENCE + 1 } })]);
    log.publish(chunk());
    await expect(log.commit([])).rejects.toMatchObject({ code: "superseded" });
    expect([await stored(), seen, lost()]).toEqual([[], [], 1]);
  });

  it("gives a condition of its caller the error of its caller", async () => {
    const { log, lost } = await opened();
    const missing = requireRow(THREADS, { id: "nowhere" });
    const explain = (index: number) => new AgentError("not-found", `write ${index}`);
    await expect(log.commit([missing], { explain })).rejects.toThrow("write 0");
    expect(lost()).toBe(0);
    await expect(log.commit([missing])).rejects.toMatchObject({ code: "superseded" });
    expect(lost()).toBe(1);
  });

  it("commits in the order in which it was asked, whatever fails between", async () => {
    const { log, run } = await opened();
    const first = log.commit([], { run: { step: 1 } });
    const bad = log.commit([requireRow(THREADS, { id: "nowhere" })]).catch(() => "failed");
    const last = log.commit([], { run: { step: 2 } });
    expect(await Promise.all([first, bad, last])).toEqual([undefined, "failed", undefined]);
    expect((await run()).step).toBe(2);
  });

  it("writes nothing after the end of the run, even if it was asked before the end was stored", async () => {
    const { log, run } = await opened();
    const end = log.commit([], { run: { state: "done" }, ends: true });
    const late = log.commit([], { run: { step: 9 } });
    await end;
    await expect(late).rejects.toMatchObject({ code: "superseded" });
    expect(await run()).toMatchObject({ state: "done", step: 0 });
  });

  it("refuses to write after it was closed", async () => {
    const { log } = await opened();
    log.close();
    await expect(log.commit([], { run: { step: 1 } })).rejects.toMatchObject({ code: "superseded" });
  });

  it.each([
    ["is done", {}],
    ["fails", { model: [{ error: new Error("no") }] }],
    ["ends without a word, because a processor dropped its last chunk", { dropped: "finish" }],
    ["is no run, but a signal that was stored", { persist: true }],
  ])("lets retention find the events of a run that %s", async (_, way: Way) => {
    const quiet: Processor = {
      id: "quiet",
      processOutputStream: async ({ part }) => (part.type === way.dropped ? null : part),
    };
    const { agent, storage, idle } = onThread(way.model ?? ["a word"], {
      outputProcessors: [quiet],
      // A step that somebody is told of is stored before the end.
      defaultOptions: { onStepFinish: () => {} },
    });
    if (way.persist)
      await agent.sendSignal(
        { type: "notification", contents: "news" },
        { ...HERE, ifIdle: { behavior: "persist" } },
      ).persisted;
    else await agent.sendMessage("hi", HERE).admitted;
    await idle();
    expect(await storage.count({ table: EVENTS })).toBeGreaterThan(0);
    const left = async (): Promise<number> => {
      await storage.prune({ retentionMs: 0 });
      return storage.count({ table: EVENTS });
    };
    await expect.poll(left).toBe(0);
  });
});

interface Way {
  model?: Script;
  dropped?: string;
  persist?: boolean;
}
