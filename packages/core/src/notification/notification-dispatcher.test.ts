import { virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { Mastra } from "../mastra/mastra.ts";
import { silentLogger } from "../logger.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import type { Change, CommitResult, Select, Write } from "../storage/storage.ts";
import { MAILBOX } from "../storage/thread-tables.ts";
import { CI, inbox, TARGET, told } from "./__fixtures__/inbox.ts";
import { CLAIM_MS } from "../storage/notification-domain.ts";
import { type NotificationRow, NOTIFICATIONS } from "../storage/notification-table.ts";
import { insert } from "../storage/writes.ts";

const MINUTE = 60_000;

/** Counts what is asked of it, and refuses signals while `broken`. */
class Watched extends InMemoryStorage {
  commits = 0;
  selects = 0;
  broken = false;
  failing = false;
  /** The next commit is made, and reported as failed. */
  mumbles = false;
  #watchers: ((change: Change) => void)[] = [];

  /** As if another process had written. */
  news(): void {
    for (const watcher of this.#watchers) watcher("unknown");
  }

  override watch(onChange: (change: Change) => void): () => void {
    this.#watchers.push(onChange);
    return () => {};
  }

  override commit(writes: readonly Write[]): Promise<CommitResult> {
    this.commits++;
    if (this.broken && writes.some((write) => write.op === "insert" && write.table === MAILBOX))
      return Promise.reject(new Error("disk full"));
    if (this.mumbles) {
      this.mumbles = false;
      return super.commit(writes).then(() => Promise.reject(new Error("no answer")));
    }
    return super.commit(writes);
  }

  override select<R extends object>(query: Select<R>): Promise<R[]> {
    this.selects++;
    if (this.failing) return Promise.reject(new Error("locked"));
    return super.select(query);
  }
}

async function dispatching(
  config: Parameters<typeof inbox>[0] = {},
  dispatch: { cron?: string; batchSize?: number } = {},
  given: Watched = new Watched(),
) {
  const app = inbox(config, { storage: given });
  const { system, storage, agent } = app;
  const host = () =>
    new Mastra({
      agents: { agent },
      storage,
      system,
      logger: silentLogger,
      threads: { recover: false },
      notifications: { dispatch: { enabled: true, ...dispatch } },
    });
  const mastra = host();
  await mastra.start();
  return { ...app, storage: given, mastra, host };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Waits until the thread was told so much. Everything on the way is in this process and needs no time. */
async function until(storage: InMemoryStorage, count: number): Promise<void> {
  for (let turn = 0; turn < 500 && (await told(storage)).length < count; turn++) await settle();
}

describe("the dispatcher", () => {
  it("delivers what a store has taken and called a failure", async () => {
    const { agent, system, storage } = await dispatching();
    storage.mumbles = true;
    await expect(agent.sendNotificationSignal(CI, TARGET)).rejects.toThrow("no answer");
    await system.advance(CLAIM_MS + MINUTE);
    await until(storage, 1);
    expect(await told(storage)).toHaveLength(1);
  });

  it("tells of gathered records in one summary, at the first tick after their window", async () => {
    const { agent, hold, system, storage, list } = await dispatching();
    const go = await hold();
    for (const [source, count] of [
      ["github", 3],
      ["email", 5],
      ["slack", 2],
    ] as const)
      for (let index = 0; index < count; index++)
        await agent.sendNotificationSignal({ ...CI, source, priority: "medium" }, TARGET);
    await system.advance(MINUTE / 2);
    expect(await told(storage)).toEqual([]);
    await system.advance(2 * MINUTE);
    await go();
    expect(await told(storage)).toEqual(["notification-summary github: 3, email: 5, slack: 2"]);
    for (const record of await list()) {
      expect(record).toMatchObject({ status: "pending", summarySignalId: expect.any(String) });
      expect(record.summaryAt).toBeUndefined();
    }
  });

  it("puts an all-low summary on the stream of an idle thread without asking the model", async () => {
    const { agent, system, storage, model } = await dispatching();
    const { stream } = await agent.subscribeToThread(TARGET);
    for (let index = 0; index < 3; index++)
      await agent.sendNotificationSignal({ ...CI, priority: "low" }, TARGET);
    await system.advance(2 * MINUTE);
    expect(await told(storage)).toEqual(["notification-summary github: 3"]);
    expect(model.calls).toHaveLength(0);
    for await (const chunk of stream) {
      if (chunk.type !== "data-signal") continue;
      expect(chunk.data).toMatchObject({ tagName: "notification-summary", attributes: { pending: 3 } });
      break;
    }
  });

  it("delivers high in full when the thread has become idle, and not before", async () => {
    const { agent, system, storage, hold, list, idle } = await dispatching();
    const go = await hold();
    await agent.sendNotificationSignal(CI, TARGET);
    await system.advance(3 * MINUTE);
    expect((await list())[0]).toMatchObject({ status: "pending", deliveryAttempts: 0 });
    await go();
    await system.advance(MINUTE);
    await idle();
    expect(await told(storage)).toEqual(["notification-summary github: 1", `notification ${CI.summary}`]);
    expect((await list())[0]).toMatchObject({ status: "delivered" });
    await system.advance(10 * MINUTE);
    expect(await told(storage)).toHaveLength(2);
  });

  it("delivers high in full at once when the run is over, without waiting for its time", async () => {
    const { agent, system, storage, hold } = await dispatching({}, { cron: "0 0 1 1 *" });
    const go = await hold();
    await agent.sendNotificationSignal(CI, TARGET);
    const before = system.now();
    await go();
    await until(storage, 2);
    expect(await told(storage)).toEqual(["notification-summary github: 1", `notification ${CI.summary}`]);
    expect(system.now() - before).toBeLessThan(2_000);
  });

  it("delivers high in full soon after a run in another process is over", async () => {
    const app = await dispatching({}, { cron: "0 0 1 1 *" });
    const other = inbox({}, { storage: app.storage });
    const go = await other.hold();
    await app.agent.sendNotificationSignal(CI, TARGET);
    await go();
    expect(await told(app.storage)).toHaveLength(1);
    app.storage.news();
    await app.system.advance(1_000);
    await until(app.storage, 2);
    expect((await told(app.storage))[1]).toBe(`notification ${CI.summary}`);
  });

  it("gives a run that it wakes the options of the sender, whoever that was", async () => {
    const app = await dispatching({ notifications: { deliveryPolicy: { default: "defer" } } });
    const sender = inbox(
      { notifications: { deliveryPolicy: { default: "defer" } } },
      { storage: app.storage },
    );
    const streamOptions = { instructions: "From afar.", onFinish: () => {} };
    await sender.agent.sendNotificationSignal(CI, { ...TARGET, ifIdle: { streamOptions } });
    expect(JSON.stringify(await app.list())).not.toContain("From afar.");
    app.storage.news();
    await app.system.advance(3 * MINUTE);
    await app.idle();
    expect(JSON.stringify(app.model.calls[0]!.prompt)).toContain("From afar.");
  });

  it("begins later when the store fails at first", async () => {
    const storage = new Watched();
    storage.failing = true;
    const app = inbox({}, { storage });
    const { agent, system, idle } = app;
    const dispatch = { enabled: true };
    const options = { agents: { agent }, storage, system, threads: { recover: false } };
    const mastra = new Mastra({ ...options, logger: silentLogger, notifications: { dispatch } });
    await expect(mastra.start()).rejects.toThrow("locked");
    storage.failing = false;
    await agent.sendNotificationSignal({ ...CI, priority: "low" }, TARGET);
    await system.advance(5 * MINUTE);
    await idle();
    expect(await told(storage)).toEqual(["notification-summary github: 1"]);
  });

  it("tells of more records than it reads at once in one summary", async () => {
    const { agent, system, storage, idle } = await dispatching({}, { batchSize: 3 });
    for (let index = 0; index < 10; index++)
      await agent.sendNotificationSignal({ ...CI, priority: "low" }, TARGET);
    await system.advance(3 * MINUTE);
    await idle();
    expect(await told(storage)).toEqual(["notification-summary github: 10"]);
  });

  it("gives up on a record whose thread is another resource's", async () => {
    const { agent, system, domain, list, idle } = await dispatching();
    await agent.sendMessage("Mine.", TARGET).admitted;
    await idle();
    const stranger = { threadId: TARGET.threadId, resourceId: "stranger", agentId: agent.id };
    await (await domain()).createNotification({ ...CI, ...stranger, deliverAt: new Date(0) });
    await system.advance(30 * MINUTE);
    expect((await list())[0]).toMatchObject({ status: "failed", deliveryAttempts: 5 });
  });

  it("delivers a deferred record at its time, with the policy's options for the run", async () => {
    const streamOptions = { instructions: "You were woken." };
    const decide = ({ now }: { now: Date }) => ({
      action: "defer" as const,
      deliverAt: new Date(now.getTime() + 10 * MINUTE),
      streamOptions,
    });
    const { agent, system, storage, model, idle } = await dispatching({
      notifications: { deliveryPolicy: { decide } },
    });
    await agent.sendNotificationSignal(CI, TARGET);
    await system.advance(9 * MINUTE);
    expect(await told(storage)).toEqual([]);
    await system.advance(2 * MINUTE);
    await idle();
    expect(await told(storage)).toHaveLength(1);
    expect(JSON.stringify(model.calls[0]!.prompt)).toContain("You were woken.");
  });

  it("reads once a minute and writes nothing while nothing is due", async () => {
    const { system, storage, agent } = await dispatching({
      notifications: { deliveryPolicy: { default: "persist" } },
    });
    await agent.sendNotificationSignal(CI, TARGET);
    await system.advance(MINUTE);
    const { commits, selects } = storage;
    await system.advance(24 * 60 * MINUTE);
    expect(storage.commits).toBe(commits);
    expect(storage.selects - selects).toBe(24 * 60);
    expect(system.pending).toBe(1);
  });

  it("decides for a sender in another process that died, although the news of its record was lost", async () => {
    const { agent, system, storage, idle } = await dispatching();
    const elsewhere = new InMemoryStorage({ system });
    const until = system.now() + CLAIM_MS;
    const store = await elsewhere.getStore("notifications");
    await store!.create({ ...CI, ...TARGET, agentId: agent.id }, { owner: "gone", until, writes: [] });
    const [{ seq: _, ...row }] = (await elsewhere.select({ table: NOTIFICATIONS })) as [NotificationRow];
    await storage.commit([insert(NOTIFICATIONS, row)]);
    await system.advance(3 * MINUTE);
    await idle();
    expect(await told(storage)).toEqual([`notification ${CI.summary}`]);
  });

  it("writes nothing while what is due has to wait for an idle thread", async () => {
    const { agent, system, storage, hold } = await dispatching();
    const go = await hold();
    await agent.sendNotificationSignal(CI, TARGET);
    await system.advance(MINUTE);
    const rows = () => storage.select({ table: NOTIFICATIONS });
    const before = JSON.stringify(await rows());
    await system.advance(10 * MINUTE);
    expect(JSON.stringify(await rows())).toBe(before);
    await go();
  });

  it("takes any number of records, more than it reads at once, those that wait among them", async () => {
    const { agent, system, hold, list, idle } = await dispatching(
      { notifications: { deliveryPolicy: { priorities: { medium: "defer" } } } },
      { batchSize: 3 },
    );
    const go = await hold();
    await agent.sendNotificationSignal(
      Array.from({ length: 7 }, () => CI),
      TARGET,
    );
    for (let index = 0; index < 10; index++)
      await agent.sendNotificationSignal({ ...CI, priority: "medium" }, TARGET);
    await system.advance(3 * MINUTE);
    const delivered = async () => (await list()).filter(({ status }) => status === "delivered").length;
    expect(await delivered()).toBe(10);
    await go();
    await system.advance(2 * MINUTE);
    await idle();
    await system.advance(2 * MINUTE);
    await idle();
    expect(await delivered()).toBe(17);
  });

  it("comes past more waiting records of a thread than it takes together", async () => {
    const { agent, system, hold, list } = await dispatching(
      { notifications: { deliveryPolicy: { priorities: { urgent: "defer" } } } },
      { batchSize: 50 },
    );
    const go = await hold();
    for (const count of [500, 30])
      await agent.sendNotificationSignal(
        Array.from({ length: count }, () => CI),
        TARGET,
      );
    await agent.sendNotificationSignal({ ...CI, priority: "urgent" }, TARGET);
    await system.advance(2 * MINUTE);
    expect((await list()).filter(({ status }) => status === "delivered")).toMatchObject([
      { priority: "urgent" },
    ]);
    await go();
  });

  it("tries again with growing pauses, then gives up with the reason", async () => {
    const { agent, system, storage, list } = await dispatching();
    storage.broken = true;
    await agent.sendNotificationSignal(CI, TARGET);
    const attempts: number[] = [];
    for (let minute = 0; minute < 30; minute++) {
      attempts.push((await list())[0]!.deliveryAttempts);
      await system.advance(MINUTE);
    }
    expect((await list())[0]).toMatchObject({
      status: "failed",
      deliveryAttempts: 5,
      lastDeliveryError: "disk full",
      lastDeliveryAttemptAt: expect.any(Date),
    });
    expect(attempts.lastIndexOf(4) - attempts.indexOf(4)).toBeGreaterThan(
      attempts.lastIndexOf(2) - attempts.indexOf(2),
    );
  });

  it("delivers after a failure that went away, once", async () => {
    const { agent, system, storage, list, idle } = await dispatching();
    storage.broken = true;
    await agent.sendNotificationSignal(CI, TARGET);
    storage.broken = false;
    await system.advance(3 * MINUTE);
    await idle();
    await system.advance(10 * MINUTE);
    expect(await told(storage)).toHaveLength(1);
    expect((await list())[0]).toMatchObject({ status: "delivered", deliveryAttempts: 1 });
  });

  it("decides for a sender that died between storing and deciding", async () => {
    const { agent, system, storage, domain, idle } = await dispatching();
    const store = await domain();
    const until = system.now() + CLAIM_MS;
    await store.create({ ...CI, ...TARGET, agentId: agent.id }, { owner: "gone", until, writes: [] });
    await system.advance(2 * MINUTE);
    await idle();
    expect(await told(storage)).toEqual([`notification ${CI.summary}`]);
  });

  it("shares a store with others without sending anything twice", async () => {
    const { agent, system, storage, host, list, idle } = await dispatching({
      notifications: { deliveryPolicy: { default: "defer" } },
    });
    const others = [host(), host(), host()];
    await Promise.all(others.map((other) => other.start()));
    await agent.sendNotificationSignal(
      Array.from({ length: 40 }, (_, n) => ({ ...CI, summary: `n${n}` })),
      TARGET,
    );
    await system.advance(3 * MINUTE);
    await idle();
    const sent = await told(storage);
    expect(new Set(sent).size).toBe(40);
    expect(sent).toHaveLength(40);
    expect((await list()).every(({ status }) => status === "delivered")).toBe(true);
  });

  it("follows its cron pattern, and catches up on what was missed", async () => {
    const app = await dispatching(
      { notifications: { deliveryPolicy: { default: "defer" } } },
      { cron: "0 * * * *" },
    );
    await app.agent.sendNotificationSignal(CI, TARGET);
    await app.system.advance(5 * MINUTE);
    expect(await told(app.storage)).toEqual([]);
    await app.mastra.close().catch(() => {});
  });

  it("refuses a pattern that is none, and a host without a store", async () => {
    const storage = new InMemoryStorage();
    const notifications = { dispatch: { enabled: true, cron: "whenever" } };
    const mastra = new Mastra({ storage, notifications, logger: false });
    await expect(mastra.start()).rejects.toMatchObject({ code: "invalid-argument" });
    expect(() => new Mastra({ notifications })).toThrow(
      expect.objectContaining({ code: "storage-required" }),
    );
  });
});

describe("a clock that is set", () => {
  it.each([
    ["forward", 5 * MINUTE],
    ["a day forward", 24 * 60 * MINUTE],
    ["back", -5 * MINUTE],
    ["a day back", -24 * 60 * MINUTE],
  ])("%s loses nothing and doubles nothing", async (_, jump) => {
    const clock = virtualSystem();
    const { agent, storage, idle, list } = await dispatching({
      system: clock,
      notifications: { deliveryPolicy: { default: "defer" } },
    });
    await agent.sendNotificationSignal(CI, TARGET);
    clock.clockOffset += jump;
    await clock.advance(Math.abs(jump) + 3 * MINUTE);
    await idle();
    expect(await told(storage)).toHaveLength(1);
    expect((await list())[0]).toMatchObject({ status: "delivered" });
  });

  it("back, while a dead process holds a claim, does not keep the record until then", async () => {
    const clock = virtualSystem();
    const first = inbox({ system: clock });
    const store = await first.domain();
    const until = clock.now() + CLAIM_MS;
    await store.create({ ...CI, ...TARGET, agentId: "support" }, { owner: "gone", until, writes: [] });
    clock.clockOffset -= 24 * 60 * MINUTE;
    const mastra = new Mastra({
      agents: { agent: first.agent },
      storage: first.storage,
      system: clock,
      logger: false,
      threads: { recover: false },
      notifications: { dispatch: { enabled: true } },
    });
    await mastra.start();
    await clock.advance(2 * MINUTE);
    await first.idle();
    expect(await told(first.storage)).toHaveLength(1);
  });
});
