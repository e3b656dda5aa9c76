import type { NumberedChunk } from "@selvedge/protocol/routes";
import { serve } from "@selvedge/server/node";
import { afterEach, describe, expect, it } from "vitest";
import { cuttingProxy, type CuttingProxy } from "@selvedge/testing";
import { HERE, served, type Served } from "./__fixtures__/served-agent.ts";
import type { WireChunk } from "./chunk-stream.ts";
import { MastraClient } from "./mastra-client.ts";

const SOON = { delayMs: 1 };
const words = (count: number) => ({ text: Array.from({ length: count }, (_, index) => `word${index} `) });

const open = new Set<{ close(): Promise<void> }>();
afterEach(async () => {
  for (const each of open) await each.close();
  open.clear();
});

async function overBrokenLine(
  ...args: Parameters<typeof served>
): Promise<Served & { proxy: CuttingProxy; broken: MastraClient }> {
  const world = await served(...args);
  const proxy = await cuttingProxy(world.server.port);
  open.add({ close: () => proxy.close() }).add(world);
  const broken = new MastraClient({ baseUrl: proxy.url, backoffMs: 1, maxBackoffMs: 5, retries: 50 });
  return { ...world, proxy, broken };
}

/** Numbers that come again with the same seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

async function all(world: Served): Promise<NumberedChunk[]> {
  const subscription = await world.client.getAgent("weaver").subscribeToThread({ ...HERE, after: 0 });
  const chunks: NumberedChunk[] = [];
  const { lastSeq } = await world.client.getMemoryThread(HERE).state();
  for await (const chunk of subscription) {
    chunks.push(chunk);
    if (chunk.seq === lastSeq) break;
  }
  return chunks;
}

describe("a subscription over a line that breaks", () => {
  it.each([1, 2, 3, 4])("gives every chunk once and in order, wherever it is cut (seed %i)", async (seed) => {
    const world = await overBrokenLine(() => words(150));
    const next = random(seed);
    world.proxy.limit = () => 200 + Math.floor(next() * 6000);
    const agent = world.broken.getAgent("weaver");
    const subscription = await agent.subscribeToThread(HERE);
    const chunks: NumberedChunk[] = [];
    const done = subscription.processDataStream({
      onChunk: (chunk) => {
        chunks.push(chunk);
        if (chunks.filter(({ type }) => type === "finish").length === 3) subscription.unsubscribe();
      },
      reconnect: SOON,
    });
    for (const message of ["one", "two", "three"]) await agent.queueMessage({ message, ...HERE });
    await done;
    expect(world.proxy.cuts).toBeGreaterThan(5);
    world.proxy.limit = undefined;
    expect(chunks).toEqual(await all(world));
    expect(chunks.map(({ seq }) => seq)).toEqual(chunks.map((_, index) => index + 1));
    // And each message, though its answer may have been lost, was taken once.
    expect(world.model.calls).toHaveLength(3);
  });

  it("misses nothing that happened while it was away, even a whole run before the first chunk", async () => {
    const world = await overBrokenLine(() => words(3));
    await world.client.getAgent("weaver").generate("before", {
      memory: { thread: HERE.threadId, resource: HERE.resourceId },
    });
    const subscription = await world.broken.getAgent("weaver").subscribeToThread(HERE);
    const types: string[] = [];
    const reconnecting = Promise.withResolvers<void>();
    const done = subscription.processDataStream({
      onChunk: ({ type }) => {
        types.push(type);
        if (type === "finish") subscription.unsubscribe();
      },
      reconnect: { delayMs: 300 },
      onConnection: (state) => state === "reconnecting" && reconnecting.resolve(),
    });
    world.proxy.cutAll();
    await reconnecting.promise;
    await world.client.getAgent("weaver").generate("meanwhile", {
      memory: { thread: HERE.threadId, resource: HERE.resourceId },
    });
    await done;
    expect(types[0]).toBe("start");
    expect(types.filter((type) => type === "text-delta")).toHaveLength(3);
  });

  it("misses nothing wherever its first line is cut, even before a single chunk", async () => {
    const world = await overBrokenLine(() => words(3));
    for (let bytes = 150; bytes < 2000; bytes += 41) {
      const here = { threadId: `cut-${bytes}`, resourceId: HERE.resourceId };
      const lines = [bytes];
      world.proxy.cutAll();
      world.proxy.limit = () => lines.shift() ?? Number.POSITIVE_INFINITY;
      const subscription = await world.broken.getAgent("weaver").subscribeToThread(here);
      await world.client.getAgent("weaver").sendMessage({ message: "Hi", ...here });
      const chunks: NumberedChunk[] = [];
      const onChunk = (chunk: NumberedChunk) => {
        chunks.push(chunk);
        if (chunk.type === "finish") subscription.unsubscribe();
      };
      await subscription.processDataStream({ onChunk, reconnect: SOON });
      expect(chunks.map(({ seq }) => seq)).toEqual(chunks.map((_, index) => index + 1));
      expect(chunks.filter(({ type }) => type === "text-delta")).toHaveLength(3);
    }
  });

  it("ends with what onChunk throws, and does not come back for more", async () => {
    const world = await overBrokenLine(["Hello."]);
    const agent = world.broken.getAgent("weaver");
    const subscription = await agent.subscribeToThread(HERE);
    await agent.sendMessage({ message: "Hi", ...HERE });
    const mistake = new TypeError("not a function");
    let calls = 0;
    const onChunk = () => {
      calls++;
      throw mistake;
    };
    await expect(subscription.processDataStream({ onChunk, reconnect: true })).rejects.toBe(mistake);
    expect(calls).toBe(1);
    await expect.poll(() => world.server.server.streamCount).toBe(0);
  });

  it("ends with the line when it is not to come back", async () => {
    const world = await overBrokenLine(["Hello."]);
    const subscription = await world.broken.getAgent("weaver").subscribeToThread(HERE);
    const done = subscription.processDataStream({ onChunk: () => {} });
    world.proxy.cutAll();
    await expect(done).rejects.toMatchObject({ code: "connection-failed", retryable: true });
  });

  it("gives up after the attempts it was given", async () => {
    const world = await overBrokenLine(["Hello."]);
    const subscription = await world.broken.getAgent("weaver").subscribeToThread(HERE);
    const done = subscription.processDataStream({
      onChunk: () => {},
      reconnect: { maxRetries: 2, delayMs: 1 },
    });
    await world.proxy.close();
    await expect(done).rejects.toMatchObject({ code: "connection-failed" });
  });

  it("leaves nothing behind on the server when it is left", async () => {
    const world = await overBrokenLine(["Hello."]);
    const agent = world.client.getAgent("weaver");
    const subscriptions = await Promise.all(Array.from({ length: 5 }, () => agent.subscribeToThread(HERE)));
    expect(world.server.server.streamCount).toBe(5);
    for (const subscription of subscriptions) subscription.unsubscribe();
    await expect.poll(() => world.server.server.streamCount).toBe(0);
  });

  it("stands when the server goes and comes back", async () => {
    const world = await overBrokenLine(() => words(2));
    const agent = world.broken.getAgent("weaver");
    const subscription = await agent.subscribeToThread(HERE);
    const seen: NumberedChunk[] = [];
    const states: string[] = [];
    const done = subscription.processDataStream({
      onChunk: (chunk) => {
        seen.push(chunk);
        if (seen.filter(({ type }) => type === "finish").length === 2) subscription.unsubscribe();
      },
      reconnect: SOON,
      onConnection: (state) => states.push(state),
    });
    await agent.sendMessage({ message: "one", ...HERE });
    await expect.poll(() => seen.at(-1)?.type).toBe("finish");
    await world.server.close();
    await world.agent.sendMessage("while it was away", HERE).admitted;
    const again = await serve({ mastra: world.mastra, port: world.server.port });
    open.add(again);
    await done;
    expect(states).toEqual(["reconnecting", "live"]);
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index + 1));
  });
});

describe("the stream of a run on a thread", () => {
  it.each([5, 6, 7])("is whole, however often its line is cut (seed %i)", async (seed) => {
    const world = await overBrokenLine(() => words(200));
    const next = random(seed);
    const memory = { thread: HERE.threadId, resource: HERE.resourceId };
    // The first answer's head must come through: a call of its own cannot be repeated.
    world.proxy.limit = () => 1000 + Math.floor(next() * 4000);
    const stream = await world.broken.getAgent("weaver").stream("Tell", { memory });
    const chunks: WireChunk[] = [];
    await stream.processDataStream({ onChunk: (chunk) => void chunks.push(chunk), reconnect: SOON });
    world.proxy.limit = undefined;
    expect(world.proxy.cuts).toBeGreaterThan(2);
    expect(chunks).toEqual(await all(world));
    expect(world.model.calls).toHaveLength(1);
  });

  it("is whole or was refused, wherever its first line is cut", async () => {
    const world = await overBrokenLine(() => words(5));
    let whole = 0;
    for (let bytes = 1; bytes < 1200; bytes += 37) {
      const lines = [bytes];
      world.proxy.cutAll();
      world.proxy.limit = () => lines.shift() ?? Number.POSITIVE_INFINITY;
      const memory = { thread: `cut-${bytes}`, resource: HERE.resourceId };
      const types: string[] = [];
      try {
        const stream = await world.broken.getAgent("weaver").stream("Tell", { memory });
        await stream.processDataStream({ onChunk: ({ type }) => void types.push(type), reconnect: SOON });
        whole++;
      } catch (error) {
        expect([error, types]).toMatchObject([{ code: "connection-failed" }, []]);
        continue;
      }
      expect(types.filter((type) => type === "text-delta")).toHaveLength(5);
      expect([types[0], types.at(-1)]).toEqual(["start", "finish"]);
    }
    expect(whole).toBeGreaterThan(10);
  });

  it("throws when a run without a thread is cut: nobody can take it up again", async () => {
    const world = await overBrokenLine(() => words(200));
    world.proxy.limit = () => 2000;
    const stream = await world.broken.getAgent("weaver").stream("Tell");
    await expect(stream.processDataStream({ onChunk: () => {} })).rejects.toMatchObject({
      code: "connection-failed",
    });
  });
});
