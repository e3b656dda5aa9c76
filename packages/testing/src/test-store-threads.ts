import {
  insertMessage,
  insertThread,
  type ThreadDomain,
  MESSAGE_STEPS,
  MESSAGES,
  putStep,
  setMessageMetadata,
  type Storage,
  THREADS,
  touchThread,
} from "@selvedge/core/storage";
import type { StoredMessage, StoredThread } from "@selvedge/protocol";
import { expect } from "vitest";
import type { StoreTest } from "./test-store.ts";

const at = (millis: number): Date => new Date(1_700_000_000_000 + millis);

function thread(id: string, more: Partial<StoredThread> = {}): StoredThread {
  return { id, resourceId: "r", createdAt: at(0), updatedAt: at(0), ...more };
}

function message(id: string, more: Partial<StoredMessage> = {}): StoredMessage {
  return {
    id,
    role: "user",
    threadId: "t",
    resourceId: "r",
    createdAt: at(0),
    content: { format: 2, parts: [{ type: "text", text: `text of ${id}` }] },
    ...more,
  };
}

async function memoryOf(storage: Storage): Promise<ThreadDomain> {
  return (await storage.getStore("memory"))!;
}

/** A thread `t` with `count` messages m0, m1, … */
async function talk(storage: Storage, count: number): Promise<ThreadDomain> {
  const memory = await memoryOf(storage);
  await memory.saveThread({ thread: thread("t") });
  const messages = Array.from({ length: count }, (_, index) =>
    message(`m${index}`, { createdAt: at(index), role: index % 2 ? "assistant" : "user" }),
  );
  await memory.saveMessages({ messages });
  return memory;
}

const idsOf = (messages: readonly { id: string }[]): string[] => messages.map(({ id }) => id);

export function testThreadDomain(test: StoreTest): void {
  testThreads(test);
  testMessages(test);
  testSteps(test);
  testResources(test);
  testMessageSearch(test);
}

function testMessageSearch(test: StoreTest): void {
  const say = (id: string, text: string, more: Partial<StoredMessage> = {}): StoredMessage =>
    message(id, { content: { format: 2, parts: [{ type: "text", text }] }, ...more });

  test("finds words in any message of a resource, however old, in any case, and the newest first", async (storage) => {
    const memory = await memoryOf(storage);
    await memory.saveThread({ thread: thread("t") });
    await memory.saveThread({ thread: thread("u") });
    await memory.saveMessages({ messages: [say("old", 'A needle in Ünder "quotes" 100%')] });
    const hay = Array.from({ length: 700 }, (_, index) => say(`h${index}`, `hay ${index}`));
    await memory.saveMessages({ messages: hay });
    await memory.saveMessages({ messages: [say("new", "Another NEEDLE", { threadId: "u" })] });
    const search = async (text: string, more: object = { resourceId: "r" }) =>
      idsOf(await memory.searchMessages({ text, ...more }));
    expect(await search("needle")).toEqual(["new", "old"]);
    expect(await search("needle", { resourceId: "r", threadId: "t" })).toEqual(["old"]);
    expect(await search("needle", {})).toEqual(["new", "old"]);
    expect(await search("needle", { resourceId: "r", limit: 1 })).toEqual(["new"]);
    for (const text of ["üNDER", '"quotes"', "100%", "dl", "e", "edle in Ü"])
      expect(await search(text, { resourceId: "r", threadId: "t" })).toContain("old");
    expect(await search("hay 699")).toEqual(["h699"]);
    // Names of fields and other things that are no words.
    for (const text of ["format", "parts", "needl_", "ne*dle", "hay AND needle"])
      expect(await search(text)).toEqual([]);
    await expect(search("")).rejects.toMatchObject({ code: "invalid-argument" });
  });

  test("never finds what another resource says", async (storage) => {
    const memory = await memoryOf(storage);
    await memory.saveThread({ thread: thread("t") });
    await memory.saveThread({ thread: thread("other", { resourceId: "s" }) });
    await memory.saveMessages({
      messages: [
        say("mine", "a common word"),
        say("theirs", "a common word", { threadId: "other", resourceId: "s" }),
      ],
    });
    const search = async (text: string, resourceId: string) =>
      idsOf(await memory.searchMessages({ text, resourceId }));
    for (const text of ["common", "o"]) {
      expect(await search(text, "r")).toEqual(["mine"]);
      expect(await search(text, "s")).toEqual(["theirs"]);
      expect(await search(text, "nobody")).toEqual([]);
    }
  });

  test("searches what is stored now: changed, deleted and added to since it was last asked", async (storage, harness) => {
    const memory = await memoryOf(storage);
    await memory.saveThread({ thread: thread("t") });
    const assistant = say("a", "first step", { role: "assistant" });
    await memory.saveMessages({ messages: [say("m", "silk"), say("gone", "silk"), assistant] });
    const search = async (text: string, from: Storage = storage) =>
      idsOf(await (await memoryOf(from)).searchMessages({ text, resourceId: "r" }));
    expect(await search("silk")).toEqual(["gone", "m"]);
    await memory.saveMessages({ messages: [say("m", "cotton")] });
    await memory.deleteMessages(["gone"]);
    const step = (text: string) =>
      putStep({ messageId: "a", threadId: "t", step: 1, parts: [{ type: "text", text }] });
    await storage.commit([step("a velvet step")]);
    expect([await search("silk"), await search("cotton"), await search("velvet")]).toEqual([
      [],
      ["m"],
      ["a"],
    ]);
    await storage.commit([step("a linen step")]);
    expect([await search("velvet"), await search("linen"), await search("first")]).toEqual([
      [],
      ["a"],
      ["a"],
    ]);
    // A replaced message has no later steps.
    await memory.saveMessages({ messages: [say("a", "first step", { role: "assistant" })] });
    expect([await search("linen"), await search("first")]).toEqual([[], ["a"]]);
    if (!harness.reopen) return;
    await storage.close();
    const again = await harness.reopen();
    expect([await search("cotton", again), await search("silk", again)]).toEqual([["m"], []]);
    await (await memoryOf(again)).deleteThread({ threadId: "t" });
    expect(await search("cotton", again)).toEqual([]);
    await again.close();
  });

  test("finds threads by title and id among all of them, a page at a time", async (storage) => {
    const memory = await memoryOf(storage);
    const many = Array.from({ length: 1100 }, (_, index) =>
      thread(`t${index}`, { title: index % 100 === 0 ? `Whäle ${index}` : "other", createdAt: at(index) }),
    );
    for (const one of many) await memory.saveThread({ thread: one });
    await memory.saveThread({ thread: thread("x", { title: "Whäle", resourceId: "s" }) });
    const list = (text: string, more: object = {}) =>
      memory.listThreads({ filter: { resourceId: "r", text }, perPage: 4, ...more });
    const first = await list("wHÄLE");
    expect(first).toMatchObject({ total: 11, hasMore: true, page: 0, perPage: 4 });
    expect(idsOf(first.threads)).toEqual(["t1000", "t900", "t800", "t700"]);
    const last = await list("whäle", { page: 2 });
    expect(last).toMatchObject({ total: 11, hasMore: false });
    expect(idsOf(last.threads)).toEqual(["t200", "t100", "t0"]);
    expect(idsOf((await list("T1099")).threads)).toEqual(["t1099"]);
    expect(await list("")).toMatchObject({ total: 1100 });
  });
}

function testThreads(test: StoreTest): void {
  test("saves a thread and reads it back, dates and all", async (storage) => {
    const memory = await memoryOf(storage);
    const full = thread("t", { title: "Tïtle", metadata: { a: { b: [1] } }, updatedAt: at(5) });
    await memory.saveThread({ thread: full });
    expect(await memory.getThreadById({ threadId: "t" })).toEqual(full);
    await memory.saveThread({ thread: thread("t") });
    expect(await memory.getThreadById({ threadId: "t" })).toEqual(thread("t"));
    expect(await memory.getThreadById({ threadId: "none" })).toBeNull();
  });

  test("does not let a thread be taken over by saving it under another resource", async (storage) => {
    const memory = await memoryOf(storage);
    await memory.saveThread({ thread: thread("t") });
    const theft = memory.saveThread({ thread: thread("t", { resourceId: "thief" }) });
    await expect(theft).rejects.toMatchObject({ code: "conflict" });
    expect(await memory.getThreadById({ threadId: "t" })).toMatchObject({ resourceId: "r" });
  });

  test("updates title and metadata by key, and keeps concurrent changes of different keys", async (storage) => {
    const memory = await memoryOf(storage);
    await memory.saveThread({
      thread: thread("t", { title: "old", metadata: { keep: 1, drop: 1, undef: 1 } }),
    });
    const updated = await memory.updateThread({
      id: "t",
      metadata: { drop: null, undef: undefined, add: { x: 1 } },
    });
    expect(updated).toMatchObject({ title: "old", metadata: { keep: 1, add: { x: 1 } } });
    expect(updated.updatedAt.getTime()).toBeGreaterThan(at(0).getTime());
    expect(updated.createdAt).toEqual(at(0));
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        memory.updateThread({ id: "t", metadata: { [`k${index}`]: index } }),
      ),
    );
    expect(await memory.updateThread({ id: "t", title: "new" })).toMatchObject({
      title: "new",
      metadata: { keep: 1, k0: 0, k19: 19 },
    });
    await expect(memory.updateThread({ id: "none", title: "x" })).rejects.toMatchObject({
      code: "not-found",
    });
  });

  test("deletes a thread with everything in it, and nothing else", async (storage) => {
    const memory = await talk(storage, 3);
    await memory.saveThread({ thread: thread("other") });
    await memory.saveMessages({ messages: [message("o", { threadId: "other" })] });
    await storage.commit([
      putStep({ messageId: "m1", threadId: "t", step: 1, parts: [] }),
      putStep({ messageId: "o", threadId: "other", step: 1, parts: [] }),
    ]);
    await memory.deleteThread({ threadId: "t" });
    await memory.deleteThread({ threadId: "t" });
    expect(await memory.getThreadById({ threadId: "t" })).toBeNull();
    for (const table of [THREADS, MESSAGES, MESSAGE_STEPS]) expect(await storage.count({ table })).toBe(1);
  });

  test("lists threads by resource and metadata, in pages, in either order", async (storage) => {
    const memory = await memoryOf(storage);
    for (let index = 0; index < 5; index++) {
      const more = { createdAt: at(index), updatedAt: at(10 - index), metadata: { even: index % 2 === 0 } };
      await memory.saveThread({ thread: thread(`t${index}`, more) });
    }
    await memory.saveThread({ thread: thread("x", { resourceId: "other", metadata: { even: true } }) });
    const mine = { resourceId: "r" };
    const page = await memory.listThreads({ filter: mine, perPage: 2, page: 1 });
    expect(page).toMatchObject({ total: 5, page: 1, perPage: 2, hasMore: true });
    expect(idsOf(page.threads)).toEqual(["t2", "t1"]);
    const last = await memory.listThreads({ filter: mine, perPage: 2, page: 2 });
    expect([idsOf(last.threads), last.hasMore]).toEqual([["t0"], false]);
    const updated = await memory.listThreads({
      filter: mine,
      orderBy: { field: "updatedAt", direction: "DESC" },
    });
    expect(idsOf(updated.threads)).toEqual(["t0", "t1", "t2", "t3", "t4"]);
    const oldest = await memory.listThreads({ filter: mine, orderBy: { direction: "ASC" }, perPage: false });
    expect(oldest).toMatchObject({ perPage: false, hasMore: false, total: 5 });
    expect(idsOf(oldest.threads)).toEqual(["t0", "t1", "t2", "t3", "t4"]);
    const even = await memory.listThreads({ filter: { ...mine, metadata: { even: true } } });
    expect(idsOf(even.threads)).toEqual(["t4", "t2", "t0"]);
    expect((await memory.listThreads()).total).toBe(6);
  });

  test("clones a thread with messages under new ids, leaving the source alone", async (storage) => {
    const memory = await talk(storage, 6);
    await storage.commit([
      putStep({ messageId: "m5", threadId: "t", step: 1, parts: [{ type: "text", text: "more" }] }),
    ]);
    await memory.updateThread({ id: "t", title: "Source", metadata: { workingMemory: "notes", tag: "a" } });
    let next = 0;
    const { thread: copy, clonedMessages } = await memory.cloneThread(
      {
        sourceThreadId: "t",
        sourceResourceId: "r",
        resourceId: "r2",
        metadata: { tag: "b" },
        options: { messageLimit: 2 },
      },
      () => `new-${next++}`,
    );
    expect(copy).toMatchObject({
      id: "new-0",
      resourceId: "r2",
      title: "Source",
      metadata: { workingMemory: "notes", tag: "b", clone: { sourceThreadId: "t" } },
    });
    expect(idsOf(clonedMessages)).toEqual(["new-1", "new-2"]);
    const { messages } = await memory.listMessages({ threadId: "new-0" });
    expect(messages).toEqual(clonedMessages);
    expect(messages[1]).toMatchObject({
      resourceId: "r2",
      createdAt: at(5),
      content: { parts: [{}, { text: "more" }] },
    });
    expect((await memory.listMessages({ threadId: "t" })).total).toBe(6);
  });

  test("clones what a filter lets through, and nothing onto a thread that exists", async (storage) => {
    const memory = await talk(storage, 6);
    const clone = async (messageFilter: object): Promise<number> => {
      const { clonedMessages } = await memory.cloneThread({
        sourceThreadId: "t",
        options: { messageFilter },
      });
      return clonedMessages.length;
    };
    expect(await clone({ startDate: at(2), endDate: at(4) })).toBe(3);
    expect(await clone({ messageIds: ["m1", "m4", "none"] })).toBe(2);
    for (const of of [
      { resourceId: "r2" },
      { resourceId: "r2", sourceResourceId: "r2" },
      { sourceResourceId: "r2" },
    ])
      await expect(memory.cloneThread({ sourceThreadId: "t", ...of })).rejects.toMatchObject({
        code: "not-found",
      });
    const onto = memory.cloneThread({ sourceThreadId: "t", newThreadId: "t" });
    await expect(onto).rejects.toMatchObject({ code: "conflict" });
    await expect(memory.cloneThread({ sourceThreadId: "none" })).rejects.toMatchObject({ code: "not-found" });
    expect((await memory.listMessages({ threadId: "t" })).total).toBe(6);
  });
}

function testMessages(test: StoreTest): void {
  test("keeps every field of a message", async (storage) => {
    const memory = await talk(storage, 0);
    const full = message("m", {
      role: "signal",
      type: "user",
      createdAt: at(7),
      content: {
        format: 2,
        parts: [
          { type: "text", text: "hi \u{1F44B}", providerMetadata: { p: { k: 1 } } },
          { type: "data-x", data: { "deep \0": [null, { __key: 1 }] } },
        ],
        metadata: { incomplete: true },
        providerMetadata: { p: { a: [1] } },
        content: "hi",
      },
    });
    await memory.saveMessages({ messages: [full] });
    expect((await memory.listMessagesById({ messageIds: ["m", "none"] })).messages).toEqual([full]);
  });

  test("puts a batch in order of creation, and new messages after old ones whatever their clock says", async (storage) => {
    const memory = await talk(storage, 0);
    await memory.saveMessages({
      messages: [message("b", { createdAt: at(20) }), message("a", { createdAt: at(10) })],
    });
    await memory.saveMessages({ messages: [message("late", { createdAt: at(-999) })] });
    expect(idsOf((await memory.listMessages({ threadId: "t" })).messages)).toEqual(["a", "b", "late"]);
  });

  test("replaces a message in its place", async (storage) => {
    const memory = await talk(storage, 4);
    const content = { format: 2 as const, parts: [{ type: "text" as const, text: "edited" }] };
    await memory.saveMessages({
      messages: [message("m1", { role: "assistant", createdAt: at(99), content })],
    });
    const { messages, total } = await memory.listMessages({ threadId: "t" });
    expect(idsOf(messages)).toEqual(["m0", "m1", "m2", "m3"]);
    expect(messages[1]).toMatchObject({ content, createdAt: at(99) });
    expect(total).toBe(4);
  });

  test("never moves a message to another thread or resource", async (storage) => {
    const memory = await talk(storage, 1);
    await memory.saveThread({ thread: thread("t2") });
    for (const more of [{ threadId: "t2" }, { resourceId: "other" }]) {
      const messages = [message("fresh", more), message("m0", more)];
      await expect(memory.saveMessages({ messages })).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringContaining("m0"),
      });
    }
    expect((await memory.listMessages({ threadId: ["t", "t2"] })).messages).toMatchObject([
      { id: "m0", threadId: "t", resourceId: "r" },
    ]);
  });

  test("notes on the thread that messages were saved", async (storage) => {
    const memory = await talk(storage, 1);
    expect((await memory.getThreadById({ threadId: "t" }))!.updatedAt.getTime()).toBeGreaterThan(
      at(0).getTime(),
    );
  });

  test("pages through messages from either end", async (storage) => {
    const memory = await talk(storage, 10);
    const first = await memory.listMessages({ threadId: "t", perPage: 4 });
    expect(idsOf(first.messages)).toEqual(["m0", "m1", "m2", "m3"]);
    expect(first).toMatchObject({ total: 10, page: 0, perPage: 4, hasMore: true });
    const last = await memory.listMessages({
      threadId: "t",
      perPage: 4,
      page: 2,
      orderBy: { direction: "DESC" },
    });
    expect([idsOf(last.messages), last.hasMore]).toEqual([["m1", "m0"], false]);
    const all = await memory.listMessages({ threadId: "t", perPage: false });
    expect([all.messages.length, all.hasMore]).toEqual([10, false]);
    expect(await memory.listMessages({ threadId: "t", perPage: 0 })).toMatchObject({
      messages: [],
      total: 10,
    });
    expect(await memory.listMessages({ threadId: [] })).toMatchObject({
      messages: [],
      total: 0,
      hasMore: false,
    });
    await expect(memory.listMessages({ threadId: "t", page: -1 })).rejects.toMatchObject({
      code: "invalid-argument",
    });
  });

  test("filters messages by date, role and resource", async (storage) => {
    const memory = await talk(storage, 6);
    const list = async (options: object): Promise<string[]> =>
      idsOf((await memory.listMessages({ threadId: "t", ...options })).messages);
    expect(await list({ filter: { dateRange: { start: at(2), end: at(4) } } })).toEqual(["m2", "m3", "m4"]);
    expect(await list({ filter: { dateRange: { start: at(4) }, roles: ["assistant"] } })).toEqual(["m5"]);
    expect(await list({ resourceId: "r", perPage: 1 })).toEqual(["m0"]);
    expect(await list({ resourceId: "other" })).toEqual([]);
  });

  test("messages of people are found by their role, also those that were sent into the thread", async (storage) => {
    const memory = await memoryOf(storage);
    await memory.saveThread({ thread: thread("t") });
    const kinds: Partial<StoredMessage>[] = [
      { role: "user" },
      { role: "signal", type: "user" },
      { role: "assistant" },
      { role: "signal", type: "system-reminder" },
    ];
    const messages = Array.from({ length: 200 }, (_, n) => message(`m${n}`, kinds[n % 4]!));
    await memory.saveMessages({ messages });
    const said = messages.filter((_, n) => n % 4 < 2).map(({ id }) => id);
    const list = async (page: number, direction: "ASC" | "DESC", perPage: number | false = 40) => {
      const options = {
        threadId: "t",
        page,
        perPage,
        orderBy: { direction },
        filter: { roles: ["user" as const] },
      };
      const { messages: found, total, hasMore } = await memory.listMessages(options);
      expect(total).toBe(100);
      expect(hasMore).toBe(perPage !== false && (page + 1) * perPage < 100);
      return idsOf(found);
    };
    expect(await list(0, "ASC")).toEqual(said.slice(0, 40));
    expect(await list(2, "ASC")).toEqual(said.slice(80));
    expect(await list(1, "DESC")).toEqual(said.toReversed().slice(40, 80));
    expect(await list(0, "ASC", false)).toEqual(said);
    const signals = await memory.listMessages({ threadId: "t", filter: { roles: ["signal"] } });
    expect(signals.total).toBe(100);
  });

  test("brings messages along with their neighbours, once each and in order", async (storage) => {
    const memory = await talk(storage, 10);
    const include = [
      { id: "m5", withPreviousMessages: 2, withNextMessages: 1 },
      { id: "m6", withPreviousMessages: 1 },
      { id: "none" },
    ];
    const alone = await memory.listMessages({ threadId: "t", perPage: 0, include });
    expect(idsOf(alone.messages)).toEqual(["m3", "m4", "m5", "m6"]);
    const withPage = await memory.listMessages({
      threadId: "t",
      perPage: 2,
      include,
      orderBy: { direction: "DESC" },
    });
    expect(idsOf(withPage.messages)).toEqual(["m9", "m8", "m6", "m5", "m4", "m3"]);
    expect(withPage).toMatchObject({ total: 10, hasMore: true });
  });

  test("brings messages along from other threads, never from other resources", async (storage) => {
    const memory = await talk(storage, 1);
    await memory.saveMessages({
      messages: [
        message("mine", { threadId: "t2", createdAt: at(1) }),
        message("theirs", { threadId: "t2", resourceId: "other", createdAt: at(2) }),
      ],
    });
    const include = [{ id: "mine", withNextMessages: 5 }, { id: "theirs" }];
    const { messages } = await memory.listMessages({ threadId: "t", resourceId: "r", perPage: 0, include });
    expect(idsOf(messages)).toEqual(["mine"]);
    const wrong = [{ id: "mine", threadId: "t" }];
    expect((await memory.listMessages({ threadId: "t", perPage: 0, include: wrong })).messages).toEqual([]);
  });

  test("reads the last messages, oldest first", async (storage) => {
    const memory = await talk(storage, 10);
    expect(idsOf(await memory.recentMessages({ threadId: "t", limit: 3 }))).toEqual(["m7", "m8", "m9"]);
    expect(await memory.recentMessages({ threadId: "t", limit: 99 })).toHaveLength(10);
    expect(await memory.recentMessages({ threadId: "t", limit: 0 })).toEqual([]);
    expect(await memory.recentMessages({ threadId: "none", limit: 3 })).toEqual([]);
  });

  test("deletes messages with what their steps added", async (storage) => {
    const memory = await talk(storage, 3);
    await storage.commit([putStep({ messageId: "m1", threadId: "t", step: 1, parts: [] })]);
    await memory.deleteMessages(["m1", "none"]);
    await memory.deleteMessages([]);
    expect(idsOf((await memory.listMessages({ threadId: "t" })).messages)).toEqual(["m0", "m2"]);
    expect(await storage.count({ table: MESSAGE_STEPS })).toBe(0);
  });

  test("refuses ids and metadata that are none", async (storage) => {
    const memory = await memoryOf(storage);
    const refused = { code: "invalid-argument" };
    for (const id of [
      "",
      "a\0b",
      "a\nb",
      "half\uD800",
      "x".repeat(257),
      "é".repeat(129),
      7,
      null,
      undefined,
    ]) {
      const bad = id as string;
      await expect(memory.getThreadById({ threadId: bad })).rejects.toMatchObject(refused);
      await expect(memory.saveThread({ thread: thread(bad) })).rejects.toMatchObject(refused);
      await expect(memory.saveThread({ thread: thread("t", { resourceId: bad }) })).rejects.toMatchObject(
        refused,
      );
      await expect(memory.saveMessages({ messages: [message(bad)] })).rejects.toMatchObject(refused);
      await expect(memory.listMessages({ threadId: bad })).rejects.toMatchObject(refused);
      await expect(memory.deleteMessages([bad])).rejects.toMatchObject(refused);
      await expect(memory.getResourceById({ resourceId: bad })).rejects.toMatchObject(refused);
    }
    for (const key of ["__proto__", "constructor", "prototype"]) {
      const metadata = JSON.parse(`{"${key}": 1}`) as Record<string, unknown>;
      await expect(memory.saveThread({ thread: thread("t", { metadata }) })).rejects.toMatchObject(refused);
      await expect(memory.updateThread({ id: "t", metadata })).rejects.toMatchObject(refused);
      await expect(memory.updateResource({ resourceId: "r", metadata })).rejects.toMatchObject(refused);
      const content = { format: 2 as const, parts: [], metadata };
      await expect(memory.saveMessages({ messages: [message("m", { content })] })).rejects.toMatchObject(
        refused,
      );
    }
    const longest = "é".repeat(128);
    await memory.saveThread({ thread: thread(longest) });
    expect(await memory.getThreadById({ threadId: longest })).toMatchObject({ id: longest });
  });

  test("makes half surrogate pairs and NULs in text whole", async (storage) => {
    const memory = await memoryOf(storage);
    await memory.saveThread({ thread: thread("t", { title: "a\0b\uD800" }) });
    expect(await memory.getThreadById({ threadId: "t" })).toMatchObject({ title: "a\uFFFDb\uFFFD" });
    const parts = [{ type: "text" as const, text: "x\uDC00" }];
    await memory.saveMessages({ messages: [message("m", { content: { format: 2, parts } })] });
    expect((await memory.recentMessages({ threadId: "t", limit: 1 }))[0]!.content.parts).toEqual([
      { type: "text", text: "x\uFFFD" },
    ]);
  });
}

function testSteps(test: StoreTest): void {
  const text = (value: string): { type: "text"; text: string } => ({ type: "text", text: value });
  const answer = message("answer", { role: "assistant", content: { format: 2, parts: [text("0")] } });

  test("puts the parts of later steps behind those of the message, in order of the steps", async (storage) => {
    const memory = await memoryOf(storage);
    await storage.commit([
      insertThread(thread("t")),
      insertMessage(answer),
      putStep({ messageId: "answer", threadId: "t", step: 10, parts: [text("10")] }),
      putStep({ messageId: "answer", threadId: "t", step: 2, parts: [text("2a"), text("2b")] }),
      touchThread("t", at(5).getTime()),
    ]);
    await storage.commit([putStep({ messageId: "answer", threadId: "t", step: 10, parts: [text("ten")] })]);
    const expected = [{ ...answer, content: { format: 2, parts: ["0", "2a", "2b", "ten"].map(text) } }];
    expect(await memory.recentMessages({ threadId: "t", limit: 5 })).toEqual(expected);
    expect((await memory.listMessages({ threadId: "t" })).messages).toEqual(expected);
    expect((await memory.listMessagesById({ messageIds: ["answer"] })).messages).toEqual(expected);
    expect(await memory.getThreadById({ threadId: "t" })).toEqual(thread("t", { updatedAt: at(5) }));
  });

  test("forgets the steps of a message that is saved as a whole", async (storage) => {
    const memory = await memoryOf(storage);
    await storage.commit([
      insertMessage(answer),
      putStep({ messageId: "answer", threadId: "t", step: 1, parts: [text("1")] }),
    ]);
    const [whole] = await memory.recentMessages({ threadId: "t", limit: 1 });
    await memory.saveMessages({ messages: [whole!] });
    expect(await memory.recentMessages({ threadId: "t", limit: 1 })).toEqual([whole]);
    expect(await storage.count({ table: MESSAGE_STEPS })).toBe(0);
  });

  test("creates a thread only once and refuses a second message of the same id", async (storage) => {
    const memory = await memoryOf(storage);
    await storage.commit([insertThread(thread("t", { title: "first" })), insertMessage(answer)]);
    await storage.commit([insertThread(thread("t", { title: "second" }))]);
    expect(await memory.getThreadById({ threadId: "t" })).toMatchObject({ title: "first" });
    await expect(storage.commit([insertMessage(answer)])).rejects.toMatchObject({ code: "conflict" });
    expect(await storage.commit([insertMessage(answer, "ignore")])).toMatchObject({ changes: [0] });
  });

  test("changes the metadata of a message by key", async (storage) => {
    const memory = await memoryOf(storage);
    await storage.commit([insertMessage(answer), setMessageMetadata("answer", { incomplete: true, a: 1 })]);
    await storage.commit([setMessageMetadata("answer", { incomplete: undefined, b: 2 })]);
    const [stored] = await memory.recentMessages({ threadId: "t", limit: 1 });
    expect(stored!.content).toEqual({ ...answer.content, metadata: { a: 1, b: 2 } });
  });
}

function testResources(test: StoreTest): void {
  test("creates and changes a resource, one version at a time", async (storage) => {
    const memory = await memoryOf(storage);
    expect(await memory.getResourceById({ resourceId: "r" })).toBeNull();
    const first = await memory.updateResource({
      resourceId: "r",
      workingMemory: "notes",
      metadata: { a: 1, b: 1 },
    });
    expect(first).toMatchObject({ id: "r", workingMemory: "notes", metadata: { a: 1, b: 1 }, version: 1 });
    const second = await memory.updateResource({ resourceId: "r", metadata: { b: null, c: 2 } });
    expect(second).toMatchObject({ workingMemory: "notes", metadata: { a: 1, c: 2 }, version: 2 });
    const saved = await memory.saveResource({
      resource: { id: "r", metadata: { only: true }, createdAt: at(0), updatedAt: at(0) },
    });
    expect(saved).toMatchObject({ metadata: { only: true }, version: 3, createdAt: first.createdAt });
    expect(saved.workingMemory).toBeUndefined();
    expect(await memory.getResourceById({ resourceId: "r" })).toEqual(saved);
  });

  test("changes a resource only at the expected version", async (storage) => {
    const memory = await memoryOf(storage);
    const change = (workingMemory: string, expectedVersion: number): Promise<unknown> =>
      memory.updateResource({ resourceId: "r", workingMemory, expectedVersion });
    await expect(change("too early", 1)).rejects.toMatchObject({ code: "conflict" });
    expect(await memory.getResourceById({ resourceId: "r" })).toBeNull();
    await change("first", 0);
    await expect(change("again", 0)).rejects.toMatchObject({ code: "conflict" });
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => change(`w${index}`, 1)),
    );
    expect(results.filter((result) => result.status === "fulfilled")).toHaveLength(1);
    expect(await memory.getResourceById({ resourceId: "r" })).toMatchObject({ version: 2 });
  });

  test("loses none of many changes at once", async (storage) => {
    const memory = await memoryOf(storage);
    await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        memory.updateResource({ resourceId: "r", metadata: { [`k${index}`]: index } }),
      ),
    );
    const resource = await memory.getResourceById({ resourceId: "r" });
    expect(Object.keys(resource!.metadata!)).toHaveLength(30);
    expect(resource!.version).toBe(30);
  });
}
