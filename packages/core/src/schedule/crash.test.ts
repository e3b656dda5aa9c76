import { virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { Mortal } from "../storage/__fixtures__/mortal.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { heard, HOUR, HOURLY, MINUTE, scheduled, THREAD } from "./__fixtures__/scheduled.ts";

/** One process fires a schedule until it dies at its nth commit; another opens the same store and carries on. */
async function crashAt(commit: number, after: boolean) {
  const system = virtualSystem();
  const shared = new InMemoryStorage({ system });
  const { mastra: maker } = await scheduled({
    system,
    storage: shared,
    config: { threads: { recover: false } },
  });
  const { id } = await maker.schedules.create({
    agentId: "reporter",
    prompt: "Report.",
    ...THREAD,
    cron: HOURLY,
    // Nothing but the fire is under test.
    ifIdle: { behavior: "persist" },
  });
  const dead = new Set<string>();
  const first = new Mortal(shared, "first", dead, system, commit, after);
  const { mastra } = await scheduled({ system, storage: first });
  void mastra.start();
  await system.advance(6 * MINUTE);
  const died = first.dead;
  dead.add("first");
  const second = new Mortal(shared, "second", dead, system, Number.POSITIVE_INFINITY, after);
  const other = await scheduled({ system, storage: second });
  await system.until(other.mastra.start());
  await system.advance(HOUR);
  const triggers = await other.mastra.schedules.listTriggers(id);
  return { died, triggers, heard: await heard(shared) };
}

describe("a process that dies at any commit while it fires a schedule", () => {
  it.each([
    ["before", false],
    ["right after", true],
  ])("%s it took effect leaves each time fired and recorded once", async (_, after) => {
    let points = 0;
    for (let commit = 0; ; commit++) {
      const { died, triggers, heard: signals } = await crashAt(commit, after);
      const place = `commit ${commit} ${after ? "after" : "before"}`;
      expect(signals, place).toHaveLength(2);
      const times = triggers.map(({ scheduledFireAt }) => scheduledFireAt);
      expect(times[0]! - times[1]!, place).toBe(HOUR);
      expect(
        triggers.map(({ outcome }) => outcome),
        place,
      ).toEqual(["persisted", "persisted"]);
      if (!died) break;
      points++;
    }
    // The effect, and the record of the fire.
    expect(points).toBeGreaterThanOrEqual(2);
  });
});
