import { expect, it } from "vitest";
import { planJobs, type Wanted } from "./run-proof.ts";

function plan(wanted: readonly Wanted[], hasTime?: () => boolean): string[] {
  return Array.from(planJobs(wanted, 100, hasTime), ({ job, index }) =>
    [index, job.trial, job.rounds, `from ${job.seed}`, job.postgres].join(" ").trimEnd(),
  );
}

it("does all rounds of one trial after another", () => {
  expect(
    plan([
      { trial: "kills", rounds: 30 },
      { trial: "pauses", rounds: 20, postgres: "server" },
    ]),
  ).toEqual(["0 kills 25 from 100", "0 kills 5 from 125", "1 pauses 20 from 100 server"]);
});

it("takes turns at the trials while there is time", () => {
  let asked = 0;
  const wanted: Wanted[] = [
    { trial: "kills", rounds: Number.POSITIVE_INFINITY },
    { trial: "takeovers", rounds: 15 },
    { trial: "pauses", rounds: 20 },
  ];
  expect(plan(wanted, () => ++asked <= 8)).toEqual([
    "0 kills 25 from 100",
    "1 takeovers 10 from 100",
    "2 pauses 20 from 100",
    "0 kills 25 from 125",
    "1 takeovers 5 from 110",
    "0 kills 25 from 150",
  ]);
});
