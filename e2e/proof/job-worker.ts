import { type Job, type Outcome, trialOf } from "./trials.ts";

/** What a worker tells the process that gives it jobs. */
export type WorkerMessage = { round: number } | { outcome: Outcome };

// A process that carries out one job after another.

const say = (message: WorkerMessage): void => void process.send?.(message);

process.on("disconnect", () => process.exit());
process.on("message", (job: Job) => {
  void trialOf(job.trial)
    .run(job, (round) => say({ round }))
    .catch((error: unknown): Outcome => {
      const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
      return { rounds: 0, problems: [`The job failed: ${problem}`], figures: {} };
    })
    .then((outcome) => say({ outcome }));
});
