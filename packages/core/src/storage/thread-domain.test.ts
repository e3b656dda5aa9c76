import type { StoredMessage } from "@selvedge/protocol";
import { expect, it } from "vitest";
import { InMemoryStorage } from "./in-memory-storage.ts";
import { putStep } from "./message-writes.ts";
import type { CommitResult, Select, Write } from "./storage.ts";
import { MESSAGE_STEPS, MESSAGES } from "./tables.ts";

/** A store that counts what is asked of it. */
class CountingStorage extends InMemoryStorage {
  selects = 0;
  counts = 0;
  commits = 0;

  override select<R extends object>(query: Select<R>): Promise<R[]> {
    this.selects++;
    return super.select(query);
  }

  override count(query: Parameters<InMemoryStorage["count"]>[0]): Promise<number> {
    this.counts++;
    return super.count(query);
  }

  override commit(writes: readonly Write[]): Promise<CommitResult> {
    this.commits++;
    return super.commit(writes);
  }
}

function message(index: number): StoredMessage {
  return {
    id: `m${index}`,
    role: index % 2 ? "assistant" : "user",
    threadId: "t",
    resourceId: "r",
    createdAt: new Date(index),
    content: { format: 2, parts: [{ type: "text", text: String(index) }] },
  };
}

it("reads recent messages with two selects and without counting, however long the thread", async () => {
  const storage = new CountingStorage();
  const memory = (await storage.getStore("memory"))!;
  await memory.saveMessages({ messages: Array.from({ length: 500 }, (_, index) => message(index)) });
  await storage.commit([putStep({ messageId: "m499", threadId: "t", step: 1, parts: [] })]);
  storage.selects = 0;
  expect(await memory.recentMessages({ threadId: "t", limit: 10 })).toHaveLength(10);
  expect([storage.selects, storage.counts]).toEqual([2, 0]);
});

it("saves any number of messages in one commit", async () => {
  const storage = new CountingStorage();
  const memory = (await storage.getStore("memory"))!;
  // The first use creates tables.
  await memory.saveMessages({ messages: [message(9)] });
  storage.commits = 0;
  await memory.saveMessages({ messages: [message(0), message(1), message(2)] });
  expect(storage.commits).toBe(1);
});

it("takes dates that came over a wire as text, and refuses those that are none", async () => {
  const memory = (await new InMemoryStorage().getStore("memory"))!;
  const sent = JSON.parse(JSON.stringify(message(5))) as StoredMessage;
  await memory.saveMessages({ messages: [sent] });
  expect(await memory.recentMessages({ threadId: "t", limit: 1 })).toEqual([message(5)]);
  const bad = { ...message(6), createdAt: "soon" as unknown as Date };
  await expect(memory.saveMessages({ messages: [bad] })).rejects.toMatchObject({ code: "invalid-argument" });
});

it("refuses messages that are not of the stored form", async () => {
  const memory = (await new InMemoryStorage().getStore("memory"))!;
  for (const more of [{ role: "tool" }, { content: "text" }, { content: undefined }]) {
    const messages = [{ ...message(0), ...more } as unknown as StoredMessage];
    await expect(memory.saveMessages({ messages })).rejects.toMatchObject({ code: "invalid-message" });
  }
});

it("deletes every step of a thread, also of a message that came while it was being deleted", async () => {
  let arrives = false;
  class BusyStorage extends InMemoryStorage {
    override async select<R extends object>(query: Select<R>): Promise<R[]> {
      const rows = await super.select(query);
      if (arrives && query.table.name === MESSAGES.name) {
        arrives = false;
        await this.arrive("late");
      }
      return rows;
    }

    async arrive(id: string): Promise<void> {
      await (await this.getStore("memory"))!.saveMessages({ messages: [{ ...message(1), id }] });
      await this.commit([putStep({ messageId: id, threadId: "t", step: 1, parts: [] })]);
    }
  }
  const storage = new BusyStorage();
  await storage.arrive("early");
  arrives = true;
  await (await storage.getStore("memory"))!.deleteThread({ threadId: "t" });
  expect(arrives).toBe(false);
  expect(await storage.count({ table: MESSAGE_STEPS })).toBe(0);
  expect(await storage.count({ table: MESSAGES })).toBe(0);
});
