import type { NotificationDomain, NotificationInput, Storage } from "@selvedge/core/storage";
import { expect } from "vitest";
import type { StoreTest } from "./test-store.ts";

const at = (millis: number): Date => new Date(1_700_000_000_000 + millis);

function notification(more: Partial<NotificationInput> = {}): NotificationInput {
  const owner = { threadId: "t", resourceId: "r", agentId: "a" };
  return { ...owner, source: "github", kind: "ci-status", summary: "CI failed", ...more };
}

async function domainOf(storage: Storage): Promise<NotificationDomain> {
  return (await storage.getStore("notifications"))!;
}

export function testNotificationDomain(test: StoreTest): void {
  testRecords(test);
  testSearch(test);
  testCoalescing(test);
  testDue(test);
}

function testRecords(test: StoreTest): void {
  test("stores a notification and reads it back, payload and all", async (storage, harness) => {
    const full = notification({
      priority: "urgent",
      payload: { branch: "main", list: [1, null, "ü"] },
      sourceId: "run-7",
      dedupeKey: "d",
      coalesceKey: "c",
      attributes: { repo: "acme/app" },
      metadata: { nested: { a: 1 } },
      deliverAt: at(5),
      summaryAt: at(3),
    });
    const record = await (await domainOf(storage)).createNotification(full);
    expect(record).toMatchObject({ ...full, status: "pending", coalescedCount: 1, deliveryAttempts: 0 });
    expect(record.createdAt).toEqual(record.updatedAt);
    const key = { threadId: "t", id: record.id };
    expect(await (await domainOf(storage)).getNotification(key)).toEqual(record);
    expect(await (await domainOf(storage)).getNotification({ threadId: "other", id: record.id })).toBeNull();
    if (!harness.reopen) return;
    await storage.close();
    const again = await harness.reopen();
    expect(await (await domainOf(again)).getNotification(key)).toEqual(record);
    await again.close();
  });

  test("stamps each status with its time, and lets times be taken away", async (storage) => {
    const domain = await domainOf(storage);
    const { id } = await domain.createNotification(notification({ deliverAt: at(0), summaryAt: at(0) }));
    const update = (patch: object) => domain.updateNotification({ threadId: "t", id, ...patch });
    const cleared = await update({ deliverAt: null, summaryAt: null, deliveryReason: "why" });
    expect(cleared).not.toHaveProperty("deliverAt");
    expect(cleared).not.toHaveProperty("summaryAt");
    expect(cleared).toMatchObject({ status: "pending", deliveryReason: "why" });
    for (const status of ["delivered", "seen", "dismissed", "archived", "discarded"] as const) {
      const record = await update({ status });
      expect(record).toMatchObject({ status, [`${status}At`]: expect.any(Date) });
    }
    expect(await update({ status: "failed", lastDeliveryError: "x" })).toMatchObject({ status: "failed" });
    await expect(domain.updateNotification({ threadId: "t", id: "none" })).rejects.toMatchObject({
      code: "not-found",
    });
  });

  test("lists a thread's notifications, the newest change first, filtered", async (storage) => {
    const domain = await domainOf(storage);
    const make = (more: Partial<NotificationInput>) => domain.createNotification(notification(more));
    const first = await make({ source: "email", summary: "Lunch?", priority: "low" });
    const second = await make({ kind: "review", summary: "Please look at ÄPFEL" });
    await make({ threadId: "other" });
    const third = await make({ resourceId: "r2", agentId: "b", priority: "urgent" });
    const ids = async (options: object) =>
      (await domain.listNotifications({ threadId: "t", ...options })).map(({ id }) => id);
    expect(await ids({})).toEqual([third.id, second.id, first.id]);
    expect(await ids({ limit: 2 })).toEqual([third.id, second.id]);
    expect(await ids({ priority: "low" })).toEqual([first.id]);
    expect(await ids({ source: "email" })).toEqual([first.id]);
    expect(await ids({ resourceId: "r2" })).toEqual([third.id]);
    expect(await ids({ agentId: "b" })).toEqual([third.id]);
    expect(await ids({ search: "äpfel" })).toEqual([second.id]);
    expect(await ids({ search: "EMAIL" })).toEqual([first.id]);
    expect(await ids({ search: "revie" })).toEqual([second.id]);
    expect(await ids({ search: "%" })).toEqual([]);
    await domain.updateNotification({ threadId: "t", id: second.id, status: "seen" });
    expect(await ids({ status: "pending" })).toEqual([third.id, first.id]);
    expect(await ids({ status: ["seen", "failed"] })).toEqual([second.id]);
  });

  test("refuses what is no notification, before anything is stored", async (storage) => {
    const domain = await domainOf(storage);
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    for (const bad of [
      { priority: "huge" },
      { source: "" },
      { kind: "a\u0000b" },
      { summary: 5 },
      { threadId: undefined },
      { payload: cyclic },
      { deliverAt: new Date(Number.NaN) },
    ]) {
      const made = domain.createNotification({ ...notification(), ...bad } as NotificationInput);
      await expect(made).rejects.toMatchObject({ code: "invalid-argument" });
    }
    expect(await domain.listNotifications({ threadId: "t" })).toEqual([]);
  });

  test("refuses changes that are none, and leaves the record as it is", async (storage) => {
    const domain = await domainOf(storage);
    const { id } = await domain.createNotification(notification({ dedupeKey: "k" }));
    for (const bad of [
      { status: "gone" },
      { deliverAt: new Date(Number.NaN) },
      { summaryAt: "soon" },
      { deliveryReason: 5 },
      { lastDeliveryError: {} },
      { lastDeliveryAttemptAt: new Date(Number.NaN) },
      { deliveryAttempts: "many" },
      { deliveryAttempts: Number.NaN },
    ]) {
      const changed = domain.updateNotification({ threadId: "t", id, ...(bad as object) });
      await expect(changed, JSON.stringify(bad)).rejects.toMatchObject({ code: "invalid-argument" });
    }
    expect(await domain.getNotification({ threadId: "t", id })).toMatchObject({ status: "pending" });
    for (const now of [new Date(Number.NaN), undefined as unknown as Date])
      await expect(domain.listDueNotifications({ now })).rejects.toMatchObject({ code: "invalid-argument" });
    await domain.updateNotification({ threadId: "t", id, status: "archived" });
    await domain.createNotification(notification({ dedupeKey: "k" }));
    const reopened = domain.updateNotification({ threadId: "t", id, status: "pending" });
    await expect(reopened).rejects.toMatchObject({ code: "conflict" });
  });

  test("deletes a thread's notifications with the thread", async (storage) => {
    const domain = await domainOf(storage);
    await domain.createNotification(notification());
    await domain.createNotification(notification({ threadId: "other" }));
    await (await storage.getStore("memory"))!.deleteThread({ threadId: "t" });
    expect(await domain.listNotifications({ threadId: "t" })).toEqual([]);
    expect(await domain.listNotifications({ threadId: "other" })).toHaveLength(1);
  });
}

/** More than a store would look through without its index, if it has one. */
const CROWD = 600;
const TEXTS = [
  "Deploy of the API failed: exit code 137",
  "ÄPFEL und Öl im Angebot",
  'He said "never AND always" (twice)',
  "50% off, a_b* NEAR(c) col:summary -minus ^caret",
  "İstanbul straße ΟΔΟΣ",
  "部署失败了 🚀🚀🚀",
] as const;

function testSearch(test: StoreTest): void {
  test("finds the records with all words of a search, in any case, whatever the words are", async (storage) => {
    const domain = await domainOf(storage);
    for (const summary of TEXTS) await domain.createNotification(notification({ summary }));
    const search = async (text: string) =>
      (await domain.listNotifications({ threadId: "t", search: text }))
        .map(({ summary }) => TEXTS.indexOf(summary as (typeof TEXTS)[number]))
        .sort((a, b) => a - b);
    const check = async () => {
      const found: [query: string, texts: number[]][] = [
        ["failed deploy", [0]],
        ["137 API xyz", []],
        ["äpfel", [1]],
        ["ANGEBOT öl", [1]],
        ['"never', [2]],
        ['AND always" (tw', [2]],
        ['"" OR "', []],
        ["never OR deploy", []],
        ["failed*", []],
        ["a_b*", [3]],
        ["near(c)", [3]],
        ["summary:deploy", []],
        ["col:summary -minus ^caret", [3]],
        ["50%", [3]],
        ["%", [3]],
        ["___", []],
        ["'; DROP TABLE x; --", []],
        ["istanbul", []],
        ["İSTANBUL", [4]],
        ["STRAßE οδος", [4]],
        ["部署", [5]],
        ["部署失败", [5]],
        ["🚀🚀🚀", [5]],
        ["\u0000\u0000\u0000", []],
        ["ci-status git de", [0]],
        ["x".repeat(1000), []],
        [Array.from({ length: 400 }, () => "a").join(" "), [0, 1, 2, 3, 4, 5]],
      ];
      for (const [query, texts] of found) expect([query, await search(query)]).toEqual([query, texts]);
    };
    await check();
    const filler = (index: number) => notification({ source: "crowd", kind: "k", summary: `zz ${index}` });
    for (let index = 0; index < CROWD; index++) await domain.createNotification(filler(index));
    await check();
    expect(await domain.listNotifications({ threadId: "t", search: "crowd", limit: 7 })).toHaveLength(7);
    expect(await domain.listNotifications({ threadId: "other", search: "deploy" })).toEqual([]);
    for (const bad of [{ search: 5 }, { search: "x".repeat(1001) }, { limit: -1 }, { limit: Number.NaN }]) {
      const listed = domain.listNotifications({ threadId: "t", ...(bad as object) });
      await expect(listed).rejects.toMatchObject({ code: "invalid-argument" });
    }
  });

  test("searches what a record says now", async (storage) => {
    const domain = await domainOf(storage);
    for (let index = 0; index < CROWD; index++) await domain.createNotification(notification());
    const search = async (text: string) =>
      (await domain.listNotifications({ threadId: "t", search: text })).map(({ id }) => id);
    const first = await domain.createNotification(notification({ summary: "one apple", dedupeKey: "k" }));
    expect(await search("apple")).toEqual([first.id]);
    await domain.createNotification(
      notification({ summary: "two pears", dedupeKey: "k", metadata: { a: 1 } }),
    );
    expect(await search("apple")).toEqual([]);
    expect(await search("pears")).toEqual([first.id]);
    await domain.updateNotification({ threadId: "t", id: first.id, status: "archived" });
    expect(await search("pears two")).toEqual([first.id]);
    await (await storage.getStore("memory"))!.deleteThread({ threadId: "t" });
    expect(await search("pears")).toEqual([]);
  });
}

function testCoalescing(test: StoreTest): void {
  test("leaves one pending record of a hundred made at once with one key", async (storage) => {
    const domain = await domainOf(storage);
    for (const key of ["dedupeKey", "coalesceKey"] as const) {
      await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          domain.createNotification(notification({ [key]: "k", kind: key, metadata: { [`m${index}`]: 1 } })),
        ),
      );
      const [record, ...more] = (await domain.listNotifications({ threadId: "t" })).filter(
        ({ kind }) => kind === key,
      );
      expect(more).toEqual([]);
      expect(record).toMatchObject({ coalescedCount: 100 });
      expect(Object.keys(record!.metadata!)).toHaveLength(100);
    }
  });

  test("merges a new summary, payload and priority, and keeps the schedule", async (storage) => {
    const domain = await domainOf(storage);
    const make = (more: Partial<NotificationInput>) =>
      domain.createNotification(notification({ dedupeKey: "k", ...more }));
    const first = await make({ payload: 1, priority: "low", attributes: { a: 1, b: 1 }, summaryAt: at(9) });
    expect(await make({ summary: "Again", attributes: { b: 2 } })).toMatchObject({
      id: first.id,
      summary: "Again",
      payload: 1,
      priority: "low",
      attributes: { a: 1, b: 2 },
      summaryAt: at(9),
      coalescedCount: 2,
    });
    expect(await make({ payload: 2, priority: "high" })).toMatchObject({ payload: 2, priority: "high" });
  });

  test("keeps a record that is merged again and again small enough to be sent", async (storage) => {
    const domain = await domainOf(storage);
    const text = "x".repeat(60_000);
    const make = (index: number) =>
      domain.createNotification(notification({ dedupeKey: "k", metadata: { [`m${index}`]: text } }));
    for (let index = 0; index < 20; index++) await make(index);
    const { metadata, coalescedCount } = await make(20);
    expect(coalescedCount).toBe(21);
    expect(metadata).toHaveProperty("m20");
    expect(JSON.stringify(metadata).length).toBeLessThan(400_000);
  });

  test("does not merge across threads, sources, kinds, agents and resources, nor into what is done", async (storage) => {
    const domain = await domainOf(storage);
    const make = (more: Partial<NotificationInput> = {}) =>
      domain.createNotification(notification({ dedupeKey: "k", ...more }));
    const first = await make();
    const others: Partial<NotificationInput>[] = [
      { threadId: "t2" },
      { source: "email" },
      { kind: "other" },
      { agentId: "b" },
      { resourceId: "r2" },
      { dedupeKey: "k2" },
    ];
    const ids = [first.id];
    for (const other of others) ids.push((await make(other)).id);
    await domain.updateNotification({ threadId: "t", id: first.id, status: "delivered" });
    ids.push((await make()).id);
    expect(new Set(ids).size).toBe(8);
  });
}

function testDue(test: StoreTest): void {
  test("lists what is due, by its earlier time, and only what is pending", async (storage) => {
    const domain = await domainOf(storage);
    const make = async (more: Partial<NotificationInput>) =>
      (await domain.createNotification(notification(more))).id;
    const late = await make({ deliverAt: at(30) });
    const both = await make({ deliverAt: at(99), summaryAt: at(10) });
    await make({});
    await make({ deliverAt: at(31) });
    const done = await make({ deliverAt: at(1) });
    await domain.updateNotification({ threadId: "t", id: done, status: "dismissed" });
    const due = async (more: object = {}) =>
      (await domain.listDueNotifications({ now: at(30), ...more })).map(({ id }) => id);
    expect(await due()).toEqual([both, late]);
    expect(await due({ limit: 1 })).toEqual([both]);
    expect(await due({ agentId: "b" })).toEqual([]);
    expect(await due({ resourceId: "r" })).toEqual([both, late]);
    expect(await domain.nextDue(["a"])).toBe(at(10).getTime());
    expect(await domain.nextDue(["b"])).toBeUndefined();
  });

  test("lets a record be claimed by one, until its time is over", async (storage) => {
    const domain = await domainOf(storage);
    await domain.createNotification(notification({ deliverAt: at(0) }));
    const due = await domain.listDue({ now: at(0) });
    const claims = await Promise.all(
      ["a", "b", "c"].map((owner) => domain.claim(due, owner, at(100).getTime())),
    );
    expect(claims.flat()).toHaveLength(1);
    expect(await domain.listDue({ now: at(99) })).toEqual([]);
    const [again] = await domain.listDue({ now: at(100) });
    expect(again).toMatchObject({ claimOwner: claims.flat()[0]!.claimOwner, record: { deliverAt: at(0) } });
    await domain.repairClaims((owner) => owner === again!.claimOwner, at(100).getTime());
    expect(await domain.listDue({ now: at(0) })).toHaveLength(1);
  });

  test("changes a record only as it was seen", async (storage) => {
    const domain = await domainOf(storage);
    const { id } = await domain.createNotification(notification());
    const seen = (await domain.read({ threadId: "t", id }))!;
    expect(await domain.tryUpdate(seen, { status: "seen" })).toBe(true);
    expect(await domain.tryUpdate(seen, { status: "dismissed" })).toBe(false);
    expect(await domain.getNotification({ threadId: "t", id })).toMatchObject({ status: "seen" });
  });
}
