import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { LibSQLStore } from "@selvedge/libsql";
import { describe, expect, it } from "vitest";
import { AgentError } from "../../errors.ts";
import { Follower, gate, HERE, ON, onThread, until } from "../../agent/__fixtures__/on-thread.ts";
import { InMemoryStorage } from "../../storage/in-memory-storage.ts";
import { type Change, Storage, type StorageDriver } from "../../storage/storage.ts";
import { ACTORS, EVENTS } from "../../storage/thread-tables.ts";
import { remove, update } from "../../storage/writes.ts";

const refusal = (code: string) => expect.objectContaining({ name: "AgentError", code });
const dense = (follower: Follower, from = 1) =>
  expect(follower.chunks.map((chunk) => chunk.seq)).toEqual(follower.chunks.map((_, index) => index + from));

async function withFile(work: (open: () => LibSQLStore) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-"));
  const stores: Storage[] = [];
  try {
    await work(() => {
      const store = new LibSQLStore({ url: `file:${join(folder, "store.db")}` });
      stores.push(store);
      return store;
    });
  } finally {
    for (const store of stores) await store.close();
    await rm(folder, { recursive: true });
  }
}

describe("subscribeToThread", () => {
  it("misses nothing of what is sent after it, in any of several readers", async () => {
    const { agent, follow, idle } = onThread(({ index }) => `answer ${index}`);
    const readers = await Promise.all([follow(), follow(), follow()]);
    for (let turn = 0; turn < 3; turn++) await agent.queueMessage(`m${turn}`, HERE).admitted;
    await idle();
    for (const reader of readers) {
      await reader.until("finish", 3);
      dense(reader);
      expect(reader.text).toBe("answer 0answer 1answer 2");
      expect(reader.chunks).toEqual(readers[0]!.chunks);
      reader.stop();
    }
  });

  it("replays the run under way to who comes late, and no run before it", async () => {
    const { agent, follow, idle } = onThread(["old", { text: ["a", "b", "c"], hang: { after: 4 } }]);
    await agent.sendMessage("first", HERE).admitted;
    await idle();
    const watcher = await follow();
    const sent = agent.sendMessage("second", HERE);
    await watcher.until("text-delta");
    const late = await follow();
    await late.until("text-delta");
    expect(late.types[0]).toBe("start");
    expect(late.chunks.every((chunk) => chunk.runId === sent.runId)).toBe(true);
    dense(late, late.chunks[0]!.seq);
    expect(late.subscription.activeRunId()).toBe(sent.runId);
    late.subscription.abort();
    await Promise.all([late.until("abort"), watcher.until("abort")]);
    late.stop();
    watcher.stop();
  });

  it("goes on after a number, also through runs that are over", async () => {
    const { agent, follow, idle } = onThread(({ index }) => `answer ${index}`);
    await agent.generate("one", ON);
    await agent.generate("two", ON);
    await idle();
    const all = await follow({ after: 0 });
    await all.until("finish", 2);
    dense(all);
    const rest = await follow({ after: 5 });
    await until(() => rest.chunks.length === all.chunks.length - 5);
    expect(rest.chunks).toEqual(all.chunks.slice(5));
    const before = all.chunks.length;
    const fresh = await follow();
    await agent.generate("three", ON);
    await fresh.until("finish");
    dense(fresh, before + 1);
    for (const reader of [all, rest, fresh]) reader.stop();
  });

  it("ends where it is left, and the run does not", async () => {
    const release = gate();
    const { agent, follow, idle, history } = onThread(async () => {
      await release.opened;
      return "done";
    });
    const reader = await follow();
    agent.sendMessage("hi", HERE);
    await reader.until("data-user-message");
    reader.stop();
    expect(await reader.ended).toBeUndefined();
    reader.stop();
    const other = await agent.subscribeToThread(HERE);
    for await (const chunk of other.stream) if (chunk.type === "start") break;
    release.open();
    await idle();
    expect(await history()).toEqual(["signal: hi", "assistant: done"]);
  });

  it("knows neither a run nor an abort on an idle thread", async () => {
    const { follow } = onThread([]);
    const reader = await follow();
    expect(reader.subscription.activeRunId()).toBeNull();
    expect(reader.subscription.abort()).toBe(false);
    reader.stop();
  });

  it("follows a thread that does not exist yet without naming its resource, also beside one that names it", async () => {
    const { agent, follow, idle } = onThread(() => "done");
    const wrong = await agent.subscribeToThread({ threadId: "t1", resourceId: "somebody-else" });
    const named = await follow();
    const unnamed = new Follower(await agent.subscribeToThread({ threadId: "t1" }));
    await agent.sendMessage("hi", HERE).admitted;
    await named.until("finish");
    await unnamed.until("finish");
    expect(unnamed.types).toEqual(named.types);
    await idle();
    wrong.unsubscribe();
    named.stop();
    unnamed.stop();
  });

  it("takes every resource for the right one when it names none, also before the thread exists", async () => {
    const { agent } = onThread(({ index }) => `answer ${index}`);
    const early = new Follower(await agent.subscribeToThread({ threadId: "t1" }));
    const sent = agent.sendMessage("hi", HERE);
    await early.until("finish");
    dense(early);
    await agent.generate("again", ON);
    await early.until("finish", 2);
    expect(early.chunks[0]!.runId).toBe(sent.runId);
    const late = new Follower(await agent.subscribeToThread({ threadId: "t1", after: 0 }));
    await late.until("finish", 2);
    expect(late.chunks).toEqual(early.chunks);
    early.stop();
    late.stop();
  });

  it("shows nothing to another resource, whoever comes first", async () => {
    const { agent, follow, idle } = onThread(() => "secret");
    const thief = await follow({ resourceId: "other" });
    agent.sendMessage("hi", HERE);
    await idle();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(thief.chunks).toEqual([]);
    expect(thief.subscription.activeRunId()).toBeNull();
    expect(thief.subscription.abort()).toBe(false);
    thief.stop();
    await expect(agent.subscribeToThread({ ...HERE, resourceId: "other", after: 0 })).rejects.toEqual(
      refusal("not-found"),
    );
  });

  it("costs the run nothing when it is not read, and gets all of it later", async () => {
    const text = Array.from({ length: 500 }, (_, index) => `${index} `);
    const { agent, idle } = onThread([{ text }]);
    const slow = await agent.subscribeToThread(HERE);
    agent.sendMessage("hi", HERE);
    await idle();
    const reader = new Follower(slow);
    await reader.until("finish");
    expect(reader.text).toBe(text.join(""));
    dense(reader);
    reader.stop();
  });

  it("says so when what it has not read is no longer kept", async () => {
    const { agent, follow, storage, idle } = onThread(() => "x", { threads: { retentionMs: 1 } });
    await agent.generate("one", ON);
    await new Promise((resolve) => setTimeout(resolve, 10));
    await agent.generate("two", ON);
    await new Promise((resolve) => setTimeout(resolve, 10));
    await agent.generate("three", ON);
    await idle();
    await until(
      async () => (await storage.count({ table: EVENTS, where: { thread_id: "t1", first: 1 } })) === 0,
    );
    const reader = await follow({ after: 0 });
    const error = await Promise.race([reader.ended, agent.generate("four", ON).then(() => reader.ended)]);
    expect(error).toEqual(refusal("reader-too-slow"));
    expect(error).toMatchObject({ details: { after: 0 } });
  });

  it("says so to every reader of a process, when what they have not read was deleted elsewhere", async () => {
    await withFile(async (open) => {
      const here = onThread(["one"], { storage: open() });
      const there = open();
      const readers = [await here.follow(), await here.follow(), await here.follow()];
      await here.agent.sendMessage("a", HERE).admitted;
      for (const reader of readers) await reader.until("finish");
      await here.idle();
      await there.init();
      await there.commit([
        remove(EVENTS, { thread_id: "t1" }),
        update(ACTORS, { where: { thread_id: "t1" }, set: { next_seq: 100 } }),
      ]);
      for (const reader of readers) expect(await reader.ended).toEqual(refusal("reader-too-slow"));
    });
  });

  it("is ended when its thread is deleted, and not led on into another of that name", async () => {
    const { agent, memory, follow, idle } = onThread(["one", "two"]);
    const reader = await follow();
    await agent.sendMessage("a", HERE).admitted;
    await reader.until("finish");
    await idle();
    await memory.deleteThread(HERE);
    expect(await reader.ended).toEqual(refusal("not-found"));
    await agent.sendMessage("b", HERE).admitted;
    await idle();
    const back = await follow({ after: 5000 });
    expect(await back.ended).toMatchObject({ code: "not-found", details: { after: 5000 } });
  });

  it("shows nothing of another's thread to who waited at its name, even if the store cannot say at once whose it is", async () => {
    await withFile(async (open) => {
      const there = open();
      let failures = 0;
      const driver: StorageDriver = {
        migrate: () => there.init(),
        addTables: async () => {},
        select: async (queries) => {
          if (failures > 0 && queries.some(({ table }) => table.name === ACTORS.name)) {
            failures--;
            throw new AgentError("storage-failed", "The store could not be read.");
          }
          return [...(await there.selectAll(queries))];
        },
        count: (query) => there.count(query),
        commit: (commits) => there.commitAll(commits),
        watch: (onChange) => there.watch(onChange),
        close: () => there.close(),
      };
      const spy = onThread([], { storage: new Storage(driver, { id: "spy" }) });
      const address = { threadId: HERE.threadId, resourceId: "somebody-else", after: 0 };
      const readers = [
        new Follower(await spy.agent.subscribeToThread(address)),
        new Follower(await spy.agent.subscribeToThread(address)),
      ];
      failures = 3;
      const here = onThread(["a secret"], { storage: open() });
      await here.agent.sendMessage("mine", HERE).admitted;
      for (const reader of readers) {
        expect(await reader.ended).toEqual(refusal("not-found"));
        expect(reader.chunks).toEqual([]);
      }
    });
  });

  it("shows a slow reader nothing of who has its thread's name next", async () => {
    const { agent, memory, idle } = onThread(({ index }) => `answer ${index}`);
    await agent.generate("mine", ON);
    await idle();
    const slow = await agent.subscribeToThread({ ...HERE, after: 0 });
    while ((await slow.read(1))[0]!.type !== "finish");
    await memory.deleteThread(HERE);
    for (let turn = 0; turn < 3; turn++)
      await agent.generate("theirs", { memory: { thread: "t1", resource: "r2" } });
    await idle();
    const read: unknown[] = [];
    const reading = (async () => {
      for (;;) read.push(...(await slow.read(10)));
    })();
    await expect(reading).rejects.toEqual(refusal("not-found"));
    expect(JSON.stringify(read)).not.toContain("theirs");
  });

  it.each([
    undefined,
    null,
    {},
    { threadId: "" },
    { threadId: 5 },
    { threadId: "t", after: -1 },
    { threadId: "t", after: 0.5 },
    { threadId: "t", resourceId: 5 },
    { threadId: "t", after: 1n },
  ])("refuses %o", async (options) => {
    const { agent } = onThread([]);
    await expect(agent.subscribeToThread(options as never)).rejects.toEqual(refusal("invalid-argument"));
  });

  it("asks once for many idle readers when anything may have changed, and finds what did", async () => {
    const rows = new InMemoryStorage();
    let reads = 0;
    let tell = (_: Change): void => {};
    const driver: StorageDriver = {
      migrate: () => rows.init(),
      addTables: async () => {},
      select: async (queries) => {
        reads++;
        return [...(await rows.selectAll(queries))];
      },
      count: (query) => rows.count(query),
      commit: (commits) => rows.commitAll(commits),
      watch: (onChange) => {
        tell = onChange;
        return () => {};
      },
      close: () => rows.close(),
    };
    const here = onThread(() => "here", { storage: new Storage(driver, { id: "here" }) });
    const elsewhere = onThread(() => "there", { storage: rows });
    const threads = Array.from({ length: 100 }, (_, index) => `thread ${index}`);
    await elsewhere.agent.generate("before", { memory: { thread: threads[0]!, resource: HERE.resourceId } });
    const readers = await Promise.all(threads.map((threadId) => here.follow({ threadId })));
    for (let before = -1; before !== reads; await wait(50)) before = reads;
    reads = 0;
    for (let round = 0; round < 100; round++) tell("unknown");
    await wait(50);
    expect(reads).toBeLessThan(10);
    await elsewhere.agent.generate("now", { memory: { thread: threads[7]!, resource: HERE.resourceId } });
    tell("unknown");
    await readers[7]!.until("finish");
    expect(readers[7]!.text).toBe("there");
    for (const reader of readers) reader.stop();
  });

  it("does not keep a message waiting behind the reads of many readers that start at once", async () => {
    const rows = new InMemoryStorage();
    // A store with one connection: what is requested first is done first.
    let line: Promise<unknown> = Promise.resolve();
    let reads = 0;
    const inLine = <Value>(work: () => Promise<Value>): Promise<Value> => {
      const turn = line.then(() => wait(0)).then(work);
      line = turn.catch(() => {});
      return turn;
    };
    const driver: StorageDriver = {
      migrate: () => rows.init(),
      addTables: async () => {},
      select: (queries) =>
        inLine(async () => {
          reads++;
          return [...(await rows.selectAll(queries))];
        }),
      count: (query) => rows.count(query),
      commit: (commits) => inLine(() => rows.commitAll(commits)),
      watch: () => () => {},
      close: () => rows.close(),
    };
    const { agent, follow } = onThread(() => "hello", { storage: new Storage(driver, { id: "line" }) });
    const following = Array.from({ length: 1_000 }, (_, index) => follow({ threadId: `thread ${index}` }));
    await Promise.race(following);
    const before = reads;
    await agent.sendMessage("Hello?", HERE).admitted;
    expect(reads - before).toBeLessThan(100);
    for (const reader of await Promise.all(following)) reader.stop();
  });

  it("follows runs of another store object on the same file, and can abort them", async () => {
    await withFile(async (open) => {
      const entered = gate();
      const here = onThread(
        async ({ index, options }) => {
          if (index === 0) return "one";
          entered.open();
          await new Promise((_, reject) =>
            options.abortSignal!.addEventListener("abort", () => reject(new Error("aborted"))),
          );
          return "never";
        },
        { storage: open() },
      );
      const there = onThread([], { storage: open() });
      const wildcard = new Follower(await there.agent.subscribeToThread({ threadId: "t1" }));
      const reader = await there.follow();
      await here.agent.sendMessage("hi", HERE).admitted;
      await reader.until("finish");
      await wildcard.until("finish");
      dense(reader);
      const sent = here.agent.sendMessage("more", HERE);
      await entered.opened;
      await until(() => reader.subscription.activeRunId() === sent.runId);
      expect(reader.subscription.abort()).toBe(true);
      await reader.until("abort");
      await wildcard.until("abort");
      await until(() => reader.subscription.activeRunId() === null);
      expect(wildcard.chunks).toEqual(reader.chunks);
      reader.stop();
      wildcard.stop();
    });
  });
});

describe("the last readers", () => {
  it("leave nothing of the thread behind in memory", async () => {
    const storage = new InMemoryStorage();
    const { agent, follow, idle } = onThread(() => "x", { storage });
    const { LocalThreads } = await import("../hold/local-threads.ts");
    const { realSystem } = await import("../../system.ts");
    const { silentLogger } = await import("../../logger.ts");
    const runtime = LocalThreads.of(storage, realSystem, silentLogger);
    for (const threadId of ["a", "b", "c"]) {
      const reader = await follow({ threadId });
      await agent.sendMessage("hi", { threadId, resourceId: "r1" }).admitted;
      await reader.until("finish");
      await idle(threadId);
      reader.stop();
    }
    const wildcard = await agent.subscribeToThread({ threadId: "nowhere" });
    wildcard.unsubscribe();
    await until(() => runtime.threadCount === 0);
  });
});
