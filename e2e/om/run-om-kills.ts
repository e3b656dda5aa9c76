import { LibSQLStore } from "@selvedge/libsql";
import { Random } from "@selvedge/testing/simulator";
import { omFaults, omRows } from "../../packages/memory/src/__fixtures__/om-world.ts";
import type { KillPoint } from "./points.ts";
import { runOmChild } from "./run-om-child.ts";

const COMMITS = ["job", "take", "observed", "activation", "reflected", "reflection-activation"] as const;

/** Kills processes at random points of their memory's work, one after another on one file. */
export async function runOmKills(options: {
  url: string;
  rounds: number;
  seed: number;
  onRound(round: number): void;
}): Promise<{ kills: number; problems: string[] }> {
  const { url, rounds, seed, onRound } = options;
  const random = new Random(seed);
  const storage = new LibSQLStore({ url });
  await storage.init();
  const problems: string[] = [];
  let turn = 0;
  let kills = 0;
  for (let round = 0; round < rounds && problems.length === 0; round++) {
    const n = random.between(1, 4);
    const kill: KillPoint = random.chance(0.25)
      ? { at: random.chance(0.5) ? "observer" : "reflector", when: "during", n }
      : {
          at: COMMITS[random.between(0, COMMITS.length - 1)]!,
          when: random.chance(0.5) ? "before" : "after",
          n,
        };
    const report = await runOmChild({ url, from: turn, turns: 20, kill });
    if (report.signal === "SIGKILL") kills++;
    else if (!report.isDone) problems.push(`${JSON.stringify(kill)}: the process ended with ${report.code}`);
    turn = (report.turns.at(-1) ?? turn) + 2;
    problems.push(...(await omFaults(storage)).map((fault) => `${JSON.stringify(kill)}: ${fault}`));
    onRound(round + 1);
  }
  await runOmChild({ url, from: turn, turns: 12, settles: true });
  problems.push(...(await omFaults(storage)));
  const open = (await omRows(storage)).jobs.filter(({ state }) => state !== "done");
  for (const { kind, state, attempt, last_error } of open)
    problems.push(`a job is left: ${kind}, ${state}, attempt ${attempt}, ${last_error}`);
  await storage.close();
  return { kills, problems };
}
