import { parseArgs } from "node:util";
import { runDispatches } from "../e2e/kill/run-dispatches.ts";
import { runKills } from "../e2e/kill/run-kills.ts";
import { runPauses } from "../e2e/kill/run-pauses.ts";
import { runTakeovers } from "../e2e/kill/run-takeovers.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "60" },
    dispatches: { type: "string", default: "24" },
    takeovers: { type: "string", default: "12" },
    rounds: { type: "string", default: "0" },
  },
});

const kills = Number(values.kills);
const dispatches = Number(values.dispatches);
const takeovers = Number(values.takeovers);
const rounds = Number(values.rounds);
if (kills > 0) {
  const report = await runKills({
    kills,
    onKill: (kill, where) => process.stderr.write(`\r${kill} of ${kills} kills, ${where}            `),
  });
  process.stderr.write("\n");
  console.log(report);
  if (report.problems.length > 0) process.exitCode = 1;
}
if (dispatches > 0) {
  const report = await runDispatches({
    kills: dispatches,
    onKill: (kill, where) =>
      process.stderr.write(`\r${kill} of ${dispatches} kills of a dispatcher, ${where}            `),
  });
  process.stderr.write("\n");
  console.log(report);
  if (report.problems.length > 0) process.exitCode = 1;
}
if (takeovers > 0) {
  const report = await runTakeovers({
    rounds: takeovers,
    onRound: (round) => process.stderr.write(`\r${round} of ${takeovers} processes that do not come back `),
  });
  process.stderr.write("\n");
  console.log(report);
  if (report.problems.length > 0) process.exitCode = 1;
}
for (const processes of rounds > 0 ? ([2, 3] as const) : []) {
  const report = await runPauses({
    rounds,
    processes,
    onRound: (round) => process.stderr.write(`\r${round} of ${rounds} rounds of ${processes} `),
  });
  process.stderr.write("\n");
  console.log(report);
  if (report.problems.length > 0) process.exitCode = 1;
}
