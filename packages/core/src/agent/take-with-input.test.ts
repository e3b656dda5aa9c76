import { describe, expect, it } from "vitest";
import type { Processor } from "../processor/processor.ts";
import { InMemoryDriver } from "../storage/in-memory-driver.ts";
import { Storage } from "../storage/storage.ts";
import { ACTORS, RUNS } from "../storage/thread-tables.ts";
import { insertMessage } from "../storage/message-writes.ts";
import { HERE, ON, onThread } from "./__fixtures__/on-thread.ts";

/** Holds a run while it prepares its input, the first time. */
function holdUp() {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let times = 0;
  const processor: Processor = {
    id: "hold-up",
    async processInput({ messageList }) {
      messageList.addSystem({ role: "system", content: `look ${++times}` });
      reached.resolve();
      await released.promise;
    },
  };
  return { processor, reached: reached.promise, release: released.resolve, times: () => times };
}

describe("a call that prepares its input", () => {
  it("does it anew when another process had the thread meanwhile, and answers after that", async () => {
    const driver = new InMemoryDriver("shared");
    const open = () => new Storage(driver, { id: "shared" });
    const held = holdUp();
    const one = onThread(() => "one", { storage: open(), inputProcessors: [held.processor] });
    const other = onThread(() => "other", { storage: open() });
    const answering = one.agent.generate("first", ON);
    await held.reached;
    await other.agent.generate("second", ON);
    held.release();
    expect((await answering).text).toBe("one");
    expect(held.times()).toBe(2);
    expect(one.asked(0)).toEqual(["user: second", "assistant: other", "user: first"]);
    const system = one.model.calls[0]!.prompt.filter(({ role }) => role === "system");
    expect(JSON.stringify(system)).not.toContain("look 1");
    expect(await one.history()).toEqual([
      "user: second",
      "assistant: other",
      "user: first",
      "assistant: one",
    ]);
    const runs = await one.storage.select({ table: RUNS });
    expect(runs.map(({ state }) => state)).toEqual(["done", "done"]);
  });

  it("is joined by what is sent meanwhile in its process", async () => {
    const held = holdUp();
    const { agent, asked, history } = onThread(() => "ok", { inputProcessors: [held.processor] });
    const answering = agent.generate("first", ON);
    await held.reached;
    const sent = await agent.sendMessage("second", HERE).admitted;
    held.release();
    expect(sent).toMatchObject({ action: "deliver", runId: (await answering).runId });
    expect(held.times()).toBe(1);
    expect(asked(0)).toEqual(["user: first", expect.stringContaining("second")]);
    expect(await history()).toEqual(["user: first", "signal: second", "assistant: ok"]);
  });

  it("counts as active for a notification that arrives meanwhile", async () => {
    const held = holdUp();
    const states: string[] = [];
    const decide = ({ threadState }: { threadState: string }) => void states.push(threadState);
    const { agent } = onThread(() => "ok", {
      inputProcessors: [held.processor],
      notifications: { deliveryPolicy: { decide } },
    });
    const answering = agent.generate("first", ON);
    await held.reached;
    const { runId } = await agent.sendNotificationSignal(
      { source: "ci", kind: "build", summary: "failed", priority: "urgent" },
      HERE,
    );
    held.release();
    expect(states).toEqual(["active"]);
    expect(runId).toBe((await answering).runId);
  });

  it("has nothing in the store before its input is there, so nothing has to be cleaned up after a crash", async () => {
    const held = holdUp();
    const { agent, storage } = onThread(() => "ok", { inputProcessors: [held.processor] });
    const answering = agent.generate("first", ON);
    await held.reached;
    expect(await storage.count({ table: RUNS })).toBe(0);
    expect(await storage.count({ table: ACTORS })).toBe(0);
    held.release();
    expect((await answering).text).toBe("ok");
    expect(await storage.count({ table: RUNS })).toBe(1);
  });

  it("is on record when it is aborted, and lets the next one go on", async () => {
    const held = holdUp();
    const { agent, storage, follow } = onThread(() => "ok", { inputProcessors: [held.processor] });
    const controller = new AbortController();
    const follower = await follow();
    const output = await agent.stream("first", { ...ON, abortSignal: controller.signal });
    await held.reached;
    controller.abort();
    held.release();
    await output.consumeStream();
    expect((await agent.generate("second", ON)).text).toBe("ok");
    const runs = await storage.select({ table: RUNS, orderBy: [{ column: "fence" }] });
    expect(runs.map(({ state }) => state)).toEqual(["aborted", "done"]);
    await expect.poll(() => follower.chunks.map(({ type }) => type)).toContain("abort");
  });
});

describe("a message whose run prepares its input", () => {
  it("is on the stream once and leaves its thread idle when the store refuses it", async () => {
    const held = holdUp();
    const { agent, storage, follow, idle } = onThread(() => "ok", { inputProcessors: [held.processor] });
    const follower = await follow();
    await agent.sendMessage({ id: "mine", contents: "first" }, HERE).admitted;
    await held.reached;
    const content = { format: 2 as const, parts: [] };
    const other = { id: "mine", role: "user" as const, createdAt: new Date(0), content };
    await storage.commit([insertMessage({ ...other, threadId: "t2", resourceId: "r2" })]);
    held.release();
    await idle();
    const [run] = await storage.select({ table: RUNS });
    expect(run).toMatchObject({ state: "failed", error: { code: "invalid-message" } });
    await expect.poll(() => follower.chunks.at(-1)?.type).toBe("error");
    expect(follower.chunks.map(({ type }) => type)).toEqual(["start", "data-user-message", "error"]);
  });

  it("is asked about before the store knows that the run took it, and taken once", async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<string>();
    const {
      agent,
      history,
      asked: prompt,
    } = onThread(() => {
      asked.resolve();
      return answer.promise;
    });
    await agent.sendMessage("first", HERE).admitted;
    await asked.promise;
    const joined = await agent.sendMessage("second", HERE).admitted;
    answer.resolve("ok");
    expect(joined.action).toBe("deliver");
    await expect
      .poll(() => history())
      .toEqual(["signal: first", "assistant: ok", "signal: second", "assistant: ok"]);
    expect(prompt(1).at(-1)).toContain("second");
  });
});
