import { describe, expect, it } from "vitest";
import { commitSeed } from "../../packages/testing/src/simulator/__fixtures__/commit-seed.ts";
import { runPowerLosses } from "./run-power-losses.ts";

const seed = commitSeed();

describe.each([
  { losses: 6, tags: [] },
  { losses: 30, tags: ["long"] },
])("a machine that loses power $losses times", ({ losses, tags }) => {
  it(
    "keeps every acknowledged message and repeats no effect where the store is power-safe",
    { tags },
    async ({ skip }) => {
      const report = await runPowerLosses({ losses, durability: "power-safe", seed });
      skip(report.skipped !== undefined, report.skipped);
      expect(report.problems).toEqual([]);
      expect(report).toMatchObject({ losses, lost: 0 });
      expect(report.acknowledged).toBeGreaterThan(10 * losses);
    },
  );

  it("keeps a sound file, without holes, where the store is process-safe", { tags }, async ({ skip }) => {
    const report = await runPowerLosses({ losses, durability: "process-safe", seed });
    skip(report.skipped !== undefined, report.skipped);
    expect(report.problems).toEqual([]);
    expect(report.losses).toBe(losses);
    // It does lose something, or nothing was tested above.
    expect(report.lost).toBeGreaterThan(0);
  });
});
