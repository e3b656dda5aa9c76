import { describeFailure, runSimulation } from "@selvedge/testing/simulator";
import { describe, expect, it } from "vitest";
import { PLANTED_OM_FAULTS } from "./planted-om-faults.ts";
import { MEMORY_WORLDS, simulateOm } from "./simulate-om.ts";

async function expectAllHolds(seeds: number, from: number): Promise<ReadonlyMap<string, number>> {
  const report = await runSimulation({ seeds, from, kind: MEMORY_WORLDS });
  expect(report.failures.map(describeFailure).join("\n\n")).toBe("");
  return report.reached;
}

describe("simulated worlds with observational memory", () => {
  it("keep every promise, whatever goes wrong", async () => {
    const reached = await expectAllHolds(40, 1);
    for (const state of ["notes were activated", "notes were reflected", "a process crashed"])
      expect(reached.get(state) ?? 0, state).toBeGreaterThan(0);
  });

  it.each(PLANTED_OM_FAULTS)("detect that $name", async (planted) => {
    let found: string | undefined;
    for (let seed = 1; seed <= 200 && found === undefined; seed++)
      found = (await simulateOm(seed, { planted })).violation?.message;
    expect(found).toBeDefined();
  });

  it("keep every promise in many worlds", { tags: ["long"] }, async () => {
    await expectAllHolds(500, 1_000);
  });
});
