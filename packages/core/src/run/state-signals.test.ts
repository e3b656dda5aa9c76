import { describe, expect, it } from "vitest";
import { agentWith } from "../agent/__fixtures__/agent-with.ts";
import { HERE, ON, onThread } from "../agent/__fixtures__/on-thread.ts";
import type { ComputedState, ComputeStateSignalArgs, Processor } from "../processor/processor.ts";
import { LANES, MAILBOX } from "../storage/thread-tables.ts";

const refusal = (code: string) => expect.objectContaining({ name: "AgentError", code });
const QUIET = { ...HERE, ifIdle: { behavior: "persist" as const } };
const page = (n: number, mode?: "snapshot" | "delta") => ({
  id: "browser",
  cacheKey: `page-${n}`,
  contents: `Page ${n}`,
  ...(mode && { mode }),
  ...(mode === "delta" ? { delta: { n } } : { value: { n } }),
});

async function existing(...args: Parameters<typeof onThread>) {
  const made = onThread(...args);
  await made.memory.createThread({ threadId: "t1", resourceId: "r1" });
  const lanes = async () => {
    const thread = await made.memory.getThreadById({ threadId: "t1" });
    return (thread?.metadata?.["mastra"] as { stateSignals: Record<string, any> } | undefined)?.stateSignals;
  };
  return { ...made, lanes };
}

describe("sendStateSignal", () => {
  it("stores a new state with its version, and says on the thread where the lane stands", async () => {
    const { agent, messages, lanes, history } = await existing([]);
    const first = await agent.sendStateSignal({ ...page(1), metadata: { by: "me" } }, QUIET);
    const delta = await agent.sendStateSignal(page(2, "delta"), QUIET);
    if (first.skipped || delta.skipped) throw new Error("skipped");
    await first.persisted;
    expect(await history()).toEqual(["signal: Page 1", "signal: Page 2"]);
    expect(
      (await messages()).map((message) => (message.content.metadata!["signal"] as any).metadata),
    ).toEqual([
      {
        by: "me",
        state: { id: "browser", threadId: "t1", cacheKey: "page-1", version: 1, mode: "snapshot" },
        value: { n: 1 },
      },
      {
        state: { id: "browser", threadId: "t1", cacheKey: "page-2", version: 2, mode: "delta" },
        delta: { n: 2 },
      },
    ]);
    expect(await lanes()).toEqual({
      browser: {
        currentCacheKey: "page-2",
        currentMode: "delta",
        version: 2,
        lastSignalId: delta.signal.id,
        lastSnapshotSignalId: first.signal.id,
        updatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      },
    });
  });

  it("skips the same key and mode, and wakes nobody for it", async () => {
    const { agent, model, idle, lanes } = await existing(["seen"]);
    expect(await agent.sendStateSignal(page(1), HERE)).toMatchObject({
      accepted: true,
      runId: expect.any(String),
    });
    await idle();
    expect(model.calls).toHaveLength(1);
    expect(await agent.sendStateSignal(page(1), HERE)).toEqual({
      accepted: true,
      skipped: true,
      reason: "unchanged",
    });
    expect(model.calls).toHaveLength(1);
    expect(await agent.sendStateSignal(page(1, "delta"), QUIET)).not.toHaveProperty("skipped", true);
    expect((await lanes())!["browser"]).toMatchObject({ version: 2, currentMode: "delta" });
  });

  it("makes one version of a hundred sends of the same state at once", async () => {
    const { agent, history, lanes } = await existing([]);
    const results = await Promise.all(
      Array.from({ length: 100 }, () => agent.sendStateSignal(page(1), QUIET)),
    );
    expect(results.filter((result) => !result.skipped)).toHaveLength(1);
    expect(await history()).toHaveLength(1);
    expect((await lanes())!["browser"].version).toBe(1);
  });

  it("gives versions without a gap to different states sent at once", async () => {
    const { agent, messages } = await existing([]);
    await Promise.all(Array.from({ length: 20 }, (_, n) => agent.sendStateSignal(page(n), QUIET)));
    const versions = (await messages()).map(
      (message) => (message.content.metadata!["signal"] as any).metadata.state.version,
    );
    expect(versions).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  });

  it("does not take for current what was discarded or refused", async () => {
    const { agent, storage, history } = await existing([], {
      threads: { mailbox: { messages: 0, bytes: 0 } },
    });
    await agent.sendStateSignal(page(1), { ...HERE, ifIdle: { behavior: "discard" } });
    await expect(agent.sendStateSignal(page(1), HERE)).rejects.toEqual(refusal("mailbox-full"));
    expect(await storage.count({ table: LANES })).toBe(0);
    expect(await agent.sendStateSignal(page(1), QUIET)).not.toHaveProperty("skipped", true);
    expect(await history()).toEqual(["signal: Page 1"]);
  });

  it("wants a thread that exists, an id, a key and a mode", async () => {
    const { agent, storage } = await existing([]);
    const send = (state: object, options: unknown = QUIET) =>
      agent.sendStateSignal(state as never, options as never);
    await expect(send(page(1), null)).rejects.toEqual(refusal("invalid-argument"));
    await expect(send(page(1), { threadId: "t1" })).rejects.toEqual(refusal("invalid-argument"));
    await expect(send(page(1), { ...QUIET, threadId: "nowhere" })).rejects.toEqual(refusal("not-found"));
    for (const wrong of [
      { id: undefined },
      { id: "__proto__" },
      { cacheKey: undefined },
      { cacheKey: "" },
      { mode: "full" },
      { metadata: 5 },
      { tagName: "a b" },
      { contents: undefined },
      { value: 1n },
    ])
      await expect(send({ ...page(1), ...wrong })).rejects.toEqual(refusal("invalid-argument"));
    await expect(send(null as never)).rejects.toEqual(refusal("invalid-argument"));
    for (const table of [LANES, MAILBOX]) expect(await storage.count({ table })).toBe(0);
    expect(await send({ ...page(1), cacheKey: `https://example.com/?${"q".repeat(2000)}` })).toMatchObject({
      accepted: true,
    });
  });
});

/** A lane that tells what the test puts on its desk. */
class Desk implements Processor {
  readonly id = "desk";
  readonly stateId = "browser";
  readonly seen: ComputeStateSignalArgs[] = [];
  next: ComputedState | undefined;
  decide: ((args: ComputeStateSignalArgs) => ComputedState | undefined) | undefined;

  computeStateSignal(args: ComputeStateSignalArgs): ComputedState | undefined {
    this.seen.push({ ...args });
    return this.decide ? this.decide(args) : this.next;
  }
}

describe("computeStateSignal", () => {
  it("puts the state in front of the model once, until it changes", async () => {
    const desk = new Desk();
    const { agent, asked, history, lanes } = await existing(() => "ok", { inputProcessors: [desk] });
    desk.next = page(1);
    await agent.generate("a", ON);
    await agent.generate("b", ON);
    desk.next = page(2);
    await agent.generate("c", ON);
    expect(asked(0)).toEqual(["user: a", "user: <state>Page 1</state>"]);
    expect(await history()).toEqual([
      "user: a",
      "signal: Page 1",
      "assistant: ok",
      "user: b",
      "assistant: ok",
      "user: c",
      "signal: Page 2",
      "assistant: ok",
    ]);
    expect((await lanes())!["browser"].version).toBe(2);
    expect(desk.seen[1]).toMatchObject({
      contextWindow: { hasSnapshot: true },
      lastSnapshot: { value: { n: 1 }, version: 1 },
    });
  });

  it("knows the last snapshot and its deltas from the store when the window has lost them, and tells it again under the same version", async () => {
    const desk = new Desk();
    const { agent, asked, lanes } = await existing(() => "ok", {
      inputProcessors: [desk],
      memoryOptions: { lastMessages: 1 },
    });
    desk.next = page(1);
    await agent.generate("a", ON);
    desk.next = page(2, "delta");
    await agent.generate("b", ON);
    desk.next = undefined;
    await agent.generate("c", ON);
    const lost = desk.seen.at(-1)!;
    expect(lost.contextWindow.hasSnapshot).toBe(false);
    expect(lost.lastSnapshot).toMatchObject({ mode: "snapshot", value: { n: 1 }, contents: "Page 1" });
    expect(lost.deltasSinceSnapshot).toMatchObject([{ mode: "delta", delta: { n: 2 } }]);
    expect(lost.tracking).toMatchObject({
      version: 2,
      currentCacheKey: "page-2",
      currentMode: "delta",
      lastSignalId: lost.deltasSinceSnapshot.at(-1)!.id,
      lastSnapshotSignalId: lost.lastSnapshot!.id,
    });
    expect(lost.lastSnapshot!.metadata).toEqual({
      state: { id: "browser", threadId: "t1", cacheKey: "page-1", version: 1, mode: "snapshot" },
      value: { n: 1 },
    });
    desk.next = page(2, "delta");
    await agent.generate("d", ON);
    expect(asked(3).at(-1)).toBe("user: <state>Page 2</state>");
    expect((await lanes())!["browser"].version).toBe(2);
  });

  it("is asked once per step, and follows an outside producer of the same lane", async () => {
    const desk = new Desk();
    desk.decide = ({ lastSnapshot, contextWindow }) =>
      lastSnapshot && contextWindow.hasSnapshot ? undefined : { cacheKey: "own", contents: "own" };
    const { agent, idle, history, lanes } = await existing(() => "ok", { inputProcessors: [desk] });
    await agent.sendStateSignal(page(7), HERE);
    await idle();
    expect(await history()).toEqual(["signal: Page 7", "assistant: ok"]);
    expect((await lanes())!["browser"]).toMatchObject({ version: 1, currentCacheKey: "page-7" });
  });

  it("fails the run with a clear error when it returns no state, and needs a memory", async () => {
    const desk = new Desk();
    desk.next = { contents: "x" } as never;
    const { agent } = await existing(() => "ok", { inputProcessors: [desk] });
    await expect(agent.generate("a", ON)).rejects.toEqual(refusal("invalid-argument"));
    const alone = agentWith(["ok"], { inputProcessors: [desk] }).agent;
    await expect(alone.generate("a")).rejects.toEqual(refusal("memory-required"));
    const { agent: threadless, history } = await existing(() => "ok", { inputProcessors: [desk] });
    expect((await threadless.generate("no thread in this call")).text).toBe("ok");
    expect(await history()).toEqual([]);
  });
});

describe("sendStateSignal of a processor", () => {
  const telling = (hook: string, ...states: object[]): Processor =>
    ({
      id: "teller",
      [hook]: async ({ sendStateSignal, part }: { sendStateSignal: any; part?: { type: string } }) => {
        if (part && part.type !== "text-start") return part;
        for (const state of states) await sendStateSignal(state);
        return part;
      },
    }) as unknown as Processor;

  it.each([
    "processInput",
    "processInputStep",
    "processLLMRequest",
    "processOutputStream",
    "processOutputStep",
  ])("tells the lane once, from %s, and the model reads it next", async (hook) => {
    const { agent, asked, lanes, history } = await existing(["one", "two"], {
      [hook.startsWith("processOutput") ? "outputProcessors" : "inputProcessors"]: [telling(hook, page(1))],
    });
    await agent.generate("a", ON);
    await agent.generate("b", ON);
    expect((await lanes())!["browser"]).toMatchObject({ currentCacheKey: "page-1", version: 1 });
    expect((await history()).filter((line) => line === "signal: Page 1")).toHaveLength(1);
    expect(asked(1).join()).toContain("Page 1");
  });

  it("refuses a bad state and stores nothing of it", async () => {
    const { agent, lanes } = await existing(["one"], {
      inputProcessors: [telling("processInput", { ...page(1), cacheKey: "" })],
    });
    await expect(agent.generate("a", ON)).rejects.toThrow(/cacheKey/);
    expect(await lanes()).toBeUndefined();
  });

  it("does nothing without a thread", async () => {
    const { agent } = agentWith(["one"], { inputProcessors: [telling("processInput", page(1))] });
    expect((await agent.generate("a")).text).toBe("one");
  });
});
