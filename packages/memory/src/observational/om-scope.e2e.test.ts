import { OM_CHUNKS, OM_DOMAIN, OM_EVENTS, OM_JOBS, OM_RECORDS, type Storage } from "@selvedge/core/storage";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ADA, LONG, omFaults, omRows, omWorld, promptText } from "../__fixtures__/om-world.ts";
import { type Stores, STORES } from "../__fixtures__/stores.ts";

const FIRST = { thread: "first", resource: "ada" };
const SECOND = { thread: "second", resource: "ada" };
const BOB = { thread: "bob", resource: "bob" };
const KEY = "\tresource ada";

describe.each(STORES)("the scope of observational memory on %s", (_name, open) => {
  let stores: Stores;
  let storage: Storage;
  beforeEach(async () => {
    stores = await open();
    ({ storage } = stores);
  });
  afterEach(() => stores.close());

  const lastPrompt = (world: ReturnType<typeof omWorld>): string =>
    world.model.calls.at(-1)!.prompt.map(promptText).join("\n");

  it("shares the log among the threads of a resource, and with nobody else", async () => {
    const world = omWorld({ storage, om: { scope: "resource" } });
    for (let at = 0; at < 8; at++) {
      await world.turn(`apples ${at} ${LONG}`, FIRST);
      await world.turn(`pears ${at} ${LONG}`, SECOND);
    }
    expect(world.warnings).toEqual([]);
    await world.turn("hello", FIRST);
    expect(lastPrompt(world)).toContain("user: apples 0");
    expect(lastPrompt(world)).toContain("user: pears 0");
    await world.turn("hello", BOB);
    expect(lastPrompt(world)).not.toMatch(/apples|pears/);
    const chunks = await storage.select({ table: OM_CHUNKS, where: { thread_id: KEY } });
    for (const source of ["first", "second"]) {
      const own = chunks.filter((chunk) => chunk.source === source).toSorted((a, b) => a.number - b.number);
      expect(own.length).toBeGreaterThan(1);
      for (const [at, chunk] of own.entries())
        if (at > 0) expect(chunk.first_seq).toBeGreaterThan(own[at - 1]!.last_seq);
    }
    const rows = await storage.select({ table: OM_RECORDS, where: { thread_id: KEY } });
    const log = chunks.filter(({ state }) => state === "active").reduce((sum, one) => sum + one.tokens, 0);
    expect(rows.find(({ source }) => source === "")!.log_tokens).toBe(log);
    await world.agent.close();
  });

  it("shows what another thread said last at the end of the prompt, not before the log", async () => {
    const world = omWorld({ storage, om: { scope: "resource" } });
    await world.turn("I bought a red bicycle.", FIRST);
    await world.turn("What did I buy?", SECOND);
    const { prompt } = world.model.calls.at(-1)!;
    const texts = prompt.map(promptText);
    const at = texts.findIndex((text) => text.includes("red bicycle"));
    expect(texts[at]).toContain('Conversation "first":');
    expect(prompt[at]!.role).not.toBe("system");
    expect(at).toBe(prompt.length - 2);
    await world.agent.close();
  });

  it.each(["thread", "resource"] as const)(
    "splits the messages of one job by maxTokensPerBatch in resource scope only: %s",
    async (scope) => {
      const observation = { bufferTokens: 600, maxTokensPerBatch: 300 };
      const world = omWorld({ storage, om: { scope, observation } });
      for (let at = 0; at < 4; at++) await world.turn(`apples ${at} ${LONG}`, FIRST);
      const sizes = (await storage.select({ table: OM_CHUNKS })).map(({ message_tokens }) => message_tokens);
      expect(Math.max(...sizes) <= 300).toBe(scope === "resource");
      expect(sizes.reduce((sum, one) => sum + one, 0)).toBeGreaterThan(500);
      await world.agent.close();
    },
  );

  it("takes a deleted thread out of the shared log", async () => {
    const world = omWorld({ storage, om: { scope: "resource" } });
    for (let at = 0; at < 8; at++) {
      await world.turn(`apples ${at} ${LONG}`, FIRST);
      await world.turn(`pears ${at} ${LONG}`, SECOND);
    }
    await world.memory.deleteThread("first");
    await world.turn("hello", SECOND);
    expect(lastPrompt(world)).not.toContain("apples");
    expect(lastPrompt(world)).toContain("user: pears 0");
    const [record] = await storage.select({ table: OM_RECORDS, where: { thread_id: KEY, source: "" } });
    const chunks = await storage.select({ table: OM_CHUNKS, where: { thread_id: KEY, state: "active" } });
    expect(record!.log_tokens).toBe(chunks.reduce((sum, one) => sum + one.tokens, 0));
    await world.agent.close();
  });

  it("leaves nothing of a deleted thread", async () => {
    const world = omWorld({ storage });
    for (let at = 0; at < 8; at++) await world.turn(`question ${at} ${LONG}`);
    await world.memory.deleteThread("t");
    for (const table of [OM_RECORDS, OM_CHUNKS, OM_JOBS, OM_EVENTS])
      expect(await storage.count({ table, where: { thread_id: "t" } } as never)).toBe(0);
    await world.agent.close();
  });

  it("copies the log with a thread, and goes on from there in both", async () => {
    const world = omWorld({ storage });
    for (let at = 0; at < 9; at++) await world.turn(`question ${at} ${LONG}`);
    await world.memory.cloneThread({ sourceThreadId: "t", newThreadId: "copy" });
    const source = await omRows(storage);
    const observed = world.observer.calls.length;
    for (let at = 9; at < 14; at++) {
      await world.turn(`question ${at} ${LONG}`);
      await world.turn(`other ${at} ${LONG}`, { thread: "copy", resource: "ada" });
    }
    expect(await omFaults(storage)).toEqual([]);
    expect(await omFaults(storage, "copy")).toEqual([]);
    const copy = await omRows(storage, "copy");
    expect(copy.chunks.slice(0, source.chunks.length).map(({ text }) => text)).toEqual(
      source.chunks.map(({ text }) => text),
    );
    const ids = new Set(copy.messages.map(({ id }) => id));
    for (const { first_id, last_id } of copy.chunks)
      expect([ids.has(first_id!), ids.has(last_id!)]).toEqual([true, true]);
    // What the source had noted is not noted again.
    expect(world.observer.calls.length - observed).toBeLessThan(14);
    expect(lastPrompt(world)).toContain("user: question 0");
    await world.agent.close();
  });

  it("gives another resource only the notes of the copied thread itself", async () => {
    const world = omWorld({ storage, om: { scope: "resource" } });
    for (let at = 0; at < 8; at++) {
      await world.turn(`apples ${at} ${LONG}`, FIRST);
      await world.turn(`pears ${at} ${LONG}`, SECOND);
      await world.turn(`plums ${at} ${LONG}`, BOB);
    }
    await world.memory.cloneThread({
      sourceThreadId: "first",
      sourceResourceId: "ada",
      newThreadId: "copy",
      resourceId: "bob",
    });
    await world.turn("hello", { thread: "copy", resource: "bob" });
    expect(lastPrompt(world)).toContain("user: apples 0");
    expect(lastPrompt(world)).toContain("user: plums 0");
    expect(lastPrompt(world)).not.toContain("pears");
    for (let at = 0; at < 8; at++)
      await world.turn(`cherries ${at} ${LONG}`, { thread: "copy", resource: "bob" });
    expect(lastPrompt(world)).toContain("user: cherries 0");
    expect(world.warnings).toEqual([]);
    const key = { thread_id: "\tresource bob" };
    const [record] = await storage.select({ table: OM_RECORDS, where: { ...key, source: "" } });
    const log = await storage.select({ table: OM_CHUNKS, where: { ...key, state: "active" } });
    expect(record!.log_tokens).toBe(log.reduce((sum, chunk) => sum + chunk.tokens, 0));
    await world.agent.close();
  });

  it("gives another resource nothing that was reflected together with other threads", async () => {
    const world = omWorld({
      storage,
      om: { scope: "resource", reflection: { observationTokens: 60 } },
      reflector: () => "<observations>\n* 🔴 apples and pears\n</observations>",
    });
    for (let at = 0; at < 10; at++) {
      await world.turn(`apples ${at} ${LONG}`, FIRST);
      await world.turn(`pears ${at} ${LONG}`, SECOND);
    }
    expect(lastPrompt(world)).toContain("apples and pears");
    const to = { newThreadId: "copy", resourceId: "bob" };
    await world.memory.cloneThread({ sourceThreadId: "first", sourceResourceId: "ada", ...to });
    await world.turn("hello", { thread: "copy", resource: "bob" });
    expect(lastPrompt(world)).not.toContain("pears");
    await world.agent.close();
  });

  it("shows the log to a run that only reads, and observes nothing of it", async () => {
    const world = omWorld({ storage });
    for (let at = 0; at < 8; at++) await world.turn(`question ${at} ${LONG}`);
    const before = await omRows(storage);
    const memory = { ...ADA, readOnly: true };
    await world.agent.generate(`read ${LONG} ${LONG} ${LONG} ${LONG}`, { memory });
    await world.memory.settled();
    expect(lastPrompt(world)).toContain("user: question 0");
    expect(await omRows(storage)).toEqual(before);
    await world.agent.close();
  });

  it("leaves the history alone in a call that switches it off", async () => {
    const world = omWorld({ storage });
    for (let at = 0; at < 8; at++) await world.turn(`question ${at} ${LONG}`);
    const memory = { ...ADA, options: { observationalMemory: false, lastMessages: 2 } };
    await world.agent.generate("plain", { memory });
    expect(lastPrompt(world)).not.toContain("<observations");
    // The next run finds that messages came without it, and counts them.
    await world.turn("again");
    expect(await omFaults(storage)).toEqual([]);
    await expect(
      world.agent.generate("no", {
        memory: { ...ADA, options: { observationalMemory: { observation: { messageTokens: 5 } } } },
      }),
    ).rejects.toMatchObject({ code: "invalid-argument" });
    await world.agent.close();
  });

  it.each(["thread", "resource"] as const)(
    "observes a chunk again without the messages that were deleted, in %s scope",
    async (scope) => {
      const world = omWorld({ storage, om: { scope } });
      for (let at = 0; at < 8; at++) await world.turn(`question ${at} ${LONG}`);
      expect(lastPrompt(world)).toContain("user: question 0");
      const { messages } = await omRows(storage);
      await world.memory.deleteMessages([messages[0]!.id]);
      await world.memory.settled();
      await world.turn("hello");
      expect(lastPrompt(world)).not.toContain("question 0");
      expect(lastPrompt(world)).toContain("user: question 1");
      const key = { thread_id: scope === "thread" ? "t" : KEY };
      const [record] = await storage.select({ table: OM_RECORDS, where: { ...key, source: "" } });
      const log = await storage.select({ table: OM_CHUNKS, where: { ...key, state: "active" } });
      expect(record!.log_tokens).toBe(log.reduce((sum, chunk) => sum + chunk.tokens, 0));
      expect(await storage.count({ table: OM_JOBS, where: { ...key, kind: "renew" } })).toBe(0);
      expect(world.warnings).toEqual([]);
      await world.agent.close();
    },
  );

  it("forgets a chunk whose messages were all deleted, and asks no model", async () => {
    const world = omWorld({ storage });
    for (let at = 0; at < 8; at++) await world.turn(`question ${at} ${LONG}`);
    const { chunks, messages } = await omRows(storage);
    const covered = messages.filter(({ seq }) => seq <= chunks[0]!.last_seq);
    const calls = world.observer.calls.length;
    await world.memory.deleteMessages(covered.map(({ id }) => id));
    await world.memory.settled();
    expect(world.observer.calls).toHaveLength(calls);
    expect((await omRows(storage)).chunks[0]).toMatchObject({ text: "", tokens: 0, message_count: 0 });
    await world.agent.close();
  });

  it("counts anew what an app added or deleted", async () => {
    const world = omWorld({ storage });
    for (let at = 0; at < 3; at++) await world.turn(`question ${at} ${LONG}`);
    const { messages } = await omRows(storage);
    await world.memory.deleteMessages([messages.at(-1)!.id]);
    await world.memory.saveMessages({
      messages: [{ id: "added", threadId: "t", role: "user", content: `by hand ${LONG}` }] as never,
    });
    for (let at = 3; at < 8; at++) await world.turn(`question ${at} ${LONG}`);
    const { record, messages: all } = await omRows(storage);
    const pending = all.filter(({ seq }) => seq > record!.cursor_seq);
    expect(record!.pending_count).toBe(pending.length);
    expect(record!.pending_tokens).toBe(pending.reduce((sum, one) => sum + one.tokens, 0));
    await world.agent.close();
  });

  it("counts a message anew that an app replaced", async () => {
    const world = omWorld({ storage });
    await world.turn("short");
    const { messages } = await world.memory.recall({ threadId: "t", perPage: 10, raw: true });
    const [first] = messages;
    const parts = [{ type: "text" as const, text: LONG }];
    await world.memory.saveMessages({
      messages: [{ ...first!, threadId: "t", content: { format: 2, parts } }],
    });
    await world.turn("another");
    expect(await omFaults(storage)).toEqual([]);
    await world.agent.close();
  });

  it("does by hand what runs do by themselves", async () => {
    const world = omWorld({ storage, om: { observation: { messageTokens: 20_000, bufferTokens: 15_000 } } });
    for (let at = 0; at < 4; at++) await world.turn(`question ${at} ${LONG}`);
    const om = world.memory.observationalMemory!;
    const thread = { threadId: "t", resourceId: "ada" };
    expect(await om.getObservations("t", "ada")).toBe("");
    expect((await om.loadUnobservedMessages(thread)).length).toBe(8);
    expect(await om.observe(thread)).toBe(true);
    expect(await om.getObservations("t", "ada")).toContain("question 0");
    expect(await om.loadUnobservedMessages(thread)).toEqual([]);
    expect(await om.waitForBuffering("t", "ada")).toBe(true);
    expect(await om.reflect(thread)).toBe(true);
    expect(await om.getObservations("t", "ada")).toBe("* 🔴 all of it");
    expect(await om.getHistory("t", "ada")).toMatchObject([{ generationCount: 1 }, { generationCount: 0 }]);
    const context = await world.memory.getContext(thread);
    expect(context).toMatchObject({ hasObservations: true, omRecord: { generationCount: 1 } });
    expect(context.systemMessage).toContain("all of it");
    expect(await omFaults(storage)).toEqual([]);
    await world.turn("goes on");
    expect(lastPrompt(world)).toContain("all of it");
    expect(await omFaults(storage)).toEqual([]);
    await om.clear("t", "ada");
    expect(await om.getRecord("t", "ada")).toBeNull();
    await world.turn("and on");
    expect(await omFaults(storage)).toEqual([]);
    await world.agent.close();
  });

  it("takes thresholds of one record", async () => {
    const world = omWorld({ storage });
    await world.turn(`question ${LONG}`);
    const config = { observation: { messageTokens: 400 } };
    const record = await world.memory.updateObservationalMemoryConfig({ threadId: "t", config });
    expect(record.config).toEqual(config);
    for (let at = 0; at < 4; at++) await world.turn(`question ${at} ${LONG}`);
    expect((await omRows(storage)).record!.pending_tokens).toBeLessThan(500);
    await expect(
      world.memory.updateObservationalMemoryConfig({
        threadId: "t",
        config: { observation: { messageTokens: -1 } },
      }),
    ).rejects.toMatchObject({ code: "invalid-argument" });
    const stored = await (await storage.domain(OM_DOMAIN)).getObservationalMemory("t", "ada");
    expect(stored).toMatchObject({ scope: "thread", threadId: "t", resourceId: "ada", isObserving: false });
    expect(await (await storage.getStore("memory"))!.getObservationalMemory("t", "bob")).toBeNull();
    await world.agent.close();
  });
});
