import { Agent } from "@selvedge/core/agent";
import { describe, expect, it } from "vitest";
import { scriptedModel } from "./scripted-model.ts";
import { VirtualClock } from "./virtual-clock.ts";
import { virtualSystem } from "./virtual-system.ts";

describe("a virtual system", () => {
  it("lets an agent wait for a minute in no time", async () => {
    const system = virtualSystem();
    const model = scriptedModel([{ hang: true }]);
    const agent = new Agent({ name: "Patient", instructions: "Wait.", model, system });
    const answer = agent.generate("Hello", { limits: { totalMs: 60_000, firstChunkMs: 0 }, maxRetries: 0 });
    const refused = expect(answer).rejects.toThrow("limits.totalMs");
    await system.advance(59_999);
    expect(system.pending).toBeGreaterThan(0);
    await system.advance(1);
    await refused;
  });

  it("fires timers in the order of their times, also those that timers set", async () => {
    const system = virtualSystem();
    const fired: string[] = [];
    const note = (name: string) => () => void fired.push(`${name} ${system.monotonic()}`);
    system.setTimer(20, note("late"));
    system.setTimer(10, () => {
      note("early")();
      system.setTimer(5, note("between"));
    });
    const cancel = system.setTimer(15, note("cancelled"));
    cancel();
    await system.advance(100);
    expect(fired).toEqual(["early 10", "between 15", "late 20"]);
    expect(system.monotonic()).toBe(100);
    expect(system.pending).toBe(0);
  });

  it("moves only as far as a promise needs", async () => {
    const system = virtualSystem();
    system.setTimer(500, () => expect.fail("Nothing waits for this"));
    const value = await system.until(new Promise((resolve) => system.setTimer(200, () => resolve("done"))));
    expect([value, system.monotonic()]).toEqual(["done", 200]);
  });

  it("has a wall clock that can be set without moving time", () => {
    const system = virtualSystem();
    const before = system.now();
    system.clockOffset = -3_600_000;
    expect([before - system.now(), system.monotonic()]).toEqual([3_600_000, 0]);
  });

  it("shares its time with systems on the same clock, and gives ids of its own", async () => {
    const clock = new VirtualClock();
    const [one, two] = [virtualSystem({ clock, name: "one" }), virtualSystem({ clock, name: "two" })];
    await one.advance(50);
    expect([two.monotonic(), one.newId(), two.newId(), two.newId()]).toEqual([50, "one-1", "two-1", "two-2"]);
  });

  it("is as random as it is told to be", () => {
    expect(virtualSystem().random()).toBe(0.5);
    expect(virtualSystem({ random: () => 0.25 }).random()).toBe(0.25);
  });
});
