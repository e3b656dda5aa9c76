import { expect, test } from "vitest";
import { InMemoryStorage } from "../../storage/in-memory-storage.ts";
import type { Change } from "../../storage/storage.ts";
import { ACTORS } from "../../storage/thread-tables.ts";
import { insertActor } from "../hold/actor.ts";
import { QueueWatch, watchQueue } from "./queue-watch.ts";

/** A store that another process writes to when it is told so. */
class SharedStorage extends InMemoryStorage {
  readonly watchers = new Set<(change: Change) => void>();
  /** Its news are late. */
  isQuiet = false;

  override watch(onChange: (change: Change) => void): () => void {
    this.watchers.add(onChange);
    return () => this.watchers.delete(onChange);
  }

  async writeElsewhere(increment: Record<string, number>): Promise<void> {
    await this.commit([{ op: "update", table: ACTORS, where: { thread_id: "t1" }, increment }]);
    if (!this.isQuiet) for (const watcher of this.watchers) watcher("unknown");
    await settled();
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

async function watched() {
  const storage = new SharedStorage();
  await storage.commit([insertActor("t1", "r1")]);
  const news: string[] = [];
  const stop = watchQueue(storage, "t1", () => news.push("t1"));
  return { storage, news, stop };
}

test("tells of changes of this process, of the watched thread alone", async () => {
  const { storage, news } = await watched();
  QueueWatch.of(storage).changed("t2");
  QueueWatch.of(storage).changed("t1");
  expect(news).toEqual(["t1"]);
});

test("finds what another process queued, edited and removed, and is quiet when nothing changed", async () => {
  const { storage, news } = await watched();
  await storage.writeElsewhere({});
  expect(news.splice(0)).toEqual(["t1"]); // Nothing is known before the first look.
  await storage.writeElsewhere({ next_seq: 1 });
  expect(news).toEqual([]);
  await storage.writeElsewhere({ mailbox_count: 1, mailbox_bytes: 10 });
  expect(news.splice(0)).toEqual(["t1"]);
  await storage.writeElsewhere({});
  expect(news).toEqual([]);
  await storage.writeElsewhere({ fence: 1 });
  expect(news.splice(0)).toEqual(["t1"]);
  await storage.writeElsewhere({ fence: 1, mailbox_count: -1, mailbox_bytes: -10 });
  expect(news.splice(0)).toEqual(["t1"]);
});

test("finds a message that came and went between two looks: a listener may have read it", async () => {
  const { storage, news } = await watched();
  await storage.writeElsewhere({});
  expect(news.splice(0)).toEqual(["t1"]);
  storage.isQuiet = true;
  await storage.writeElsewhere({ mailbox_count: 1, mailbox_bytes: 10 });
  storage.isQuiet = false;
  await storage.writeElsewhere({ fence: 1, mailbox_count: -1, mailbox_bytes: -10 });
  expect(news).toEqual(["t1"]);
});

test("reports a queue with messages at every periodic look, and an empty one only after a change", async () => {
  const { storage, news } = await watched();
  await storage.writeElsewhere({});
  expect(news.splice(0)).toEqual(["t1"]);
  QueueWatch.of(storage).look();
  await settled();
  expect(news).toEqual([]);
  await storage.writeElsewhere({ mailbox_count: 1, mailbox_bytes: 10 });
  expect(news.splice(0)).toEqual(["t1"]);
  QueueWatch.of(storage).look();
  await settled();
  expect(news).toEqual(["t1"]);
});

test("watches the store only while somebody watches a thread", async () => {
  const { storage, news, stop } = await watched();
  const stopToo = watchQueue(storage, "t1", () => {});
  stop();
  stop();
  expect(storage.watchers.size).toBe(1);
  stopToo();
  expect(storage.watchers.size).toBe(0);
  QueueWatch.of(storage).changed("t1");
  expect(news).toEqual([]);
});

test("checks only the watched threads that a notice names", async () => {
  const storage = new SharedStorage();
  const asked: unknown[] = [];
  const select = storage.select.bind(storage);
  storage.select = (query) => {
    asked.push(query.where);
    return select(query);
  };
  const threads = Array.from({ length: 100 }, (_, index) => `t${index}`);
  for (const threadId of threads) watchQueue(storage, threadId, () => {});
  const tell = (...keys: string[]) => {
    for (const watcher of storage.watchers) watcher({ keys: new Set(keys) });
  };
  tell("t7", "other");
  // During a check: the next one has both.
  tell("t8");
  tell("t9", "another");
  await settled();
  tell("other");
  await settled();
  expect(asked).toEqual([{ thread_id: { in: ["t7"] } }, { thread_id: { in: ["t8", "t9"] } }]);
});
