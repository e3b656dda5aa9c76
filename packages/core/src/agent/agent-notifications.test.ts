import { describe, expect, it } from "vitest";
import type { NotificationPriority } from "@selvedge/protocol";
import { CI, inbox, TARGET, told } from "../notification/__fixtures__/inbox.ts";
import {
  DEFAULT_BATCH_WINDOW_MS,
  type NotificationDeliveryPolicyConfig,
} from "../notification/delivery-policy.ts";
import { toModelMessages } from "../message/to-model-messages.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { NOTIFICATIONS } from "../storage/notification-table.ts";
import type { Write } from "../storage/storage.ts";
import { MAILBOX } from "../storage/thread-tables.ts";
import { agentWith, bareMemory } from "./__fixtures__/agent-with.ts";

const readBy = (prompt: readonly { role: string; content: unknown }[]): string => JSON.stringify(prompt);

describe("sendNotificationSignal on an idle thread", () => {
  it.each([
    ["urgent", "deliver", "urgent"],
    ["high", "deliver", "idle-high"],
    ["medium", "deliver", "idle-medium"],
  ] as const)("delivers %s in full and wakes the thread", async (priority, action, reason) => {
    const { agent, model, idle, system } = inbox();
    const result = await agent.sendNotificationSignal({ ...CI, priority }, TARGET);
    expect(result).toMatchObject({
      accepted: true,
      decision: { action, reason },
      record: { status: "delivered", deliveryReason: reason, deliveredSignalId: result.signal!.id },
      runId: expect.any(String),
    });
    expect(result.record.deliveredAt?.getTime()).toBe(system.now());
    await idle();
    expect(model.calls).toHaveLength(1);
  });

  it("shows the model the element of the documents, to the item", async () => {
    const { agent, storage, idle } = inbox();
    await agent.sendNotificationSignal({ ...CI, payload: { branch: "main" }, dedupeKey: "k" }, TARGET);
    await idle();
    const { messages } = await (await storage.getStore("memory"))!.listMessages({
      threadId: TARGET.threadId,
    });
    const text = JSON.stringify(toModelMessages(messages[0]!));
    expect(text).toContain(
      JSON.stringify(
        '<notification source="github" type="ci-status" priority="high" status="delivered">CI failed on main: 3 tests failed.</notification>',
      ),
    );
  });

  it("keeps low for a summary, which reaches readers without waking the model", async () => {
    const { agent, model, list, system } = inbox();
    const result = await agent.sendNotificationSignal({ ...CI, priority: "low" }, TARGET);
    expect(result.signal).toBeUndefined();
    expect(result.decision).toMatchObject({ action: "summarize", reason: "idle-low-summary" });
    const [record] = await list();
    expect(record!.summaryAt!.getTime()).toBe(system.now() + DEFAULT_BATCH_WINDOW_MS);
    expect(record).toMatchObject({ status: "pending" });
    expect(model.calls).toHaveLength(0);
  });

  it("creates a thread that is not there, also for a record that waits", async () => {
    const { agent, storage } = inbox();
    await agent.sendNotificationSignal({ ...CI, priority: "low" }, TARGET);
    const thread = await (await storage.getStore("memory"))!.getThreadById({ threadId: TARGET.threadId });
    expect(thread).toMatchObject({ resourceId: TARGET.resourceId });
  });

  it("gives the run it wakes the caller's options", async () => {
    const { agent, model, idle } = inbox();
    const streamOptions = { instructions: "Be very brief." };
    await agent.sendNotificationSignal(CI, { ...TARGET, ifIdle: { streamOptions } });
    await idle();
    expect(readBy(model.calls[0]!.prompt)).toContain("Be very brief.");
  });
});

describe("sendNotificationSignal on an active thread", () => {
  it("delivers urgent into the run", async () => {
    const { agent, model, hold } = inbox();
    const go = await hold();
    const { record } = await agent.sendNotificationSignal({ ...CI, priority: "urgent" }, TARGET);
    expect(record.status).toBe("delivered");
    await go();
    expect(model.calls).toHaveLength(2);
    expect(readBy(model.calls[1]!.prompt)).toContain("CI failed on main");
  });

  it("tells of high at once, and keeps the full record for when the thread is idle", async () => {
    const { agent, model, hold, storage } = inbox();
    const go = await hold();
    const result = await agent.sendNotificationSignal(CI, TARGET);
    expect(result).toMatchObject({
      decision: { action: "summarize", reason: "active-high-summary-then-full" },
      signal: { tagName: "notification-summary" },
      record: { status: "pending", summarySignalId: result.signal!.id, deliverAt: expect.any(Date) },
    });
    expect(result.record.summaryAt).toBeUndefined();
    await go();
    expect(readBy(model.calls[1]!.prompt)).toContain(
      JSON.stringify('<notification-summary pending="1">github: 1</notification-summary>').slice(1, -1),
    );
    expect(await told(storage)).toEqual(["notification-summary github: 1"]);
  });

  it.each(["medium", "low"] as const)("gathers %s for one summary", async (priority) => {
    const { agent, hold, list, system } = inbox({ notifications: { batchWindow: 5_000 } });
    const go = await hold();
    const { decision } = await agent.sendNotificationSignal({ ...CI, priority }, TARGET);
    expect(decision).toMatchObject({ action: "summarize", reason: "active-batch-summary" });
    const [record] = await list();
    expect(record!.summaryAt!.getTime()).toBe(system.now() + 5_000);
    await go();
  });

  it("counts a run that another process carries out", async () => {
    const { agent, storage, list } = inbox();
    const other = inbox({}, { storage });
    const go = await other.hold();
    await agent.sendNotificationSignal({ ...CI, priority: "medium" }, TARGET);
    expect((await list())[0]).toMatchObject({ status: "pending", deliveryReason: "active-batch-summary" });
    await go();
  });

  it("tells of a batch in one summary, with one look at the thread, and answers in order", async () => {
    const { agent, hold, storage } = inbox();
    const go = await hold();
    const sources = ["github", "email", "github", "slack"];
    const results = await agent.sendNotificationSignal(
      sources.map((source) => ({ ...CI, source })),
      TARGET,
    );
    expect(results.map(({ record }) => record.source)).toEqual(sources);
    expect(new Set(results.map(({ signal }) => signal!.id)).size).toBe(1);
    await go();
    expect(await told(storage)).toEqual(["notification-summary github: 2, email: 1, slack: 1"]);
  });
});

describe("a delivery policy", () => {
  it.each<[string, NotificationDeliveryPolicyConfig]>([
    ["decide", { decide: () => "persist", sources: { github: "discard" } }],
    ["sources", { decide: () => undefined, sources: { github: "persist" }, priorities: { high: "discard" } }],
    ["priorities", { priorities: { high: "persist" }, default: "discard" }],
    ["default", { default: "persist", priorities: { low: "discard" } }],
  ])("asks %s before what comes after it", async (_, deliveryPolicy) => {
    const { agent } = inbox({ notifications: { deliveryPolicy } });
    const { decision } = await agent.sendNotificationSignal(CI, TARGET);
    expect(decision).toEqual({ action: "persist" });
  });

  it("goes on asking where it is told nothing", async () => {
    const deliveryPolicy = {
      decide: () => null as unknown as undefined,
      sources: { github: undefined as unknown as "persist" },
      priorities: { high: "persist" as const },
    };
    const { agent } = inbox({ notifications: { deliveryPolicy } });
    expect((await agent.sendNotificationSignal(CI, TARGET)).decision).toEqual({ action: "persist" });
  });

  it("carries out each action", async () => {
    let action: "queue" | "defer" | "persist" | "discard" = "persist";
    const { agent, list, system, idle, model } = inbox({
      notifications: { deliveryPolicy: { decide: () => action } },
    });
    for (action of ["persist", "discard", "defer", "queue"] as const)
      await agent.sendNotificationSignal(CI, TARGET);
    await idle();
    expect(await list()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ status: "pending" }),
        expect.objectContaining({ status: "discarded", discardedAt: expect.any(Date) }),
        expect.objectContaining({ status: "pending", deliverAt: expect.any(Date) }),
        expect.objectContaining({ status: "delivered" }),
      ]),
    );
    expect(model.calls).toHaveLength(1);
    expect(system.now()).toBeGreaterThan(0);
  });

  it("is replaced by the built-in one for a record that it fails on", async () => {
    const decide = () => {
      throw new Error("broken");
    };
    const { agent } = inbox({ notifications: { deliveryPolicy: { decide } } });
    expect(await agent.sendNotificationSignal(CI, TARGET)).toMatchObject({ record: { status: "delivered" } });
  });

  it("sees the record, the thread's state and the time", async () => {
    const seen: unknown[] = [];
    const decide = (context: object) => void seen.push(Object.keys(context).sort());
    const { agent } = inbox({ notifications: { deliveryPolicy: { decide } } });
    await agent.sendNotificationSignal(CI, TARGET);
    expect(seen[0]).toEqual(["now", "record", "threadState"]);
  });
});

describe("bad notifications", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;

  it.each([
    ["an unknown priority", { ...CI, priority: "huge" as NotificationPriority }, TARGET, "invalid-argument"],
    ["no source", { ...CI, source: "" }, TARGET, "invalid-argument"],
    ["no kind", { ...CI, kind: undefined as never }, TARGET, "invalid-argument"],
    ["an empty summary", { ...CI, summary: "" }, TARGET, "invalid-argument"],
    ["no thread", CI, { resourceId: "r" } as typeof TARGET, "invalid-argument"],
    ["no ids", CI, {} as typeof TARGET, "invalid-argument"],
    ["no options", CI, undefined as never, "invalid-argument"],
    ["a cyclic payload", { ...CI, payload: cyclic }, TARGET, "invalid-argument"],
    ["a payload of 10 MB", { ...CI, payload: "x".repeat(10_000_000) }, TARGET, "limit-exceeded"],
    ["a summary of 2 MB", { ...CI, summary: "x".repeat(2_000_000) }, TARGET, "limit-exceeded"],
    ["an attribute that is no name", { ...CI, attributes: { "a b": 1 } }, TARGET, "invalid-argument"],
    [
      "an attribute that is a function",
      { ...CI, attributes: { a: (() => 1) as never } },
      TARGET,
      "invalid-argument",
    ],
    ["nothing", null as never, TARGET, "invalid-argument"],
  ])("are refused before anything is stored: %s", async (_, notification, target, code) => {
    const { agent, storage } = inbox();
    await expect(agent.sendNotificationSignal(notification, target)).rejects.toMatchObject({ code });
    await expect(agent.sendNotificationSignal([CI, notification], target)).rejects.toMatchObject({ code });
    for (const table of [NOTIFICATIONS, MAILBOX]) expect(await storage.count({ table })).toBe(0);
  });

  it("are refused when they are too many at once, or the options for their run are none", async () => {
    const { agent, storage } = inbox();
    const many = Array.from({ length: 501 }, () => CI);
    await expect(agent.sendNotificationSignal(many, TARGET)).rejects.toMatchObject({
      code: "limit-exceeded",
    });
    for (const [streamOptions, code] of [
      [{ maxSteps: -1 }, "invalid-argument"],
      [{ instructions: "x".repeat(300_000) }, "limit-exceeded"],
    ] as const) {
      const sent = agent.sendNotificationSignal(CI, { ...TARGET, ifIdle: { streamOptions } });
      await expect(sent).rejects.toMatchObject({ code });
    }
    expect(await storage.count({ table: NOTIFICATIONS })).toBe(0);
  });

  it("are refused for a thread of another resource", async () => {
    const { agent, storage } = inbox();
    await agent.sendNotificationSignal({ ...CI, priority: "low" }, { ...TARGET, resourceId: "somebody" });
    const sent = agent.sendNotificationSignal(CI, TARGET);
    await expect(sent).rejects.toMatchObject({ code: "not-found" });
    expect(await storage.count({ table: NOTIFICATIONS })).toBe(1);
  });

  it("are refused by an agent without a store, or with one that has no inbox", async () => {
    const plain = new InMemoryStorage();
    plain.getStore = () => Promise.resolve(undefined);
    for (const config of [{}, { memory: bareMemory(plain) }]) {
      const sent = agentWith([], config).agent.sendNotificationSignal(CI, TARGET);
      await expect(sent).rejects.toMatchObject({
        code: "storage-required",
        message: expect.stringContaining("requires a notifications storage domain"),
      });
    }
  });
});

describe("notifications with one key", () => {
  it("leave one record of a hundred that come at once", async () => {
    const { agent, list } = inbox();
    await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        agent.sendNotificationSignal(
          {
            ...CI,
            priority: "low",
            summary: `Build ${index}`,
            dedupeKey: "ci",
            attributes: { [`a${index}`]: index },
          },
          TARGET,
        ),
      ),
    );
    const records = await list();
    expect(records).toHaveLength(1);
    expect(records[0]).toMatchObject({ coalescedCount: 100, status: "pending" });
    expect(Object.keys(records[0]!.attributes!)).toHaveLength(100);
  });

  it("keep the earlier time, and are decided anew when they become urgent", async () => {
    const { agent, list, system, idle, storage } = inbox();
    await agent.sendNotificationSignal({ ...CI, priority: "low", coalesceKey: "ci" }, TARGET);
    const [first] = await list();
    await system.advance(10_000);
    await agent.sendNotificationSignal({ ...CI, priority: "low", coalesceKey: "ci" }, TARGET);
    expect((await list())[0]!.summaryAt).toEqual(first!.summaryAt);
    const { record } = await agent.sendNotificationSignal(
      { ...CI, priority: "urgent", coalesceKey: "ci" },
      TARGET,
    );
    expect(record).toMatchObject({ id: first!.id, status: "delivered", coalescedCount: 3 });
    await idle();
    expect(await told(storage)).toHaveLength(1);
  });

  it("are told of once while the thread is active, however often they come", async () => {
    const { agent, hold, storage, list } = inbox();
    const go = await hold();
    const send = () => agent.sendNotificationSignal({ ...CI, dedupeKey: "ci" }, TARGET);
    await Promise.all(Array.from({ length: 20 }, send));
    await go();
    expect(await told(storage)).toEqual(["notification-summary github: 1"]);
    expect(await list()).toHaveLength(1);
  });

  it("deliver at most once in full, and never an old summary, whoever comes when", async () => {
    const { agent, storage, idle, list } = inbox();
    await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        agent.sendNotificationSignal(
          { ...CI, priority: "urgent", summary: `v${index}`, dedupeKey: "ci" },
          TARGET,
        ),
      ),
    );
    await idle();
    const records = await list();
    expect((await told(storage)).sort()).toEqual(
      records.map(({ summary }) => `notification ${summary}`).sort(),
    );
    expect(records.reduce((sum, { coalescedCount }) => sum + coalescedCount, 0)).toBe(30);
  });
});

describe("a delivery that fails", () => {
  /** Refuses signals while `broken`. */
  class Broken extends InMemoryStorage {
    broken = true;
    override commit(writes: readonly Write[]) {
      if (this.broken && writes.some((write) => write.op === "insert" && write.table === MAILBOX))
        return Promise.reject(new Error("disk full"));
      return super.commit(writes);
    }
  }

  it("leaves the record pending with the reason and a later time", async () => {
    const { agent, list, storage } = inbox({}, { storage: new Broken() });
    const { record, signal } = await agent.sendNotificationSignal(CI, TARGET);
    expect(signal).toBeUndefined();
    expect(record).toMatchObject({ status: "pending", deliveryAttempts: 1, lastDeliveryError: "disk full" });
    expect(await list()).toHaveLength(1);
    expect(await told(storage)).toEqual([]);
  });
});
