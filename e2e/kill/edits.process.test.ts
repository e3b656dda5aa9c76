import { describe, expect, it } from "vitest";
import { commitSeed } from "../../packages/testing/src/simulator/__fixtures__/commit-seed.ts";
import { runEdits } from "./run-edits.ts";

// The children count operations on paths of open handles, which only Linux has.
describe.runIf(process.platform === "linux")("an agent that is killed while it changes files", () => {
  // Each kill needs a new process: on a busy machine, starting them takes minutes.
  it.each([{ kills: 25 }])("changes each once, whole, and over no other writer", { timeout: 900_000 }, runs);

  async function runs({ kills }: { kills: number }): Promise<void> {
    const report = await runEdits({ kills, seed: commitSeed() });
    expect(report.problems).toEqual([]);
    expect(report.kills).toBe(kills);
    expect(report.foreign).toBeGreaterThan(0);
  }
});
