import { InMemoryStorage, type Storage } from "@selvedge/core/storage";
import { beforeEach, describe, expect, it } from "vitest";
import { carefulObserver, LONG, omRows, omWorld } from "../__fixtures__/om-world.ts";

const THREAD = { threadId: "t", resourceId: "ada" };

describe("the view of observational memory", () => {
  let storage: Storage;
  beforeEach(() => {
    storage = new InMemoryStorage();
  });

  it("shows both windows, the log, and which messages each chunk stands for", async () => {
    const world = omWorld({ storage });
    for (let at = 0; at < 12; at++) await world.turn(`question ${at} ${LONG}`);
    const { record, messages } = await omRows(storage);
    const view = await world.memory.observationalMemory!.inspect(THREAD);
    expect(view).toMatchObject({
      scope: "thread",
      generation: 0,
      leftOut: 0,
      models: { observer: "observer", reflector: "reflector" },
      jobs: [],
    });
    expect(view.windows.messages).toEqual({ tokens: record!.pending_tokens, threshold: 1_000 });
    expect(view.windows.observations).toEqual({ tokens: record!.log_tokens, threshold: 40_000 });
    const states = view.chunks.map(({ state }) => state);
    expect(states).toEqual(states.toSorted());
    expect(view.chunks[0]).toMatchObject({ firstMessageId: messages[0]!.id, state: "active" });
    const ends = view.chunks.map(({ lastMessageId }) => messages.findIndex(({ id }) => id === lastMessageId));
    expect(ends).toEqual(ends.toSorted((a, b) => a - b));
    await world.agent.close();
  });

  it("counts the messages of a thread that has no record yet", async () => {
    const world = omWorld({ storage, om: { observation: { messageTokens: 30_000, bufferTokens: 6_000 } } });
    await world.turn(`question ${LONG}`);
    await world.memory.observationalMemory!.clear("t");
    const { windows } = await world.memory.observationalMemory!.inspect(THREAD);
    expect(windows.messages.tokens).toBeGreaterThan(200);
    await world.agent.close();
  });

  it("shows what a reflection made of the log, and which messages it stands for", async () => {
    const world = omWorld({ storage, om: { reflection: { observationTokens: 400 } } });
    for (let at = 0; at < 40; at++) await world.turn(`question ${at} ${LONG}`);
    const om = world.memory.observationalMemory!;
    const [newest, ...older] = await om.generations(THREAD);
    const { chunks, generation } = await om.inspect(THREAD);
    expect(newest).toMatchObject({ generation: generation - 1, after: expect.stringContaining("all of it") });
    expect(newest!.beforeTokens).toBeGreaterThan(newest!.afterTokens);
    expect(older.at(-1)?.before ?? newest!.before).toContain("question 0");
    const { messages, chunks: rows } = await omRows(storage);
    const merged = rows.findLast(({ kind, state }) => kind === "observe" && state === "past")!;
    expect(chunks[0]).toMatchObject({
      kind: "reflect",
      firstMessageId: messages[0]!.id,
      lastMessageId: merged.last_id,
    });
    await world.agent.close();
  });

  it("starts failed work again when asked", async () => {
    let isDown = true;
    const world = omWorld({
      storage,
      observer: (call) => {
        if (isDown) throw Object.assign(new Error("The key is wrong."), { statusCode: 401 });
        return carefulObserver(call);
      },
    });
    await world.turn(`question ${LONG} ${LONG}`);
    const om = world.memory.observationalMemory!;
    expect((await om.inspect(THREAD)).jobs).toMatchObject([{ state: "failed", kind: "observe" }]);
    expect((await om.inspect(THREAD)).jobs[0]!.error).toContain("The key is wrong.");
    isDown = false;
    await om.retry(THREAD);
    await world.memory.settled();
    const { jobs, chunks } = await om.inspect(THREAD);
    expect(jobs).toEqual([]);
    expect(chunks.map(({ state }) => state)).toEqual(["buffered"]);
    await world.agent.close();
  });

  it("tells the subscribers of an idle thread that its log was deleted", async () => {
    const world = omWorld({ storage });
    for (let at = 0; at < 6; at++) await world.turn(`question ${at} ${LONG}`);
    const subscription = await world.agent.subscribeToThread({ threadId: "t", resourceId: "ada" });
    await world.memory.observationalMemory!.clear("t");
    for await (const chunk of subscription.stream) {
      if (chunk.type !== "data-om-status") continue;
      const { windows } = chunk.data as { windows: { active: { observations: { tokens: number } } } };
      expect(windows.active.observations.tokens).toBe(0);
      break;
    }
    expect((await world.memory.observationalMemory!.inspect(THREAD)).chunks).toEqual([]);
    await world.agent.close();
  });
});
