import { describe, expect, it } from "vitest";
import { PLANTED_OM_FAULTS } from "./planted-om-faults.ts";
import { simulateOm } from "./simulate-om.ts";

describe("simulated worlds with observational memory", () => {
  it("keep every promise, whatever goes wrong", async () => {
    const reached = new Map<string, number>();
    for (let seed = 1; seed <= 40; seed++) {
      const { violation, reached: states } = await simulateOm(seed);
      expect(violation, `seed ${seed}`).toBeUndefined();
      for (const state of states) reached.set(state, (reached.get(state) ?? 0) + 1);
    }
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
    for (let seed = 1_000; seed < 2_000; seed++)
      expect((await simulateOm(seed)).violation, `seed ${seed}`).toBeUndefined();
  });
});
