import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MastraClient } from "@selvedge/client-js";
import { InMemoryStorage, TABLES } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { cuttingProxy, scriptedModel } from "@selvedge/testing";
import { afterEach, describe, expect, it } from "vitest";
import { gated, HERE, served } from "./__fixtures__/served-agent.ts";
import { fromStored, type ThreadMessage, ThreadStore } from "./index.ts";

const open = new Set<() => unknown>();
afterEach(async () => {
  for (const close of [...open].reverse()) await close();
  open.clear();
});

function follow(client: MastraClient): ThreadStore {
  const store = new ThreadStore(client, { agentId: "weaver", ...HERE, reconnect: { delayMs: 1 } });
  open.add(store.subscribe(() => {}));
  return store;
}

const textOf = ({ parts }: ThreadMessage) =>
  parts.map((part) => (part.type === "text" ? part.text : "")).join("");

describe("ThreadStore", () => {
  it.each([1, 2])("shows what is stored, however often the line is cut (%i)", async (seed) => {
    const words = Array.from({ length: 150 }, (_, index) => `word${index} `);
    const page = await served(() => ({ text: words }));
    open.add(() => page.close());
    const proxy = await cuttingProxy(page.server.port);
    open.add(() => proxy.close());
    let size = 1000 * seed;
    proxy.limit = () => 1500 + ((size = (size * 7919) % 10_007) % 4000);
    const store = follow(
      new MastraClient({ baseUrl: proxy.url, backoffMs: 1, maxBackoffMs: 5, retries: 50 }),
    );
    const seen: string[] = [];
    open.add(
      store.subscribe(() => {
        for (const message of store.getSnapshot().messages)
          if (message.role === "assistant") seen.push(textOf(message));
      }),
    );
    await store.sendMessage("one");
    await store.queueMessage("two");
    const isDone = () => {
      const { messages } = store.getSnapshot();
      return messages.length === 4 && messages.every(({ state }) => state === "done");
    };
    await expect.poll(isDone).toBe(true);
    expect(proxy.cuts).toBeGreaterThan(3);
    // What was shown on the way was always a beginning of the answer: nothing missing, nothing twice.
    expect(seen.every((text) => words.join("").startsWith(text))).toBe(true);
    const { messages } = await page.client.getMemoryThread(HERE).listMessages();
    expect(
      store.getSnapshot().messages.map(({ id, parts }) => ({ id, text: textOf({ parts } as ThreadMessage) })),
    ).toEqual(messages.map(fromStored).map((message) => ({ id: message.id, text: textOf(message) })));
  });

  describe.each([
    ["of another page", false],
    ["of a page at another process", true],
  ])("the queue %s", (_, elsewhere) => {
    it("shows what is queued, changed and taken back, while a run goes on", async () => {
      const { reply, hold } = gated();
      const folder = await mkdtemp(join(tmpdir(), "selvedge-queue-"));
      open.add(() => rm(folder, { recursive: true, force: true }));
      const onFile = () => new LibSQLStore({ id: "main", url: `file:${join(folder, "db")}` });
      const one = await served(reply, {}, ...(elsewhere ? [onFile()] : []));
      open.add(() => one.close());
      const other = elsewhere ? await served(reply, {}, onFile()) : one;
      if (elsewhere) open.add(() => other.close());
      const { reached, go } = hold();
      const ours = follow(one.client);
      await ours.sendMessage("first");
      await reached;
      const theirs = follow(other.client);
      await expect.poll(() => theirs.getSnapshot().run?.state).toBe("running");
      const seen = () => theirs.getSnapshot().queue.map(({ signal }) => signal.contents);
      const numbers: number[] = [];
      const subscription = await other.client.getAgent("weaver").subscribeToThread({ ...HERE, after: 0 });
      open.add(() => subscription.unsubscribe());
      const reading = subscription.processDataStream({ onChunk: ({ seq }) => void numbers.push(seq) });
      const { signal } = await ours.queueMessage("second");
      await expect.poll(seen).toEqual(["second"]);
      await ours.queueMessage("third");
      await expect.poll(seen).toEqual(["second", "third"]);
      await ours.editQueued(signal.id, "SECOND");
      await expect.poll(seen).toEqual(["SECOND", "third"]);
      await ours.removeQueued(signal.id);
      await expect.poll(seen).toEqual(["third"]);
      go();
      await expect.poll(() => theirs.getSnapshot().messages.map(({ state }) => state)).toHaveLength(4);
      await expect.poll(() => theirs.getSnapshot().run).toBeUndefined();
      expect(seen()).toEqual([]);
      // News of the queue take no numbers.
      const { lastSeq } = await other.client.getMemoryThread(HERE).state();
      await expect.poll(() => numbers.at(-1)).toBe(lastSeq);
      expect(numbers).toEqual(Array.from({ length: lastSeq }, (__, index) => index + 1));
      subscription.unsubscribe();
      await reading;
    });
  });

  it("opens a run that waits although its chunks are no longer kept, and goes on with it", async () => {
    const danger = createTool({
      id: "danger",
      description: "",
      requireApproval: true,
      execute: async () => "broken",
    });
    const script = [
      { text: "First, ", toolCalls: [{ toolName: "danger", toolCallId: "d1", input: {} }] },
      "done",
    ];
    const page = await served(script, { tools: { danger } });
    open.add(() => page.close());
    await page.agent.sendMessage("go", HERE).admitted;
    const { client } = page;
    const isSuspended = async () => (await client.getMemoryThread(HERE).state()).runState === "suspended";
    await expect.poll(isSuspended).toBe(true);
    const events = TABLES.find(({ name }) => name === "selvedge_events")!;
    await page.storage.commit([{ op: "delete", table: events, where: { thread_id: HERE.threadId } }]);
    const store = follow(page.client);
    await expect
      .poll(() => store.getSnapshot().approvals.map(({ toolCallId }) => toolCallId))
      .toEqual(["d1"]);
    expect(store.getSnapshot().messages.map(textOf)).toEqual(["go", "First, "]);
    await store.approve("d1");
    await expect.poll(() => store.getSnapshot().messages.at(-1)?.state).toBe("done");
    await expect
      .poll(() => store.getSnapshot().messages.map(textOf).join("|"))
      .toMatch(/^go\|First, \|?done$/);
    const calls = store
      .getSnapshot()
      .messages.flatMap(({ parts }) => parts)
      .filter(({ type }) => type === "tool-invocation");
    expect(calls).toMatchObject([{ toolInvocation: { state: "result" } }]);
  });

  it("asks nothing about a thread that is new before somebody writes to it", async () => {
    const page = await served(["Hello."]);
    open.add(() => page.close());
    const asked: string[] = [];
    const client = new MastraClient({
      baseUrl: page.server.url,
      fetch: (url, init) => {
        asked.push(`${init.method} ${new URL(url).pathname}`);
        return fetch(url, init);
      },
    });
    const store = new ThreadStore(client, { agentId: "weaver", ...HERE, isNew: true });
    open.add(store.subscribe(() => {}));
    await expect.poll(() => store.getSnapshot().connection).toBe("live");
    expect(asked).toEqual(["POST /api/agents/weaver/threads/subscribe"]);
    await store.sendMessage("Hi");
    await expect.poll(() => store.getSnapshot().messages.map(textOf)).toEqual(["Hi", "Hello."]);
    await expect.poll(() => asked).toContain("GET /api/memory/threads/t1/state");
  });

  it("is idle while observational memory works beside the thread", async () => {
    const storage = new InMemoryStorage();
    const done = Promise.withResolvers<void>();
    const observer = scriptedModel(async () => {
      await done.promise;
      return "<observations>\n- noted\n</observations>";
    });
    const observationalMemory = { model: observer, observation: { messageTokens: 1_000, bufferTokens: 1 } };
    const memory = new Memory({ storage, options: { observationalMemory } });
    const page = await served(() => "Woven.", { memory }, storage);
    open.add(() => page.close());
    const seen: string[] = [];
    const store = new ThreadStore(page.client, {
      agentId: "weaver",
      ...HERE,
      onChunk: ({ type }) => void seen.push(type),
    });
    open.add(store.subscribe(() => {}));
    await store.sendMessage("one");
    await expect.poll(() => seen).toContain("data-om-buffering-start");
    await expect.poll(() => seen).toContain("finish");
    await expect.poll(() => store.getSnapshot().run).toBeUndefined();
    done.resolve();
    await expect.poll(() => seen).toContain("data-om-buffering-end");
    const { run, messages } = store.getSnapshot();
    expect(run).toBeUndefined();
    expect(messages.map(textOf)).toEqual(["one", "Woven."]);
  });

  it("tries a thread anew that could not be followed", async () => {
    const page = await served(["Hello."]);
    open.add(() => page.close());
    let letIn = false;
    const client = new MastraClient({
      baseUrl: page.server.url,
      fetch: (url, init) =>
        letIn ? fetch(url, init) : Promise.resolve(Response.json({ error: "No." }, { status: 401 })),
    });
    const store = follow(client);
    await expect.poll(() => store.getSnapshot().status).toBe("error");
    letIn = true;
    await store.refresh();
    await expect.poll(() => store.getSnapshot().connection).toBe("live");
    expect(store.getSnapshot().status).toBe("ready");
  });

  it("says why a thread of somebody else cannot be followed", async () => {
    const page = await served(["Hello."]);
    open.add(() => page.close());
    await page.agent.sendMessage("Hi", { ...HERE, resourceId: "somebody-else" }).admitted;
    const store = follow(page.client);
    await expect.poll(() => store.getSnapshot().status).toBe("error");
    expect(store.getSnapshot().error).toMatchObject({ code: "not-found" });
  });
});
