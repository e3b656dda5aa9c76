import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { WorkerMessage } from "./job-worker.ts";
import { type Job, type Outcome, type TrialName, trialOf } from "./trials.ts";

/** How many rounds of a trial, and on which store. */
export interface Wanted {
  trial: TrialName;
  /** `Infinity`: as many as there is time for. */
  rounds: number;
  postgres?: string;
}

export interface ProofRow extends Outcome {
  trial: TrialName;
  store: string;
  wanted: number;
  seeds: { from: number; to: number };
}

export interface Progress {
  title: string;
  done: number;
  wanted: number;
  problems: number;
}

const WORKER = fileURLToPath(new URL("job-worker.ts", import.meta.url));

/** Carries out all trials in several processes, and goes on after a finding. */
export async function runProof(options: {
  wanted: readonly Wanted[];
  seed: number;
  workers: number;
  /** If given, the trials take turns, and no job begins once there is no time left. */
  hasTime?: (() => boolean) | undefined;
  onProgress?: (progress: Progress) => void;
}): Promise<ProofRow[]> {
  const { seed, hasTime } = options;
  const rows = options.wanted.map((wanted) => toRow(wanted, seed));
  const jobs = planJobs(options.wanted, seed, hasTime);
  const work = async (): Promise<void> => {
    let child: ChildProcess | undefined;
    // Not `for of`, which would end the jobs of the other processes with this one.
    for (let next = jobs.next(); !next.done; next = jobs.next()) {
      const { job, index } = next.value;
      const row = rows[index]!;
      child = child?.connected ? child : fork(WORKER, { execArgv: ["--conditions=selvedge-source"] });
      const before = row.rounds;
      const report = (rounds: number): void =>
        options.onProgress?.({
          title: `${trialOf(row.trial).title}, ${row.store}`,
          done: before + rounds,
          wanted: row.wanted,
          problems: rows.reduce((sum, { problems }) => sum + problems.length, 0),
        });
      add(row, job, await carryOut(child, job, report));
    }
    child?.disconnect();
  };
  await Promise.all(Array.from({ length: options.workers }, work));
  return rows;
}

function toRow({ trial, rounds, postgres }: Wanted, seed: number): ProofRow {
  const store = !trialOf(trial).stores ? "-" : postgres === undefined ? "libSQL" : "PostgreSQL";
  const seeds = { from: seed, to: seed };
  return { trial, store, wanted: rounds, seeds, rounds: 0, problems: [], figures: {} };
}

/** The jobs of each trial, with its position: trial after trial, or in turn while there is time. */
export function* planJobs(
  wanted: readonly Wanted[],
  seed: number,
  hasTime?: () => boolean,
): Generator<{ job: Job; index: number }> {
  const lists = wanted.map((one) => jobsOf(one, seed));
  if (!hasTime) {
    for (const [index, list] of lists.entries()) for (const job of list) yield { job, index };
    return;
  }
  for (let open = [...lists.entries()]; open.length > 0;) {
    const still: typeof open = [];
    for (const [index, list] of open) {
      if (!hasTime()) return;
      const next = list.next();
      if (next.done) continue;
      still.push([index, list]);
      yield { job: next.value, index };
    }
    open = still;
  }
}

/** Worlds have a seed each. Other jobs are their first seed and the rounds that follow from it. */
function* jobsOf({ trial, rounds, postgres }: Wanted, seed: number): Generator<Job> {
  const { batch } = trialOf(trial);
  for (let first = 0; first < rounds; first += batch) {
    const job = { trial, rounds: Math.min(batch, rounds - first), seed: seed + first };
    yield postgres === undefined ? job : { ...job, postgres };
  }
}

function carryOut(child: ChildProcess, job: Job, onRound: (rounds: number) => void): Promise<Outcome> {
  return new Promise((resolve) => {
    const end = (outcome: Outcome): void => {
      child.off("message", hear);
      child.off("exit", die);
      resolve(outcome);
    };
    const hear = (message: WorkerMessage): void => {
      if ("round" in message) onRound(message.round);
      else end(message.outcome);
    };
    const die = (code: number | null): void =>
      end({ rounds: 0, problems: [`The process of the job ended with ${code}`], figures: {} });
    child.on("message", hear);
    child.on("exit", die);
    child.send(job);
  });
}

function add(row: ProofRow, job: Job, outcome: Outcome): void {
  row.rounds += outcome.rounds;
  row.seeds.to = Math.max(row.seeds.to, job.seed + job.rounds - 1);
  if (outcome.skipped !== undefined) row.skipped = outcome.skipped;
  row.problems.push(...outcome.problems.map((problem) => `seed ${job.seed}: ${problem}`));
  for (const [name, figure] of Object.entries(outcome.figures)) {
    const known = row.figures[name] ?? 0;
    row.figures[name] = name.startsWith("slowest") ? Math.max(known, figure) : known + figure;
  }
}
