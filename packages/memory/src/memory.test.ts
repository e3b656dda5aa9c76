import { InMemoryStorage } from "@selvedge/core/storage";
import type { StoredMessage } from "@selvedge/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { conversation, texts } from "./__fixtures__/run-processors.ts";
import { type Stores, STORES } from "./__fixtures__/stores.ts";
import { Memory } from "./memory.ts";

const owner = { threadId: "t", resourceId: "r" };
const stranger = { threadId: "t", resourceId: "stranger" };

describe.each(STORES)("Memory on %s", (_name, open) => {
  let stores: Stores;
  let memory: Memory;

  beforeEach(async () => {
    stores = await open();
    memory = new Memory({ storage: stores.storage });
  });
  afterEach(() => stores.close());

  async function tell(...lines: string[]): Promise<void> {
    await memory.createThread(owner);
    await memory.saveMessages({ messages: conversation(owner, ...lines) });
  }

  it("makes threads with an id, a title and metadata", async () => {
    const thread = await memory.createThread({ resourceId: "r", title: "Rye", metadata: { color: "red" } });
    expect(await memory.getThreadById({ threadId: thread.id })).toMatchObject({
      title: "Rye",
      metadata: { color: "red" },
    });
    expect(await memory.getThreadById({ threadId: "absent" })).toBeNull();
  });

  it("changes metadata by key, however the thread is saved", async () => {
    const thread = await memory.createThread({ ...owner, metadata: { a: 1, b: 1 } });
    await memory.updateThread({ id: "t", metadata: { b: 2, c: 3 } });
    await memory.saveThread({ thread: { ...thread, metadata: { a: 9 } } });
    await memory.createThread({ ...owner, title: "Named" });
    expect(await memory.getThreadById(owner)).toMatchObject({
      title: "Named",
      metadata: { a: 9, b: 2, c: 3 },
    });
  });

  it("lists the threads of a resource", async () => {
    await memory.createThread({ resourceId: "r", threadId: "a", metadata: { kind: "x" } });
    await memory.createThread({ resourceId: "r", threadId: "b" });
    await memory.createThread({ resourceId: "other", threadId: "c" });
    expect(await memory.listThreads({ filter: { resourceId: "r" }, perPage: 1 })).toMatchObject({
      total: 2,
      hasMore: true,
    });
    const kind = await memory.listThreads({ filter: { resourceId: "r", metadata: { kind: "x" } } });
    expect(kind.threads.map((thread) => thread.id)).toEqual(["a"]);
    expect(await memory.getThreadsByResourceId({ resourceId: "r" })).toHaveLength(2);
  });

  it("treats a thread of somebody else like one that is not there", async () => {
    await tell("secret");
    const absent = { threadId: "absent", resourceId: "stranger" };
    const stored = conversation(stranger, "mine now");
    expect(await memory.getThreadById(stranger)).toBeNull();
    expect(await memory.recall(stranger)).toEqual(await memory.recall(absent));
    expect((await memory.query(stranger)).messagesV2).toEqual([]);
    const refused = [
      memory.updateThread({ id: "t", title: "x", resourceId: "stranger" }),
      memory.deleteThread(stranger),
      memory.saveMessages({ messages: stored }),
      memory.saveMessages({
        messages: [{ role: "user", content: "mine now", threadId: "t" }],
        resourceId: "stranger",
      }),
      memory.cloneThread({ sourceThreadId: "t", sourceResourceId: "stranger" }),
    ];
    for (const call of refused)
      await expect(call).rejects.toMatchObject({ code: "not-found", message: 'There is no thread "t".' });
    await expect(memory.createThread(stranger)).rejects.toMatchObject({ code: "conflict" });
    await memory.deleteMessages(["t-0"], { resourceId: "stranger" });
    expect(texts((await memory.recall(owner)).messages)).toEqual(["secret"]);
  });

  it("answers the newest messages first page first, each page oldest first", async () => {
    await tell("a", "b", "c", "d", "e");
    expect(await memory.recall({ ...owner, perPage: 2 })).toMatchObject({
      total: 5,
      page: 0,
      perPage: 2,
      hasMore: true,
    });
    expect(texts((await memory.recall({ ...owner, perPage: 2 })).messages)).toEqual(["d", "e"]);
    expect(texts((await memory.recall({ ...owner, perPage: 2, page: 1 })).messages)).toEqual(["b", "c"]);
    expect(texts((await memory.recall({ ...owner, perPage: false })).messages)).toEqual([
      "a",
      "b",
      "c",
      "d",
      "e",
    ]);
    const fromStart = { ...owner, perPage: 2, orderBy: { direction: "ASC" } } as const;
    expect(texts((await memory.recall(fromStart)).messages)).toEqual(["a", "b"]);
  });

  it("shows as many messages as lastMessages says unless told otherwise", async () => {
    await tell(...Array.from({ length: 12 }, (_, at) => `m${at}`));
    expect((await memory.recall(owner)).messages).toHaveLength(10);
    expect((await memory.recall({ ...owner, threadConfig: { lastMessages: 3 } })).messages).toHaveLength(3);
    expect(
      (await memory.query({ ...owner, selectBy: { last: 2 } })).messagesV2.map((message) => message.id),
    ).toEqual(["t-10", "t-11"]);
  });

  it("answers a query in the forms of a model, a UI and the store", async () => {
    await tell("hello", "hi");
    const { messages, uiMessages, messagesV2 } = await memory.query(owner);
    expect(messages).toMatchObject([
      { role: "user", content: [{ type: "text", text: "hello" }] },
      { role: "assistant" },
    ]);
    expect(uiMessages).toMatchObject([
      { id: "t-0", role: "user", parts: [{ type: "text", text: "hello" }] },
      { role: "assistant" },
    ]);
    expect(messagesV2[0]).toMatchObject({ id: "t-0", threadId: "t", resourceId: "r" });
  });

  it("shows people the transcript of a tool call, and the raw one on request", async () => {
    await memory.createThread(owner);
    const message: StoredMessage = {
      id: "call",
      role: "assistant",
      createdAt: new Date(),
      threadId: "t",
      content: {
        format: 2,
        parts: [
          {
            type: "tool-invocation",
            toolInvocation: {
              state: "result",
              toolCallId: "c",
              toolName: "pay",
              args: { card: "4242" },
              result: "ok",
              transcript: { args: { card: "••••" } },
            },
          },
        ],
      },
    };
    await memory.saveMessages({ messages: [message] });
    expect(JSON.stringify(await memory.recall(owner))).not.toContain("4242");
    expect(JSON.stringify(await memory.query(owner))).not.toContain("4242");
    expect(JSON.stringify(await memory.recall({ ...owner, raw: true }))).toContain("4242");
  });

  it("takes messages in the forms an app has, and needs their thread", async () => {
    await memory.createThread(owner);
    await memory.saveMessages({ messages: [{ role: "user", content: "plain", threadId: "t" }] });
    expect(texts((await memory.recall(owner)).messages)).toEqual(["plain"]);
    const lost = memory.saveMessages({ messages: [{ role: "user", content: "x", threadId: "absent" }] });
    await expect(lost).rejects.toMatchObject({ code: "not-found" });
  });

  it("deletes messages by id and a thread with all of them", async () => {
    await tell("a", "b", "c");
    await memory.deleteMessages(["t-0", "absent"]);
    await memory.deleteMessages([{ id: "t-1" }], { resourceId: "r" });
    expect(texts((await memory.recall(owner)).messages)).toEqual(["c"]);
    await memory.deleteThread("t");
    expect(await memory.getThreadById(owner)).toBeNull();
    expect((await memory.recall({ threadId: "t" })).messages).toEqual([]);
  });

  it("does not copy a thread of one resource for another, unless the caller names its owner", async () => {
    await tell("secret");
    for (const of of [{}, { sourceResourceId: "new" }, { sourceResourceId: "stranger" }])
      await expect(
        memory.cloneThread({ sourceThreadId: "t", resourceId: "new", ...of }),
      ).rejects.toMatchObject({ code: "not-found" });
    expect((await memory.listThreads({ filter: { resourceId: "new" } })).total).toBe(0);
    const { thread } = await memory.cloneThread({
      sourceThreadId: "t",
      sourceResourceId: "r",
      resourceId: "new",
    });
    expect(thread.resourceId).toBe("new");
  });

  it("clones messages under new ids, with the working memory of the thread", async () => {
    memory = new Memory({
      storage: stores.storage,
      options: { workingMemory: { enabled: true, scope: "thread" } },
    });
    await tell("a", "b");
    await memory.updateWorkingMemory({ ...owner, workingMemory: "noted" });
    const { thread, clonedMessages } = await memory.cloneThread({
      sourceThreadId: "t",
      title: "Copy",
      options: { messageLimit: 1 },
    });
    expect(texts(clonedMessages)).toEqual(["b"]);
    expect(clonedMessages[0]?.id).not.toBe("t-1");
    expect(thread).toMatchObject({ resourceId: "r", title: "Copy" });
    expect(await memory.getWorkingMemory({ threadId: thread.id })).toBe("noted");
  });

  it("takes the working memory of the resource along to a new owner, and keeps one that is there", async () => {
    memory = new Memory({ storage: stores.storage, options: { workingMemory: { enabled: true } } });
    await tell("a");
    await memory.updateWorkingMemory({ ...owner, workingMemory: "noted" });
    const toNew = { sourceThreadId: "t", sourceResourceId: "r", resourceId: "new" };
    const first = await memory.cloneThread(toNew);
    expect(await memory.getWorkingMemory({ threadId: first.thread.id })).toBe("noted");
    await memory.updateWorkingMemory({ threadId: first.thread.id, workingMemory: "their own" });
    await memory.cloneThread(toNew);
    expect(await memory.getWorkingMemory({ threadId: first.thread.id })).toBe("their own");
  });
});

describe("Memory", () => {
  it("says what to add when it has no store, and takes the one of its host", async () => {
    const memory = new Memory();
    await expect(memory.getThreadById(owner)).rejects.toMatchObject({ code: "storage-required" });
    const [hosts, own] = [new InMemoryStorage(), new InMemoryStorage()];
    memory.useStorage(hosts);
    expect(memory.storage).toBe(hosts);
    const settled = new Memory({ storage: own });
    settled.useStorage(hosts);
    expect(settled.storage).toBe(own);
  });

  it("refuses options it cannot mean when it is made", () => {
    expect(() => new Memory({ options: { lastMessages: -2 } })).toThrow(/got -2/);
    expect(() => new Memory({ options: { semanticRecall: true } })).toThrow(/Pass `vector` and `embedder`/);
    expect(() => new Memory({ vector: false, options: { semanticRecall: true } })).toThrow(/vector/);
  });
});
