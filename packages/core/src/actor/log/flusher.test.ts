import { virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { AgentError } from "../../errors.ts";
import { InMemoryDriver } from "../../storage/in-memory-driver.ts";
import { type Commit, type CommitOutcome, Storage } from "../../storage/storage.ts";
import { RESOURCES } from "../../storage/tables.ts";
import type { System } from "../../system.ts";
import { insert } from "../../storage/writes.ts";
import { Flusher } from "./flusher.ts";

/** A store that shows which commits came in one round trip. */
class SeenDriver extends InMemoryDriver {
  readonly flushMs = 20;
  readonly trips: number[] = [];

  override commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    this.trips.push(commits.length);
    return super.commit(commits);
  }
}

function make() {
  const driver = new SeenDriver("seen");
  const system = virtualSystem();
  const storage = new Storage(driver, { id: "seen", system });
  const flusher = Flusher.of(storage, system);
  const add = (id: string) => flusher.commit({ key: id, writes: [insert(RESOURCES, { id })] });
  return { driver, system, storage, flusher, add };
}

const LONG_AGO = Number.NEGATIVE_INFINITY;

describe("chunks of many threads", () => {
  it("share a round trip when they are due at the same moment", async () => {
    const { driver, system, flusher, add } = make();
    await system.advance(100);
    // Flushed at different moments, and due with the next beat all the same.
    for (const [index, flushedAt] of [85, 92, 99].entries())
      flusher.whenDue(flushedAt, () => void add(`r${index}`));
    await system.advance(19);
    expect(driver.trips).toEqual([]);
    await system.advance(1);
    expect(driver.trips).toEqual([3]);
  });

  it("go out at once after a pause, with what comes in the same turn, whatever others wait for", async () => {
    const { driver, system, flusher, add } = make();
    await system.advance(105);
    flusher.whenDue(104, () => void add("waits"));
    flusher.whenDue(LONG_AGO, () => void add("first"));
    flusher.whenDue(80, () => void add("second"));
    await system.advance(0);
    expect(driver.trips).toEqual([2]);
    await system.advance(15);
    expect(driver.trips).toEqual([2, 1]);
  });

  it("go out less often while the store is slow, and as before when it is quick again", async () => {
    const { driver, system, flusher, add } = make();
    const nextAfter = async (): Promise<number> => {
      const from = system.monotonic();
      const trips = driver.trips.length;
      flusher.whenDue(from, () => void add(String(from)));
      while (driver.trips.length === trips) await system.advance(1);
      return system.monotonic() - from;
    };
    const commit = driver.commit.bind(driver);
    driver.commit = async (commits) => {
      const outcomes = await commit(commits);
      await new Promise<void>((resolve) => void system.setTimer(300, resolve));
      return outcomes;
    };
    expect(await nextAfter()).toBeLessThanOrEqual(20);
    for (let round = 0; round < 10; round++) {
      void add(`slow ${round}`);
      await system.advance(300);
    }
    const slow = [await nextAfter(), await nextAfter()];
    // A beat lies within its interval; two in a row are one apart.
    expect(slow[1]).toBeGreaterThan(300);
    expect(slow[1]).toBeLessThanOrEqual(1_000);
    driver.commit = commit;
    await system.advance(1_000);
    for (let round = 0; round < 20; round++) await add(`quick ${round}`);
    expect(await nextAfter()).toBeLessThanOrEqual(20);
  });

  it("go out less often while the process is late with them, and as before when it keeps up again", async () => {
    const { driver, system } = make();
    let lateMs = 100;
    // Timers fire late, as they do while other work blocks the event loop.
    const busy: System = {
      now: () => system.now(),
      monotonic: () => system.monotonic(),
      setTimer: (ms, fire) => system.setTimer(ms + lateMs, fire),
      newId: () => system.newId(),
      random: () => system.random(),
    };
    const flusher = Flusher.of(new Storage(driver, { id: "busy", system: busy }), busy);
    const flush = (): void => {
      void flusher.commit({ key: "r", writes: [insert(RESOURCES, { id: "r" }, "update")] });
      flusher.whenDue(busy.monotonic(), flush);
    };
    flush();
    const flushesIn = async (ms: number): Promise<number> => {
      const before = driver.trips.length;
      await system.advance(ms);
      return driver.trips.length - before;
    };
    await flushesIn(10_000);
    expect(await flushesIn(10_000)).toBeLessThan(10_000 / 300);
    lateMs = 0;
    await flushesIn(10_000);
    expect(await flushesIn(10_000)).toBe(10_000 / 20);
  });

  it("have their own outcome", async () => {
    const { driver, add } = make();
    const outcomes = await Promise.allSettled([add("a"), add("b"), add("a"), add("c")]);
    expect(driver.trips).toEqual([4]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(outcomes[2]).toMatchObject({ reason: { code: "conflict" } });
  });

  it("all learn that the store failed", async () => {
    const { driver, add } = make();
    driver.commit = () => Promise.reject(new AgentError("storage-closed", "closed"));
    for (const outcome of await Promise.allSettled([add("a"), add("b")]))
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "storage-closed" } });
  });

  it("are dropped without a timer when nobody needs them", async () => {
    const { driver, system, flusher, add } = make();
    const [one, two] = [flusher.whenDue(LONG_AGO, () => add("a")), flusher.whenDue(LONG_AGO, () => add("b"))];
    one();
    expect(system.pending).toBe(1);
    two();
    expect(system.pending).toBe(0);
    flusher.whenDue(LONG_AGO, () => void add("c"));
    await system.advance(0);
    expect(driver.trips).toEqual([1]);
  });
});
