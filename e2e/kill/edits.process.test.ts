import { expect, it } from "vitest";
import { commitSeed } from "../../packages/testing/src/simulator/__fixtures__/commit-seed.ts";
import { runEdits } from "./run-edits.ts";

it.runIf(process.platform === "linux").each([
  { kills: 25, tags: [] },
  { kills: 200, tags: ["long"] },
])("changes each file once, whole, and over no other writer, when killed $kills times", async ({ kills }) => {
  const report = await runEdits({ kills, seed: commitSeed() });
  expect(report.problems).toEqual([]);
  expect(report.kills).toBe(kills);
  expect(report.foreign).toBeGreaterThan(0);
});
