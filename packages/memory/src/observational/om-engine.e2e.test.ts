import { MESSAGES, OM_DOMAIN, OM_JOBS, type Storage, type Write } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  ADA,
  carefulObserver,
  LONG,
  omFaults,
  omRows,
  omWorld,
  promptText,
} from "../__fixtures__/om-world.ts";
import { type Stores, STORES } from "../__fixtures__/stores.ts";

describe.each(STORES)("observational memory on %s", (_name, open) => {
  let stores: Stores;
  let storage: Storage;
  beforeEach(async () => {
    stores = await open();
    ({ storage } = stores);
  });
  afterEach(() => stores.close());

  it("turns old messages into notes that take their place in the prompt", async () => {
    const world = omWorld({ storage });
    for (let at = 0; at < 12; at++) await world.turn(`question ${at} ${LONG}`);
    expect(world.warnings).toEqual([]);
    expect(await omFaults(storage)).toEqual([]);
    const { record, chunks } = await omRows(storage);
    expect(chunks.filter(({ state }) => state === "active").length).toBeGreaterThan(1);
    expect(record!.pending_tokens).toBeLessThan(1_200);
    const prompt = world.model.calls.at(-1)!.prompt.map(promptText).join("\n");
    expect(prompt).toContain("user: question 0");
    expect(prompt).not.toContain(`question 0 ${LONG}`);
    expect(prompt).toContain(`question 11 ${LONG}`);
    await world.agent.close();
  });

  it("lets the prompt only grow at its end between two activations", async () => {
    const world = omWorld({ storage });
    for (let at = 0; at < 30; at++) await world.turn(`question ${at} ${LONG}`);
    const prompts = world.model.calls.map(({ prompt }) => prompt.map((one) => JSON.stringify(one)));
    const isLog = (one: string): boolean => JSON.parse(one).role === "system";
    let activations = 0;
    for (const [at, now] of prompts.entries()) {
      const before = prompts[at - 1] ?? [];
      const isGrown = before.every((one, index) => one === now[index]);
      if (isGrown) continue;
      activations++;
      // Only a new chunk and what comes after it differ: the chunks before it are the same, byte for byte.
      const chunks = (list: string[]): string[] =>
        list.filter((one) => isLog(one) && one.includes("<observations"));
      expect(chunks(now).slice(0, chunks(before).length)).toEqual(chunks(before));
      expect(chunks(now).length).toBeGreaterThan(chunks(before).length);
    }
    expect(activations).toBeGreaterThan(2);
    expect(activations).toBeLessThan(12);
    await world.agent.close();
  });

  it("adds no commit and one read to a step", async () => {
    const counts = async (om: boolean): Promise<{ commits: number; selects: number }> => {
      const fresh = await open();
      const { storage: counted } = fresh;
      const seen = { commits: 0, selects: 0 };
      const { commit, select, selectAll } = counted;
      counted.commit = (...args) => (seen.commits++, commit.apply(counted, args));
      counted.select = (async (...args: Parameters<typeof select>) => {
        seen.selects++;
        return select.apply(counted, args);
      }) as never;
      counted.selectAll = (async (...args: Parameters<typeof selectAll>) => {
        seen.selects++;
        return selectAll.apply(counted, args);
      }) as never;
      const look = createTool({ id: "look", description: "Looks.", execute: async () => "seen" });
      const world = omWorld({
        storage: counted,
        om: { enabled: om },
        tools: { look },
        script: ({ index }) => (index % 3 < 2 ? { toolCalls: [{ toolName: "look", input: {} }] } : "done"),
      });
      await world.agent.generate("first", { memory: ADA });
      Object.assign(seen, { commits: 0, selects: 0 });
      await world.agent.generate("second", { memory: ADA });
      const counted2 = { ...seen };
      await world.agent.close();
      await fresh.close();
      return counted2;
    };
    const without = await counts(false);
    const with_ = await counts(true);
    expect(with_.commits).toBe(without.commits);
    // Three steps: one read each, and one for the messages that a plain history reads with the thread.
    expect(with_.selects - without.selects).toBeLessThanOrEqual(4);
  });

  it("inserts the job in the commit of the step that made it due", async () => {
    const commits: Write[][] = [];
    const { commit } = storage;
    storage.commit = (writes, options) => (commits.push([...writes]), commit.call(storage, writes, options));
    const world = omWorld({ storage });
    for (let at = 0; at < 3; at++) await world.turn(`question ${at} ${LONG}`);
    const inserts = commits.filter((writes) =>
      writes.some(({ op, table }) => op === "insert" && table.name === OM_JOBS.name),
    );
    expect(inserts.length).toBeGreaterThan(0);
    for (const writes of inserts)
      expect(writes.some(({ op, table }) => op === "insert" && table.name === MESSAGES.name)).toBe(true);
    await world.agent.close();
  });

  it("observes the first part of a long run while the run goes on", async () => {
    const look = createTool({ id: "look", description: "Looks.", execute: async () => LONG });
    const world = omWorld({
      storage,
      tools: { look },
      script: ({ index }) => (index < 20 ? { toolCalls: [{ toolName: "look", input: { index } }] } : "done"),
    });
    await world.agent.generate("go", { memory: ADA, maxSteps: 30 });
    await world.memory.settled();
    expect(await omFaults(storage)).toEqual([]);
    const { chunks, messages } = await omRows(storage);
    expect(messages.length).toBeGreaterThan(3);
    expect(chunks.some(({ state }) => state === "active")).toBe(true);
    const last = world.model.calls.at(-1)!.prompt;
    expect(promptText(last.find(({ role }) => role === "user"))).toBeDefined();
    // The question stays, and no call is without its result.
    expect(last.map(promptText).join("\n")).toContain("go");
    const ids = (type: string): string[] =>
      last.flatMap(({ content }) =>
        typeof content === "string"
          ? []
          : content.flatMap((part) =>
              part.type === type ? [(part as { toolCallId: string }).toolCallId] : [],
            ),
      );
    expect(ids("tool-call").toSorted()).toEqual(ids("tool-result").toSorted());
    await world.agent.close();
  });

  it("tells its work on the stream with numbers, also when no run is under way", async () => {
    const world = omWorld({ storage });
    await world.turn(`question ${LONG} ${LONG} ${LONG}`);
    const subscription = await world.agent.subscribeToThread({
      threadId: "t",
      resourceId: "ada",
      after: 0,
    } as never);
    const seen: { type: string; seq: number }[] = [];
    for await (const chunk of subscription.stream) {
      seen.push({ type: chunk.type, seq: (chunk as unknown as { seq: number }).seq });
      if (chunk.type === "data-om-buffering-end") break;
    }
    subscription.unsubscribe?.();
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index + 1));
    const own = seen.filter(({ type }) => type.startsWith("data-om-b")).map(({ type }) => type);
    expect(own).toEqual(["data-om-buffering-start", "data-om-buffering-end"]);
    await world.agent.close();
  });

  it("observes a thread that was there before, in pieces, oldest first", async () => {
    const plain = omWorld({ storage, om: { enabled: false } });
    for (let at = 0; at < 20; at++) await plain.turn(`old ${at} ${LONG}`);
    const fresh = omWorld({ storage });
    await fresh.turn("hello");
    expect(await omFaults(storage)).toEqual([]);
    const { chunks } = await omRows(storage);
    expect(chunks.length).toBeGreaterThan(3);
    for (const { message_tokens } of chunks) expect(message_tokens).toBeLessThanOrEqual(1_000);
    await fresh.turn("and now?");
    const prompt = fresh.model.calls.at(-1)!.prompt.map(promptText).join("\n");
    expect(prompt).toContain("user: old 0");
    expect(prompt).not.toContain("not shown here");
    await fresh.agent.close();
  });

  it("answers every turn while the observer is down, and observes everything when it works again", async () => {
    let isDown = true;
    const world = omWorld({
      storage,
      observer: (call) => {
        if (isDown) throw Object.assign(new Error("overloaded"), { statusCode: 400 });
        return carefulObserver(call);
      },
    });
    let most = 0;
    for (let at = 0; at < 60; at++) {
      expect(await world.turn(`question ${at} ${LONG}`)).toContain("answer");
      const { prompt } = world.model.calls.at(-1)!;
      most = Math.max(most, prompt.map(promptText).join("").length);
    }
    expect(most).toBeLessThan(2_400 * 8);
    expect(world.model.calls.at(-1)!.prompt.map(promptText).join("\n")).toMatch(
      /\d+ older messages are not shown here/,
    );
    expect(await omFaults(storage)).toEqual([]);
    isDown = false;
    for (let at = 60; at < 66; at++) await world.turn(`question ${at} ${LONG}`);
    expect(await omFaults(storage)).toEqual([]);
    const { jobs } = await omRows(storage);
    expect(jobs.filter(({ state }) => state !== "done")).toEqual([]);
    const prompt = world.model.calls.at(-1)!.prompt.map(promptText).join("\n");
    expect(prompt).toContain("user: question 0");
    expect(prompt).not.toContain("not shown here");
    await world.agent.close();
  });

  it("replaces exactly the chunks that a reflection read", async () => {
    const world = omWorld({
      storage,
      om: { reflection: { observationTokens: 400 } },
    });
    for (let at = 0; at < 60; at++) await world.turn(`question ${at} ${LONG}`);
    expect(world.warnings).toEqual([]);
    expect(await omFaults(storage)).toEqual([]);
    const { record, chunks } = await omRows(storage);
    expect(record!.generation).toBeGreaterThan(0);
    const reflection = chunks.find(({ kind, state }) => kind === "reflect" && state === "active")!;
    for (const chunk of chunks.filter(({ kind }) => kind === "observe"))
      expect(chunk.state === "past").toBe((chunk.position ?? Infinity) <= reflection.upto!);
    const prompt = world.model.calls.at(-1)!.prompt.map(promptText).join("\n");
    expect(prompt).toContain("all of it");
    const history = await (await storage.domain(OM_DOMAIN)).getObservationalMemoryHistory("t", "ada");
    expect(history.map(({ generationCount }) => generationCount)).toEqual(
      Array.from({ length: record!.generation + 1 }, (_, at) => record!.generation - at),
    );
    await world.agent.close();
  });

  it("keeps the log as it was when a reflection is empty", async () => {
    const world = omWorld({
      storage,
      om: { reflection: { observationTokens: 400 } },
      reflector: () => "",
    });
    for (let at = 0; at < 40; at++) await world.turn(`question ${at} ${LONG}`);
    const { record, chunks } = await omRows(storage);
    expect(record!.generation).toBe(0);
    expect(chunks.every(({ state }) => state !== "past")).toBe(true);
    expect(world.warnings.length).toBeGreaterThan(0);
    expect(await omFaults(storage)).toEqual([]);
    await world.agent.close();
  });

  it("waits for the observer only without background work, and no longer than it may", async () => {
    const released = Promise.withResolvers<void>();
    const world = omWorld({
      storage,
      om: { observation: { bufferTokens: false, maxWaitMs: 100 } },
      observer: async () => {
        await released.promise;
        return "";
      },
    });
    for (let at = 0; at < 12; at++) {
      const { text } = await world.agent.generate(`question ${at} ${LONG}`, { memory: ADA });
      expect(text).toContain("answer");
    }
    released.resolve();
    await world.agent.close();
  });

  it("uses the result of an observation that it waited for", async () => {
    const world = omWorld({ storage, om: { observation: { bufferTokens: false } } });
    for (let at = 0; at < 12; at++) await world.turn(`question ${at} ${LONG}`);
    expect(await omFaults(storage)).toEqual([]);
    const { record, chunks } = await omRows(storage);
    expect(chunks.length).toBeGreaterThan(1);
    expect(record!.pending_tokens).toBeLessThan(1_300);
    await world.agent.close();
  });
});
