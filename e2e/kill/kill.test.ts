import { describe, expect, it } from "vitest";
import { runDispatches } from "./run-dispatches.ts";
import { runKills } from "./run-kills.ts";
import { runPauses } from "./run-pauses.ts";
import { runTakeovers } from "./run-takeovers.ts";

describe("a process that is killed", () => {
  it("loses no acknowledged message and repeats no effect, in 60 kills", { timeout: 600_000 }, async () => {
    const report = await runKills({ kills: 60 });
    expect(report.problems).toEqual([]);
    expect(report.kills).toBe(60);
    expect(report.atPoint).toBeGreaterThan(20);
    expect(report.acknowledged).toBeGreaterThan(60);
  });
});

describe("a process that ends and does not come back", () => {
  it("is taken over by the one that lives, in 9 rounds", { timeout: 600_000 }, async () => {
    const report = await runTakeovers({ rounds: 9 });
    expect(report.problems).toEqual([]);
    expect(report.rounds).toBe(9);
    expect(report.takeovers).toBeGreaterThan(2);
  });
});

describe("two dispatchers, one of which is killed", () => {
  it("deliver each notification in full once and lose none, in 15 kills", { timeout: 600_000 }, async () => {
    const report = await runDispatches({ kills: 15 });
    expect(report.problems).toEqual([]);
    expect(report.kills).toBe(15);
    expect(report.atPoint).toBeGreaterThan(3);
    expect(report.acknowledged).toBeGreaterThan(50);
  });
});

// Standing still is seen in /proc, which only Linux has.
describe.runIf(process.platform === "linux")("processes that share a file", () => {
  it(
    "keep a thread in order when its owner stands still past its lease, in 30 rounds of two",
    { timeout: 600_000 },
    async () => {
      const report = await runPauses({ rounds: 30, processes: 2 });
      expect(report.problems).toEqual([]);
      expect(report.takeovers).toBeGreaterThan(0);
    },
  );

  it(
    "keep a thread in order when its owner stands still past its lease, in 20 rounds of three",
    { timeout: 600_000 },
    async () => {
      const report = await runPauses({ rounds: 20, processes: 3 });
      expect(report.problems).toEqual([]);
      expect(report.takeovers).toBeGreaterThan(0);
    },
  );
});
