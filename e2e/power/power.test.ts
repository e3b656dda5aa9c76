import { describe, expect, it } from "vitest";
import { runPowerLosses } from "./run-power-losses.ts";

describe("a machine that loses power", () => {
  it(
    "keeps every acknowledged message and repeats no effect where the store is power-safe, in 20 losses",
    { timeout: 120_000 },
    async ({ skip }) => {
      const report = await runPowerLosses({ losses: 20, durability: "power-safe" });
      skip(report.skipped !== undefined, report.skipped);
      expect(report.problems).toEqual([]);
      expect(report).toMatchObject({ losses: 20, lost: 0 });
      expect(report.acknowledged).toBeGreaterThan(200);
    },
  );

  it(
    "keeps a sound file, without holes, where the store is process-safe, in 10 losses",
    { timeout: 120_000 },
    async ({ skip }) => {
      const report = await runPowerLosses({ losses: 10, durability: "process-safe" });
      skip(report.skipped !== undefined, report.skipped);
      expect(report.problems).toEqual([]);
      expect(report.losses).toBe(10);
      // It does lose something, or nothing was tested above.
      expect(report.lost).toBeGreaterThan(0);
    },
  );
});
