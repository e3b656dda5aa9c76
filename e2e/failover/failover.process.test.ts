import { expect, it } from "vitest";
import { commitSeed } from "../../packages/testing/src/simulator/__fixtures__/commit-seed.ts";
import { runFailovers } from "./run-failovers.ts";

it(
  "runs continue on a synchronous standby, without a message lost, when the primary is killed",
  { tags: ["long"] },
  async ({ skip }) => {
    const report = await runFailovers({ isSynchronous: true, rounds: 1, seed: commitSeed() });
    if (report.skipped !== undefined) return skip(report.skipped);
    expect(report.problems).toEqual([]);
    expect(report.lost).toBe(0);
    expect(report.acknowledged).toBeGreaterThan(0);
  },
);
