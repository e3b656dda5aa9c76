import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import type { CommitResult, Write } from "../storage/storage.ts";
import { ACTORS, MAILBOX, RUNS, SENDS } from "../storage/thread-tables.ts";
import { editQueued } from "../thread/inspect/queue.ts";
import { MESSAGES, THREADS } from "../storage/tables.ts";
import { createTool } from "../tool/tool.ts";
import { agentWith } from "./__fixtures__/agent-with.ts";
import { gate, HERE, ON, onThread, until } from "./__fixtures__/on-thread.ts";

const refusal = (code: string) => expect.objectContaining({ name: "AgentError", code });

/** A tool that works until it is let go, and says when it has begun. */
function holdingTool() {
  const began = gate();
  const release = gate();
  const tool = createTool({
    id: "hold",
    description: "holds",
    execute: async () => {
      began.open();
      await release.opened;
      return "done";
    },
  });
  return { tool, began: began.opened, release: release.open };
}
const CALL_HOLD = { toolCalls: [{ toolName: "hold", input: {} }] };

describe("a message that answers a tool result", () => {
  it("is seen by the next model call, when its sender reads along", async () => {
    const add = createTool({ id: "add", description: "adds", execute: async () => "3" });
    const call = { toolCalls: [{ toolName: "add", input: {} }] };
    const { agent, asked, idle, messages, model } = onThread([call, "ok"], { tools: { add } });
    const subscription = await agent.subscribeToThread(HERE);
    agent.sendMessage("go", HERE);
    for await (const chunk of subscription.stream) {
      if (chunk.type === "tool-result") agent.sendMessage("make it four", HERE);
      else if (chunk.type === "finish") break;
    }
    await idle();
    expect(model.calls).toHaveLength(2);
    expect(asked(1).at(-1)).toContain("make it four");
    const [, answer, signal, last] = await messages();
    expect([answer!.role, signal!.role, last!.role]).toEqual(["assistant", "signal", "assistant"]);
    expect(answer!.content.metadata).toMatchObject({ mastra: { responseBoundary: true } });
  });
});

describe("a message to an idle thread", () => {
  it("opens a run whose id and signal are known at once, and is durable when admitted", async () => {
    const { agent, history, follow, idle, storage } = onThread(["hello"]);
    const reader = await follow();
    const sent = agent.sendMessage("hi", HERE);
    expect(sent).toMatchObject({
      accepted: true,
      runId: expect.any(String),
      signal: { type: "user", contents: "hi" },
    });
    expect(sent.persisted).toBeUndefined();
    expect(await sent.admitted).toEqual({ action: "wake", runId: sent.runId });
    await reader.until("finish");
    await idle();
    expect(await history()).toEqual(["signal: hi", "assistant: hello"]);
    expect(new Set(reader.chunks.map((chunk) => chunk.runId))).toEqual(new Set([sent.runId]));
    expect(reader.types.slice(0, 2)).toEqual(["start", "data-user-message"]);
    expect(reader.types.at(-1)).toBe("finish");
    expect(reader.chunks.map((chunk) => chunk.seq)).toEqual(reader.chunks.map((_, index) => index + 1));
    expect(await storage.count({ table: MAILBOX })).toBe(0);
    reader.stop();
  });

  it("carries the attributes of the idle branch over its own", async () => {
    const { agent, asked, idle, messages } = onThread(["ok"]);
    await agent.sendMessage(
      { contents: "Also.", attributes: { source: "chat", delivery: "x" } },
      {
        ...HERE,
        ifActive: { attributes: { delivery: "active" } },
        ifIdle: { attributes: { delivery: "new" } },
      },
    ).admitted;
    await idle();
    expect(asked(0)).toEqual(['user: <user source="chat" delivery="new">Also.</user>']);
    expect((await messages())[0]!.content.metadata).toMatchObject({
      signal: { attributes: { source: "chat", delivery: "new" } },
    });
  });

  it("uses stream options for that run alone, functions included", async () => {
    const steps: number[] = [];
    const { agent, model, idle } = onThread(["one", "two"]);
    const onStepFinish = () => void steps.push(1);
    const streamOptions = { maxSteps: 1, temperature: 0.5, onStepFinish };
    await agent.sendMessage("a", { ...HERE, ifIdle: { streamOptions } }).admitted;
    await idle();
    await agent.sendMessage("b", HERE).admitted;
    await idle();
    expect(model.calls.map((call) => call.temperature)).toEqual([0.5, undefined]);
    expect(steps).toHaveLength(1);
  });

  it("can be stored without a run: subscribers see three chunks, the next run reads it", async () => {
    const { agent, model, history, follow, idle, asked } = onThread(["ok"]);
    const reader = await follow();
    const sent = agent.sendSignal(
      { type: "notification", contents: "note" },
      { ...HERE, ifIdle: { behavior: "persist" } },
    );
    expect(await sent.persisted).toBeUndefined();
    expect(await sent.admitted).toEqual({ action: "persist", runId: sent.runId });
    expect(await history()).toEqual(["signal: note"]);
    await reader.until("finish");
    expect(reader.types).toEqual(["start", "data-signal", "finish"]);
    expect(reader.chunks[2]).toMatchObject({
      runId: sent.runId,
      payload: { stepResult: { reason: "stop" } },
    });
    expect(model.calls).toHaveLength(0);
    await agent.sendMessage("hi", HERE).admitted;
    await idle();
    expect(asked(0)).toEqual(["user: <notification>note</notification>", "user: hi"]);
    await reader.until("finish", 2);
    expect(reader.chunks.map((chunk) => chunk.seq)).toEqual(reader.chunks.map((_, index) => index + 1));
    reader.stop();
  });

  it("can be discarded, and leaves nothing", async () => {
    const { agent, storage, model } = onThread([]);
    const sent = agent.sendMessage("hi", { ...HERE, ifIdle: { behavior: "discard" } });
    expect(await sent.admitted).toEqual({ action: "discard", runId: sent.runId });
    for (const table of [MAILBOX, MESSAGES, THREADS, RUNS]) expect(await storage.count({ table })).toBe(0);
    expect(model.calls).toHaveLength(0);
  });

  it("joins the run that another one is about to open", async () => {
    const { agent, history, asked, idle } = onThread(["both"]);
    const first = agent.sendMessage("one", HERE);
    const second = agent.sendMessage("two", HERE);
    expect(second.runId).toBe(first.runId);
    expect(await second.admitted).toEqual({ action: "deliver", runId: first.runId });
    await idle();
    expect(asked(0)).toEqual(["user: one", "user: two"]);
    expect(await history()).toEqual(["signal: one", "signal: two", "assistant: both"]);
  });

  it("reports an error on the stream when its run cannot start, and keeps the message", async () => {
    const { agent, history, follow, idle } = onThread([], {
      model: () => {
        throw new Error("no model today");
      },
    });
    const reader = await follow();
    const sent = agent.sendMessage("hi", HERE);
    await sent.admitted;
    const chunk = await reader.until("error");
    expect(chunk).toMatchObject({
      runId: sent.runId,
      payload: { error: { message: expect.stringMatching(/no model/) } },
    });
    await idle();
    expect(await history()).toEqual(["signal: hi"]);
    expect(reader.subscription.activeRunId()).toBeNull();
    reader.stop();
  });
});

describe("a message to a thread at work", () => {
  it("is seen by the next step of the run, after the tool, in its place in history and stream", async () => {
    const { tool, began, release } = holdingTool();
    const { agent, history, messages, follow, idle, asked } = onThread([CALL_HOLD, "after"], {
      tools: { hold: tool },
    });
    const reader = await follow();
    const opened = agent.sendMessage("go", HERE);
    await began;
    const sent = agent.sendMessage(
      { contents: "wait", attributes: { a: 1 } },
      { ...HERE, ifActive: { attributes: { when: "active" } } },
    );
    expect(sent.runId).toBe(opened.runId);
    expect(await sent.admitted).toEqual({ action: "deliver", runId: opened.runId });
    release();
    await idle();
    expect(await history()).toEqual([
      "signal: go",
      "assistant: [hold result]",
      "signal: wait",
      "assistant: after",
    ]);
    expect(asked(1).at(-1)).toBe('user: <user a="1" when="active">wait</user>');
    const [, closed, signal, last] = await messages();
    expect(closed!.content.metadata).toMatchObject({ mastra: { responseBoundary: true } });
    expect(last!.content.metadata?.["mastra"]).toBeUndefined();
    expect(signal!.createdAt.getTime()).toBeGreaterThanOrEqual(closed!.createdAt.getTime());
    await reader.until("finish");
    const types = reader.types.filter(
      (type) => !["text-start", "text-end", "response-metadata"].includes(type),
    );
    expect(types.indexOf("data-user-message", 2)).toBeGreaterThan(types.indexOf("step-finish"));
    expect(types.indexOf("data-user-message", 2)).toBeLessThan(types.lastIndexOf("step-start"));
    reader.stop();
  });

  it("makes a model that had stopped go on, and the step says so", async () => {
    const entered = gate();
    const release = gate();
    const { agent, history, follow, idle, model } = onThread(async ({ index }) => {
      if (index > 0) return `answer ${index}`;
      entered.open();
      await release.opened;
      return "answer 0";
    });
    const reader = await follow();
    agent.sendMessage("one", HERE);
    await entered.opened;
    await Promise.all([agent.sendMessage("two", HERE).admitted, agent.sendMessage("three", HERE).admitted]);
    release.open();
    await idle();
    expect(await history()).toEqual([
      "signal: one",
      "assistant: answer 0",
      "signal: two",
      "signal: three",
      "assistant: answer 1",
    ]);
    expect(model.calls).toHaveLength(2);
    const [first, second] = reader.chunks.filter((chunk) => chunk.type === "step-finish");
    expect(first).toMatchObject({ payload: { stepResult: { reason: "other", isContinued: true } } });
    expect(second).toMatchObject({ payload: { stepResult: { reason: "stop", isContinued: false } } });
    reader.stop();
  });

  it("keeps the order user, assistant, signal, assistant, signal, assistant", async () => {
    const turns = [gate(), gate(), gate()];
    const entered = [gate(), gate(), gate()];
    const { agent, history, idle } = onThread(async ({ index }) => {
      entered[index]!.open();
      await turns[index]!.opened;
      return `a${index}`;
    });
    agent.sendMessage("u0", HERE);
    for (const index of [0, 1]) {
      await entered[index]!.opened;
      await agent.sendMessage(`u${index + 1}`, HERE).admitted;
      turns[index]!.open();
    }
    turns[2]!.open();
    await idle();
    expect(await history()).toEqual([
      "signal: u0",
      "assistant: a0",
      "signal: u1",
      "assistant: a1",
      "signal: u2",
      "assistant: a2",
    ]);
  });

  it("that has no steps left is answered by a run that follows, with the same options", async () => {
    const { tool, began, release } = holdingTool();
    const { agent, history, follow, idle, model } = onThread([CALL_HOLD, "second run"], {
      tools: { hold: tool },
    });
    const reader = await follow();
    const streamOptions = { maxSteps: 1, temperature: 0.25 };
    const first = agent.sendMessage("go", { ...HERE, ifIdle: { streamOptions } });
    await began;
    const sent = agent.sendMessage("more", HERE);
    expect((await sent.admitted).action).toBe("deliver");
    release();
    await idle();
    expect(await history()).toEqual([
      "signal: go",
      "assistant: [hold result]",
      "signal: more",
      "assistant: second run",
    ]);
    const runs = new Set(reader.chunks.map((chunk) => chunk.runId));
    expect(runs.size).toBe(2);
    expect(runs.has(first.runId)).toBe(true);
    expect(model.calls[1]!.temperature).toBe(0.25);
    reader.stop();
  });

  it("can be stored beside the run, unseen by it and without an echo", async () => {
    const { tool, began, release } = holdingTool();
    const { agent, history, follow, idle, asked } = onThread([CALL_HOLD, "after", "next"], {
      tools: { hold: tool },
    });
    const reader = await follow();
    const opened = agent.sendMessage("go", HERE);
    await began;
    const sent = agent.sendMessage("note", { ...HERE, ifActive: { behavior: "persist" } });
    expect(sent.runId).toBe(opened.runId);
    await sent.persisted;
    expect(await history()).toContain("signal: note");
    const dropped = agent.sendMessage("drop", { ...HERE, ifActive: { behavior: "discard" } });
    expect(await dropped.admitted).toEqual({ action: "discard", runId: opened.runId });
    release();
    await idle();
    expect(asked(1).join()).not.toContain("note");
    expect(reader.types.filter((type) => type === "data-user-message")).toHaveLength(1);
    agent.sendMessage("again", HERE);
    await idle();
    await reader.until("finish", 2);
    expect(asked(2).join()).toContain("user: note");
    expect((await history()).join()).not.toContain("drop");
    reader.stop();
  });

  it("may name the run alone", async () => {
    const { tool, began, release } = holdingTool();
    const { agent, history, idle } = onThread([CALL_HOLD, "after"], { tools: { hold: tool } });
    const opened = agent.sendMessage("go", HERE);
    await began;
    expect(await agent.sendMessage("more", { runId: opened.runId }).admitted).toMatchObject({
      action: "deliver",
    });
    release();
    await idle();
    expect(await history()).toContain("signal: more");
    expect(() => agent.sendMessage("late", { runId: opened.runId })).toThrow(refusal("not-found"));
    expect(() => agent.sendMessage("where", {} as never)).toThrow(refusal("not-found"));
    expect(() => agent.sendMessage("where", undefined as never)).toThrow(refusal("not-found"));
  });

  it("waits for another agent's run, and then opens one of its own agent", async () => {
    const storage = new InMemoryStorage();
    const { tool, began, release } = holdingTool();
    const a = onThread([CALL_HOLD, "from a"], { name: "a", tools: { hold: tool }, storage });
    const b = onThread(["from b"], { name: "b", storage });
    const reader = await a.follow();
    a.agent.sendMessage("to a", HERE);
    await began;
    const both = { ifActive: { attributes: { s: "active" } }, ifIdle: { attributes: { s: "idle" } } };
    const queued = b.agent.sendMessage("to b", { ...HERE, ...both });
    expect(await queued.admitted).toEqual({ action: "queue", runId: queued.runId });
    const stored = b.agent.sendSignal(
      { type: "reactive", contents: "beside" },
      { ...HERE, ifIdle: { behavior: "persist" } },
    );
    await stored.persisted;
    expect(
      await b.agent.sendMessage("x", { ...HERE, ifIdle: { behavior: "discard" } }).admitted,
    ).toMatchObject({
      action: "discard",
    });
    release();
    await a.idle();
    expect(a.model.calls).toHaveLength(2);
    expect(b.model.calls).toHaveLength(1);
    expect(b.asked(0).at(-1)).toBe('user: <user s="idle">to b</user>');
    expect((await a.history()).filter((line) => line.startsWith("assistant"))).toEqual([
      "assistant: [hold result]|from a",
      "assistant: from b",
    ]);
    await reader.until("finish", 2);
    expect(reader.chunks.map((chunk) => chunk.seq)).toEqual(reader.chunks.map((_, index) => index + 1));
    expect(reader.types).not.toContain("error");
    reader.stop();
  });
});

describe("queueMessage", () => {
  it("gives every message a run of its own, first come first served", async () => {
    const { tool, began, release } = holdingTool();
    const { agent, history, idle, follow, asked } = onThread([CALL_HOLD, "r0", "r1", "r2"], {
      tools: { hold: tool },
    });
    const reader = await follow();
    agent.sendMessage("go", HERE);
    await began;
    const queued = ["q1", "q2"].map((text) =>
      agent.queueMessage(text, { ...HERE, ifActive: { behavior: "discard", attributes: { ignored: true } } }),
    );
    for (const sent of queued) expect(await sent.admitted).toEqual({ action: "queue", runId: sent.runId });
    release();
    await idle();
    expect(await history()).toEqual([
      "signal: go",
      "assistant: [hold result]|r0",
      "signal: q1",
      "assistant: r1",
      "signal: q2",
      "assistant: r2",
    ]);
    expect(asked(2).at(-1)).toBe("user: q1");
    const runs = [...new Set(reader.chunks.map((chunk) => chunk.runId))];
    expect(runs.slice(1)).toEqual(queued.map((sent) => sent.runId));
    reader.stop();
  });

  it("keeps a sender's order, however fast the messages come", async () => {
    for (let round = 0; round < 10; round++) {
      const { agent, history, idle } = onThread(() => "ok");
      agent.queueMessage("a", HERE);
      agent.sendMessage("b", HERE);
      agent.queueMessage("c", HERE);
      await agent.queueMessage("d", HERE).admitted;
      await idle();
      const said = (await history()).filter((line) => line.startsWith("signal"));
      expect(said).toEqual(["signal: a", "signal: b", "signal: c", "signal: d"]);
    }
  });

  it("keeps it, however long it takes to take the thread", async () => {
    class SlowToTake extends InMemoryStorage {
      override async commit(...[writes, options]: Parameters<InMemoryStorage["commit"]>) {
        if (writes.some(({ op, table }) => op === "insert" && table === RUNS)) await wait(20);
        return super.commit(writes, options);
      }
    }
    const { agent, history, idle } = onThread(() => "ok", { storage: new SlowToTake() });
    agent.queueMessage("a", HERE);
    const joined = agent.sendMessage("b", HERE).admitted;
    await agent.queueMessage("c", HERE).admitted;
    expect(await joined).toMatchObject({ action: "deliver" });
    await idle();
    const said = (await history()).filter((line) => line.startsWith("signal"));
    expect(said).toEqual(["signal: a", "signal: b", "signal: c"]);
  });

  it("wants a thread", () => {
    const { agent } = onThread([]);
    for (const options of [undefined, null, {}, { threadId: "t" }, { resourceId: "r" }, { runId: "x" }])
      expect(() => agent.queueMessage("x", options as never)).toThrow(refusal("invalid-argument"));
  });
});

describe("what is refused", () => {
  it("is refused before anything is stored", async () => {
    const { agent, storage, model } = onThread([]);
    const bad: [unknown, unknown][] = [
      [5, HERE],
      [{ contents: "x", attributes: { "a b": 1 } }, HERE],
      ["x", { ...HERE, ifActive: { attributes: { "1": 1 } } }],
      ["x", { ...HERE, ifIdle: { attributes: { a: 1n } } }],
      ["x", { ...HERE, ifIdle: { behavior: "deliver" } }],
      ["x", { ...HERE, ifActive: { behavior: "wake" } }],
      ["x", { ...HERE, ifIdle: { streamOptions: { maxSteps: 0 } } }],
      ["x", { ...HERE, ifIdle: { streamOptions: { requestContext: {} } } }],
      ["x", { ...HERE, idempotencyKey: "" }],
      ["x", { threadId: "t1" }],
      ["x", { resourceId: "r1" }],
      ["x", { threadId: "t\u0000", resourceId: "r1" }],
      ["x", { threadId: "\uD800", resourceId: "r1" }],
      ["x", { threadId: "t".repeat(257), resourceId: "r1" }],
      ["x", null],
      ["x", 5],
    ];
    for (const [message, options] of bad)
      expect(() => agent.sendMessage(message as never, options as never)).toThrow(
        refusal("invalid-argument"),
      );
    expect(() => agent.sendSignal({ type: "custom" as never, contents: "x" }, HERE)).toThrow(
      refusal("invalid-argument"),
    );
    expect(() => agent.sendMessage("x".repeat(2 << 20), HERE)).toThrow(refusal("limit-exceeded"));
    for (const table of [MAILBOX, MESSAGES, THREADS, SENDS]) expect(await storage.count({ table })).toBe(0);
    expect(model.calls).toHaveLength(0);
  });

  it("has limits of the agent's own", async () => {
    const { tool, began, release } = holdingTool();
    const { agent, idle, history } = onThread((call) => (call.index === 0 ? CALL_HOLD : "ok"), {
      tools: { hold: tool },
      threads: { signal: { textBytes: 100, fileBytes: 10 }, mailbox: { messages: 3, bytes: 2000 } },
    });
    expect(() => agent.sendMessage("x".repeat(101), HERE)).toThrow(refusal("limit-exceeded"));
    agent.sendMessage("go", HERE);
    await began;
    const sends = ["1", "2", "3", "4"].map((text) => agent.queueMessage(text, HERE).admitted);
    const settled = await Promise.allSettled(sends);
    expect(settled.map((one) => one.status)).toEqual(["fulfilled", "fulfilled", "fulfilled", "rejected"]);
    await expect(sends[3]).rejects.toEqual(refusal("mailbox-full"));
    release();
    await idle();
    expect((await history()).filter((line) => line.startsWith("signal"))).toHaveLength(4);
    await agent.sendMessage("room again", HERE).admitted;
    await idle();
  });

  it("counts the options that wait with a message, also when the message is edited", async () => {
    const { tool, began, release } = holdingTool();
    const { agent, storage, idle } = onThread((call) => (call.index === 0 ? CALL_HOLD : "ok"), {
      tools: { hold: tool },
      threads: { mailbox: { messages: 100, bytes: 20_000 } },
    });
    agent.sendMessage("go", HERE);
    await began;
    const later = { ...HERE, ifIdle: { streamOptions: { instructions: "x".repeat(8000) } } };
    const first = agent.queueMessage("1", later);
    await first.admitted;
    await agent.queueMessage("2", later).admitted;
    await editQueued(storage, { threadId: HERE.threadId, messageId: first.signal.id }, "one");
    await expect(agent.queueMessage("3", later).admitted).rejects.toEqual(refusal("mailbox-full"));
    release();
    await idle();
    expect(await storage.select({ table: ACTORS })).toMatchObject([{ mailbox_count: 0, mailbox_bytes: 0 }]);
  });

  it("is an id that is in use, on any thread, and one that is used later stops nothing", async () => {
    const { tool, began, release } = holdingTool();
    const { agent, storage, idle, history } = onThread(({ index }) => (index === 1 ? CALL_HOLD : "ok"), {
      tools: { hold: tool },
    });
    await agent.sendMessage({ contents: "x", id: "m1" }, HERE).admitted;
    await idle();
    for (const threadId of ["t1", "t2"])
      await expect(
        agent.sendMessage({ contents: "y", id: "m1" }, { ...HERE, threadId }).admitted,
      ).rejects.toEqual(refusal("conflict"));
    agent.sendMessage("hold", HERE);
    await began;
    await agent.sendMessage({ contents: "in the run", id: "m2" }, HERE).admitted;
    await agent.queueMessage({ contents: "after it", id: "m3" }, HERE).admitted;
    const content = { format: 2 as const, parts: [{ type: "text" as const, text: "mine" }] };
    const domain = (await storage.getStore("memory"))!;
    await domain.saveThread({
      thread: { id: "t3", resourceId: "r3", createdAt: new Date(), updatedAt: new Date() },
    });
    await domain.saveMessages({
      messages: ["m2", "m3"].map((id) => ({
        id,
        role: "user",
        threadId: "t3",
        resourceId: "r3",
        createdAt: new Date(),
        content,
      })),
    });
    release();
    await idle();
    expect(await history("t3")).toEqual(["user: mine", "user: mine"]);
    await agent.sendMessage("still alive", HERE).admitted;
    await idle();
    expect((await history()).at(-1)).toBe("assistant: ok");
  });

  it("is storing something where nothing can be stored", async () => {
    const { agent } = agentWith(["ok"]);
    const sent = agent.sendMessage("x", { ...HERE, ifIdle: { behavior: "persist" } });
    await expect(sent.persisted).rejects.toEqual(refusal("memory-required"));
    await expect(sent.admitted).rejects.toEqual(refusal("memory-required"));
    await expect(agent.sendStateSignal({ id: "l", cacheKey: "k", contents: "x" }, HERE)).rejects.toEqual(
      refusal("memory-required"),
    );
  });

  it("is another resource's thread, in the same words as one that is not there", async () => {
    const { agent, history, idle, model } = onThread(["ok"]);
    await agent.sendMessage("mine", HERE).admitted;
    await idle();
    const theirs = { ...HERE, resourceId: "other" };
    for (const behavior of ["wake", "persist"] as const) {
      await expect(agent.sendMessage("x", { ...theirs, ifIdle: { behavior } }).admitted).rejects.toEqual(
        refusal("not-found"),
      );
    }
    await expect(agent.subscribeToThread(theirs)).rejects.toEqual(refusal("not-found"));
    await expect(agent.sendStateSignal({ id: "l", cacheKey: "k", contents: "x" }, theirs)).rejects.toEqual(
      refusal("not-found"),
    );
    await expect(agent.sendToolApproval({ ...theirs, approved: true })).rejects.toEqual(refusal("not-found"));
    expect(await history()).toHaveLength(2);
    expect(model.calls).toHaveLength(1);
  });
});

describe("a thread that does not exist yet", () => {
  it("belongs to who sent the first message to it, from that moment on", async () => {
    const held = gate();
    const { agent, memory, history, idle } = onThread(() => "ok", {
      instructions: async () => {
        await held.opened;
        return "x";
      },
    });
    await agent.sendMessage("mine", HERE).admitted;
    await expect(memory.createThread({ threadId: "t1", resourceId: "r2" })).rejects.toEqual(
      refusal("conflict"),
    );
    await memory.createThread({ threadId: "t1", resourceId: "r1", title: "Ours" });
    held.open();
    await idle();
    expect(await history()).toEqual(["signal: mine", "assistant: ok"]);
    expect(await memory.getThreadById({ threadId: "t1" })).toMatchObject({ resourceId: "r1", title: "Ours" });
  });
});

describe("an agent without memory", () => {
  it("has threads all the same, in this process and without a history", async () => {
    const { agent, model } = agentWith(["one", "two"]);
    const subscription = await agent.subscribeToThread(HERE);
    const types: string[] = [];
    const reading = (async () => {
      for await (const chunk of subscription.stream) types.push(chunk.type);
    })();
    await agent.sendMessage("a", HERE).admitted;
    await until(() => types.includes("finish"));
    await agent.sendMessage("b", HERE).admitted;
    await until(() => types.filter((type) => type === "finish").length === 2);
    expect(model.calls[1]!.prompt.filter((message) => message.role === "user")).toHaveLength(1);
    subscription.unsubscribe();
    await reading;
  });
});

describe("idempotencyKey", () => {
  it("makes a second send the first one, at once, later and with other words", async () => {
    const { agent, history, idle, model } = onThread(() => "ok");
    const key = { ...HERE, idempotencyKey: "k" };
    const sends = [
      agent.sendMessage("one", key),
      agent.sendMessage("one", key),
      agent.queueMessage("two", key),
    ];
    const [first, ...rest] = await Promise.all(sends.map((sent) => sent.admitted));
    for (const again of rest) expect(again).toEqual({ ...first, duplicate: true });
    for (const sent of sends) expect(sent.signal).toMatchObject({ id: sends[0]!.signal.id, contents: "one" });
    await idle();
    expect(await agent.sendMessage("three", key).admitted).toEqual({ ...first, duplicate: true });
    await idle();
    expect(await history()).toEqual(["signal: one", "assistant: ok"]);
    expect(await agent.sendMessage("one", { ...key, threadId: "t2" }).admitted).not.toHaveProperty(
      "duplicate",
    );
    await idle("t2");
    expect(model.calls).toHaveLength(2);
  });

  it("is not used up by a send that failed", async () => {
    const { agent, idle } = onThread(() => "ok", { threads: { mailbox: { messages: 0, bytes: 0 } } });
    const key = { ...HERE, idempotencyKey: "k" };
    await expect(agent.sendMessage("one", key).admitted).rejects.toEqual(refusal("mailbox-full"));
    expect(
      await agent.sendMessage("one", { ...key, ifIdle: { behavior: "persist" } }).admitted,
    ).toMatchObject({ action: "persist" });
    await idle();
  });
});

describe("stream() and generate() on a thread", () => {
  it("wait for each other and never overlap", async () => {
    let working = 0;
    let most = 0;
    const { agent, history } = onThread(async ({ index }) => {
      most = Math.max(most, ++working);
      await new Promise((resolve) => setTimeout(resolve, 5));
      working--;
      return `a${index}`;
    });
    const answers = await Promise.all(["u0", "u1", "u2", "u3"].map((text) => agent.generate(text, ON)));
    expect(most).toBe(1);
    expect(answers.map((answer) => answer.text)).toEqual(["a0", "a1", "a2", "a3"]);
    expect(await history()).toEqual(
      ["u0", "u1", "u2", "u3"].flatMap((text, n) => [`user: ${text}`, `assistant: a${n}`]),
    );
  });

  it("appear to subscribers, and can be aborted by them", async () => {
    const { agent, follow, history, idle } = onThread([
      { text: ["one ", "two "], hang: { after: 4 } },
      "next",
    ]);
    const reader = await follow();
    const output = await agent.stream("hi", ON);
    await reader.until("text-delta");
    expect(reader.subscription.activeRunId()).toBe(output.runId);
    expect(reader.subscription.abort()).toBe(true);
    await reader.until("abort");
    await idle();
    expect(reader.subscription.activeRunId()).toBeNull();
    expect(reader.subscription.abort()).toBe(false);
    expect((await history())[1]).toMatch(/^assistant: one/);
    expect((await agent.generate("again", ON)).text).toBe("next");
    reader.stop();
  });

  it("leave the queue when they are aborted while they wait", async () => {
    const { tool, began, release } = holdingTool();
    const { agent, history, idle } = onThread([CALL_HOLD, "first", "third"], { tools: { hold: tool } });
    const first = agent.generate("one", ON);
    await began;
    const controller = new AbortController();
    const second = await agent.stream("two", { ...ON, abortSignal: controller.signal });
    const third = agent.generate("three", ON);
    controller.abort();
    const types: string[] = [];
    for await (const chunk of second.fullStream) types.push(chunk.type);
    expect(types.at(-1)).toBe("abort");
    release();
    await first;
    expect((await third).text).toBe("third");
    await idle();
    expect((await history()).join()).not.toContain("two");
  });

  it("are not lost with another that was aborted just when the store failed to give it the thread", async () => {
    const asked = gate();
    const answer = gate();
    class FailsOnce extends InMemoryStorage {
      #failed = false;
      override async commit(writes: readonly Write[]): Promise<CommitResult> {
        const takes = writes.some((write) => write.op === "insert" && write.table === RUNS);
        if (this.#failed || !takes) return super.commit(writes);
        this.#failed = true;
        asked.open();
        await answer.opened;
        throw new Error("disk full");
      }
    }
    const { agent } = onThread(["hello"], { storage: new FailsOnce() });
    const controller = new AbortController();
    const first = await agent.stream("one", { ...ON, abortSignal: controller.signal });
    void first.consumeStream();
    await asked.opened;
    const second = agent.generate("two", ON);
    await new Promise((resolve) => setTimeout(resolve, 5));
    controller.abort();
    answer.open();
    expect((await second).text).toBe("hello");
  });

  it("come after messages that were accepted before them", async () => {
    const { agent, history } = onThread(({ index }) => `a${index}`);
    agent.queueMessage("q", HERE);
    const answer = await agent.generate("g", ON);
    expect(answer.text).toBe("a1");
    expect(await history()).toEqual(["signal: q", "assistant: a0", "user: g", "assistant: a1"]);
  });
});

describe("abort", () => {
  it("stops a run that is only reserved, as it starts", async () => {
    const { agent, follow, history, idle, model } = onThread(["never", "next"]);
    const reader = await follow();
    const sent = agent.sendMessage("hi", HERE);
    expect(reader.subscription.activeRunId()).toBe(sent.runId);
    expect(reader.subscription.abort()).toBe(true);
    await reader.until("abort");
    await idle();
    expect(model.calls).toHaveLength(0);
    expect(await history()).toEqual(["signal: hi"]);
    await agent.sendMessage("again", HERE).admitted;
    await idle();
    expect(await history()).toEqual(["signal: hi", "signal: again", "assistant: never"]);
    reader.stop();
  });

  it("answers the calls of a tool at work, and the thread goes on", async () => {
    const { tool, began } = holdingTool();
    const { agent, follow, messages, idle, asked } = onThread([CALL_HOLD, "next"], { tools: { hold: tool } });
    const reader = await follow();
    agent.sendMessage("go", HERE);
    await began;
    agent.queueMessage("later", HERE);
    expect(reader.subscription.abort()).toBe(true);
    await reader.until("abort");
    await idle();
    const [, stopped] = await messages();
    expect(stopped!.content.parts).toContainEqual(
      expect.objectContaining({
        toolInvocation: expect.objectContaining({ state: "output-error", isError: true }),
      }),
    );
    expect(asked(1)).toEqual([
      "user: go",
      "assistant: [tool-call hold]",
      "tool: [tool-result hold]",
      "user: later",
    ]);
    reader.stop();
  });
});

it("refuses a run under an id that a run has, instead of waiting for it for ever", async () => {
  const { agent } = onThread(["one", "two"]);
  const { runId } = await agent.generate("a", ON);
  const other = { memory: { thread: "t2", resource: "r2" } };
  for (const where of [ON, other])
    await expect(agent.generate("b", { ...where, runId })).rejects.toMatchObject({ code: "conflict" });
  expect((await agent.generate("c", other)).text).toBe("two");
});
