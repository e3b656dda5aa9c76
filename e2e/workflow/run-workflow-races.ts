import type { StoreFactory } from "../kill/store-factory.ts";
import { flow, step, andThen } from "./flows.ts";
import { WorkflowSession } from "./workflow-session.ts";

const ASKING = flow("asking", [
  andThen(step("s1", { suspends: 1, counts: true, keeps: 1 })),
  andThen(step("s2", { reads: "count-s1" })),
]);

export interface WorkflowRaceReport {
  rounds: number;
  /** Resumes that came second. */
  refused: number;
  problems: string[];
}

/** Two processes on one store resume the same step at once: one execution, and one of the two is told that it was late. */
export async function runWorkflowRaces(options: {
  factory: StoreFactory;
  rounds: number;
  seed: number;
}): Promise<WorkflowRaceReport> {
  const session = await WorkflowSession.open(options.factory, options.seed);
  const report: WorkflowRaceReport = { rounds: 0, refused: 0, problems: session.problems };
  const processes = [session.open([ASKING], undefined, 1), session.open([ASKING], undefined, 1)];
  try {
    await Promise.all(processes.map(({ ready }) => ready));
    for (; report.rounds < options.rounds && report.problems.length === 0; report.rounds++) {
      const run = await session.start(processes[report.rounds % 2]!, ASKING);
      await session.resting(processes[0]!, run);
      const resumes = await Promise.all(processes.map((process) => session.resume(process, run, "s1")));
      const accepted = resumes.filter(({ outcome }) => outcome === "accepted");
      report.refused += resumes.length - accepted.length;
      if (accepted.length !== 1) session.violate("W5", `${accepted.length} of two resumes were accepted`);
      await session.finish(processes[(report.rounds + 1) % 2]!, run);
      for (const { step: of, starts } of run.executions.values())
        for (const [start, times] of starts)
          if (times > 1)
            session.violate("W3", `${of.id} of ${run.id} was executed ${times} times in ${start}`);
    }
  } catch (error) {
    report.problems.push(String(error));
  } finally {
    await session.close();
  }
  return report;
}
