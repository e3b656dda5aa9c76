import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { WorkerMessage } from "./job-worker.ts";
import { type Job, type Outcome, type TrialName, trialOf } from "./trials.ts";

/** How many rounds of a trial, and on which store. */
export interface Wanted {
  trial: TrialName;
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
  onProgress?: (progress: Progress) => void;
}): Promise<ProofRow[]> {
  const { seed } = options;
  const rows = options.wanted.map((wanted) => toRow(wanted, seed));
  const jobs = options.wanted.flatMap((wanted, index) =>
    jobsOf(wanted, seed).map((job) => ({ job, row: rows[index]! })),
  );
  const work = async (): Promise<void> => {
    let child: ChildProcess | undefined;
    for (let next = jobs.shift(); next; next = jobs.shift()) {
      const { job, row } = next;
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
  const seeds = { from: seed, to: seed + rounds - 1 };
  return { trial, store, wanted: rounds, seeds, rounds: 0, problems: [], figures: {} };
}

/** Worlds have a seed each. Other jobs are their first seed and the rounds that follow from it. */
function jobsOf({ trial, rounds, postgres }: Wanted, seed: number): Job[] {
  const { batch } = trialOf(trial);
  return Array.from({ length: Math.ceil(rounds / batch) }, (_, index) => ({
    trial,
    rounds: Math.min(batch, rounds - index * batch),
    seed: seed + index * batch,
    ...(postgres !== undefined && { postgres }),
  }));
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
  if (outcome.skipped !== undefined) row.skipped = outcome.skipped;
  row.problems.push(...outcome.problems.map((problem) => `seed ${job.seed}: ${problem}`));
  for (const [name, figure] of Object.entries(outcome.figures)) {
    const known = row.figures[name] ?? 0;
    row.figures[name] = name.startsWith("slowest") ? Math.max(known, figure) : known + figure;
  }
}
