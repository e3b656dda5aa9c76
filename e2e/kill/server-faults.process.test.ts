import { expect, it } from "vitest";
import { commitSeed } from "../../packages/testing/src/simulator/__fixtures__/commit-seed.ts";
import { type Harm, HARMS, runServerFaults } from "./run-server-faults.ts";

const seed = commitSeed();
const HARMED: Record<Harm, number> = { cut: 500, terminate: 20, crash: 20 };

it.each(HARMS)(
  "processes on a PostgreSQL server lose and repeat nothing through a %s",
  { tags: ["long"] },
  async (harm) => {
    const report = await runServerFaults({ harm, harms: HARMED[harm], seed });
    if (report.skipped !== undefined) return console.warn(`skipped: ${report.skipped}`);
    expect(report.problems).toEqual([]);
    expect(report.acknowledged).toBeGreaterThan(0);
  },
);
