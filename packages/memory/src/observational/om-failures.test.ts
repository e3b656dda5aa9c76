import { sleep } from "@selvedge/core/memory";
import { InMemoryStorage, type Storage, type Table, TABLES } from "@selvedge/core/storage";
import { type VirtualSystem, virtualSystem } from "@selvedge/testing";
import { beforeEach, describe, expect, it } from "vitest";
import {
  ADA,
  carefulObserver,
  LONG,
  omFaults,
  omRows,
  omWorld,
  promptText,
} from "../__fixtures__/om-world.ts";

let system: VirtualSystem;
let storage: Storage;

beforeEach(() => {
  system = virtualSystem();
  storage = new InMemoryStorage({ system });
});

const failure = (statusCode: number, message = "no"): Error =>
  Object.assign(new Error(message), { statusCode });

/** The chunks about the memory's work, in order. */
async function told(): Promise<string[]> {
  const table = TABLES.find(({ name }) => name === "selvedge_events") as Table;
  const rows = await storage.select({ table, where: { thread_id: "t" }, orderBy: [{ column: "first" }] });
  return rows
    .flatMap((row) => row["chunks"] as unknown as { type: string }[])
    .flatMap(({ type }) => (/^data-om-(?!status)/.test(type) ? [type.slice("data-om-".length)] : []));
}

describe("an observation that fails", () => {
  it("is tried again after 1, 2 and 4 seconds, by whoever is there then", async () => {
    let calls = 0;
    const world = omWorld({
      storage,
      system,
      observer: (call) => {
        if (++calls <= 3) throw failure(503);
        return carefulObserver(call);
      },
    });
    await system.until(world.agent.generate(`question ${LONG} ${LONG}`, { memory: ADA }));
    await system.settle();
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 3; attempt++) {
      const [job] = (await omRows(storage)).jobs;
      expect(job).toMatchObject({ state: "waiting", attempt, owner: null });
      expect(job!.last_error).toContain("status 503");
      waits.push(job!.due_at - system.now());
      await system.advance(waits.at(-1)! + 1);
    }
    expect(waits.map((ms) => Math.round(ms / 1_000))).toEqual([1, 2, 4]);
    const { chunks, jobs } = await omRows(storage);
    expect(chunks.length).toBe(1);
    expect(jobs.map(({ state }) => state)).toEqual(["done"]);
    // Each attempt is a cycle of its own.
    expect(await told()).toEqual([
      ...Array.from({ length: 3 }, () => ["buffering-start", "buffering-failed"]).flat(),
      "buffering-start",
      "buffering-end",
    ]);
    expect(world.warnings.length).toBe(3);
    expect(await omFaults(storage)).toEqual([]);
  });

  it("is given up after 8 retries, and tried again when the next interval is due", async () => {
    let isDown = true;
    const world = omWorld({
      storage,
      system,
      observer: (call) => {
        if (isDown) throw failure(500);
        return carefulObserver(call);
      },
    });
    await system.until(world.agent.generate(`question ${LONG} ${LONG}`, { memory: ADA }));
    await system.advance(1_000_000);
    expect((await omRows(storage)).jobs).toMatchObject([{ state: "failed", attempt: 9 }]);
    expect(world.observer.calls.length).toBe(9);
    isDown = false;
    await system.until(world.agent.generate(`again ${LONG} ${LONG}`, { memory: ADA }));
    await system.until(world.memory.settled());
    const { jobs, chunks } = await omRows(storage);
    expect(jobs.every(({ state }) => state === "done")).toBe(true);
    // Both intervals in one.
    expect(chunks.map(({ message_count }) => message_count)).toEqual([4]);
    expect(await omFaults(storage)).toEqual([]);
  });

  it("fails at once when the provider refuses it", async () => {
    const world = omWorld({
      storage,
      system,
      observer: () => {
        throw failure(401, "no key");
      },
    });
    await system.until(world.agent.generate(`question ${LONG} ${LONG}`, { memory: ADA }));
    await system.advance(600_000);
    expect(world.observer.calls.length).toBe(1);
    expect((await omRows(storage)).jobs).toMatchObject([{ state: "failed" }]);
  });

  it("covers half as much when the conversation is too long for the model", async () => {
    const lengths: number[] = [];
    const world = omWorld({
      storage,
      system,
      om: { observation: { bufferTokens: 900 } },
      observer: (call) => {
        const { length } = promptText(call.prompt.at(-1));
        lengths.push(length);
        if (length > 1_600) throw failure(400, "This model's maximum context length is 300 tokens");
        return carefulObserver(call);
      },
    });
    for (let at = 0; at < 5; at++)
      await system.until(world.agent.generate(`question ${at} ${LONG}`, { memory: ADA }));
    await system.until(world.memory.settled());
    await system.advance(10_000);
    const { chunks, jobs } = await omRows(storage);
    expect(chunks.length).toBeGreaterThan(1);
    expect(jobs.every(({ state }) => state === "done")).toBe(true);
    expect(await omFaults(storage)).toEqual([]);
  });

  it("asks once more for an answer that is empty, and leaves the log as it was", async () => {
    const world = omWorld({ storage, system, observer: () => "I would rather not." });
    await system.until(world.agent.generate(`question ${LONG} ${LONG}`, { memory: ADA }));
    await system.advance(600_000);
    expect(world.observer.calls.length).toBe(2);
    const { jobs, chunks } = await omRows(storage);
    expect(jobs).toMatchObject([{ state: "failed" }]);
    expect(chunks).toEqual([]);
  });
});

describe("an observer that is slow", () => {
  it("delays no turn while there is room", async () => {
    const world = omWorld({
      storage,
      system,
      observer: async (call) => {
        await sleep(system, 60_000);
        return carefulObserver(call);
      },
    });
    for (let at = 0; at < 4; at++) {
      // The clock stands still: a turn that waited for anything would never end.
      const { text } = await world.agent.generate(`question ${at} ${LONG}`, { memory: ADA });
      expect(text).toContain("answer");
    }
    await system.advance(200_000);
    expect((await omRows(storage)).chunks.length).toBeGreaterThan(1);
    expect(await omFaults(storage)).toEqual([]);
  });

  it("is waited for above blockAfter, and no longer than maxWaitMs", async () => {
    const world = omWorld({
      storage,
      system,
      om: { observation: { maxWaitMs: 5_000 } },
      observer: async () => {
        await sleep(system, 60_000);
        return "";
      },
    });
    let waited = 0;
    for (let at = 0; at < 8; at++) {
      const before = system.monotonic();
      await system.until(world.agent.generate(`question ${at} ${LONG}`, { memory: ADA }));
      const ms = system.monotonic() - before;
      if (ms >= 4_000) waited++;
      expect(ms).toBeLessThan(6_000);
    }
    expect(waited).toBeGreaterThan(0);
  });

  it("is not waited for once the run is aborted", async () => {
    const world = omWorld({
      storage,
      system,
      om: { observation: { bufferTokens: false } },
      observer: async () => {
        await sleep(system, 60_000);
        return "";
      },
    });
    const controller = new AbortController();
    const input = Array.from({ length: 12 }, () => LONG).join(" ");
    const run = world.agent.generate(input, { memory: ADA, abortSignal: controller.signal });
    await system.advance(1_000);
    expect(world.model.calls.length).toBe(0);
    controller.abort();
    await system.settle();
    await run.catch(() => {});
    expect(system.monotonic()).toBeLessThan(2_000);
    expect(world.model.calls.length).toBe(0);
  });
});

it("answers 500 turns while the observer is down, in a window that stays bounded", async () => {
  let isDown = true;
  const world = omWorld({
    storage,
    system,
    observer: (call) => {
      if (isDown) throw failure(503);
      return carefulObserver(call);
    },
  });
  let most = 0;
  for (let at = 0; at < 500; at++) {
    await system.until(world.agent.generate(`question ${at} ${LONG}`, { memory: ADA }));
    most = Math.max(most, world.model.calls.at(-1)!.prompt.map(promptText).join("").length);
  }
  expect(world.model.calls.length).toBe(500);
  expect(most).toBeLessThan(2_300 * 5 + 4_000);
  isDown = false;
  await system.until(world.agent.generate(`back ${LONG} ${LONG}`, { memory: ADA }));
  await system.advance(300_000);
  await system.until(world.memory.settled());
  await system.until(world.agent.generate("all there?", { memory: ADA }));
  expect(await omFaults(storage)).toEqual([]);
  const { jobs, record } = await omRows(storage);
  expect(jobs.filter(({ state }) => state !== "done")).toEqual([]);
  expect(record!.pending_tokens).toBeLessThan(1_300);
  const prompt = world.model.calls.at(-1)!.prompt.map(promptText).join("\n");
  for (const at of [0, 250, 499]) expect(prompt).toContain(`user: question ${at} `);
});
