import { describe, expect, it } from "vitest";
import { describeFailure, NO_FAULTS, PLANTED_FAULTS, runSimulation, simulate } from "./index.ts";

/** States that the worlds of the test must get into, or the test says less than it seems to. */
const SOMETIMES = [
  "a process crashed",
  "a process stayed dead",
  "a process shut down",
  "a process crashed between a tool's intent and its result",
  "a run was taken over from a process that died",
  "a run was taken over from a process that stood still",
  "a run was superseded",
  "a process took its own run up again",
  "a message came while its run was ending",
  "a message was admitted: deliver",
  "several messages were admitted in one commit",
  "a thread changed while a message was admitted",
  "two processes wanted the same thread",
  "two decisions about a call met",
  "an approval came too late",
  "a call was approved",
  "a call was declined",
  "a message that was sent again was known",
  "a state that was current was skipped",
  "a commit that took effect reported a failure",
  "an idempotent tool was run again",
  "a tool's outcome was unknown",
  "a run was aborted",
  "a reader went on where it was",
  "a notification was merged into another",
  "a record was dispatched in full",
  "a record was dispatched in a summary",
  "a record was taken from a process that died",
  "a record was taken from a process that lives",
  "a record that waited for an idle thread was delivered",
  "two wanted the same record",
  "an inbox was used: read",
];

describe("the simulator", () => {
  it("finds that every promise holds in 2,000 worlds", { timeout: 180_000 }, async () => {
    const report = await runSimulation({ seeds: 2_000 });
    expect(report.failures.map(describeFailure).join("\n\n")).toBe("");
    expect(SOMETIMES.filter((state) => !report.reached.has(state))).toEqual([]);
  });

  it("tells the same story for the same seed", async () => {
    for (const seed of [1, 7, 42]) {
      const [first, second] = [await simulate(seed, { trace: true }), await simulate(seed, { trace: true })];
      expect(second.trace).toEqual(first.trace);
    }
  });

  it("knows worlds in which nothing goes wrong", async () => {
    const report = await runSimulation({ seeds: 20, faults: NO_FAULTS });
    expect(report.failures.map(describeFailure).join("\n\n")).toBe("");
  });

  it.each(PLANTED_FAULTS.map((planted) => ({ planted, name: planted.name })))(
    "finds a planted fault within 500 worlds: $name",
    { timeout: 60_000 },
    async ({ planted }) => {
      const report = await runSimulation({ seeds: 500, planted });
      expect(report.failures).toHaveLength(1);
    },
  );
});
