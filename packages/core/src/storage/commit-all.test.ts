import { describe, expect, it } from "vitest";
import { AgentError } from "../errors.ts";
import { InMemoryDriver } from "./in-memory-driver.ts";
import { type Commit, type CommitOutcome, Storage } from "./storage.ts";
import { RESOURCES } from "./tables.ts";
import { insert, update } from "./writes.ts";

/** Loses the answers to some of the calls, after doing what they asked for. */
class ForgetfulDriver extends InMemoryDriver {
  readonly losesAnswers = true;
  readonly trips: number[] = [];
  lost = 0;

  override async commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    this.trips.push(commits.length);
    const outcomes = await super.commit(commits);
    if (this.lost-- > 0) throw new AgentError("storage-failed", "The line was cut.");
    return outcomes;
  }
}

const count = (id: string): Commit => ({
  id: `count ${id}`,
  writes: [update(RESOURCES, { where: { id }, increment: { version: 1 }, require: true })],
});

async function make(): Promise<{
  driver: ForgetfulDriver;
  storage: Storage;
  versions(): Promise<unknown[]>;
}> {
  const driver = new ForgetfulDriver("forgetful");
  const storage = new Storage(driver, { id: "forgetful" });
  for (const id of ["a", "b", "c"]) await storage.commit([insert(RESOURCES, { id, version: 0 })]);
  driver.trips.length = 0;
  const versions = async () => {
    const rows = await storage.select({ table: RESOURCES, orderBy: [{ column: "id" }] });
    return rows.map(({ version }) => version);
  };
  return { driver, storage, versions };
}

describe("several commits over a line that loses answers", () => {
  it("go in one round trip, and each is told what became of it", async () => {
    const { driver, storage, versions } = await make();
    const outcomes = await storage.commitAll([count("a"), count("none"), count("c")]);
    expect(driver.trips).toEqual([3]);
    expect(outcomes).toMatchObject([
      { result: { changes: [1] } },
      { error: { code: "conflict", details: { index: 0 } } },
      { result: { changes: [1] } },
    ]);
    expect(await versions()).toEqual([1, 0, 1]);
  });

  it("take effect once when they come again after the store was tidied", async () => {
    const { storage, versions } = await make();
    await storage.commitAll([count("a")]);
    await storage.prune({ retentionMs: 0 });
    // As a process does that was paused before it heard the answer.
    await storage.commitAll([count("a")]);
    expect(await versions()).toEqual([1, 0, 0]);
  });

  it("take effect once when the answer to all of them is lost", async () => {
    const { driver, storage, versions } = await make();
    driver.lost = 1;
    const outcomes = await storage.commitAll([count("a"), count("b"), count("c")]);
    expect(outcomes.every((outcome) => "result" in outcome)).toBe(true);
    expect(driver.trips).toEqual([3, 1, 1, 1]);
    expect(await versions()).toEqual([1, 1, 1]);
  });

  it("do not wait for one whose key is busy, which keeps its place", async () => {
    const { driver, storage, versions } = await make();
    const earlier = storage.commit([update(RESOURCES, { where: { id: "b" }, set: { version: 7 } })]);
    await Promise.all([earlier, storage.commitAll([count("a"), count("b"), count("c")])]);
    expect(driver.trips).toEqual([1, 2, 1]);
    expect(await versions()).toEqual([1, 8, 1]);
  });
});
