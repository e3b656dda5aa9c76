import type { StoreFactory } from "../kill/store-factory.ts";
import { FLOWS } from "./flows.ts";
import type { WorkflowKill } from "./protocol.ts";
import { WorkflowSession } from "./workflow-session.ts";

export interface WorkflowCancelReport {
  kills: number;
  problems: string[];
}

/**
 * Cancels runs at an agent's approval and in the agent's step, and kills the process around each commit that follows. The run
 * is canceled at the end, and no approval waits.
 */
export async function runWorkflowCancels(options: {
  factory: StoreFactory;
  rounds: number;
  seed: number;
}): Promise<WorkflowCancelReport> {
  const agent = FLOWS["agent"]!;
  const session = await WorkflowSession.open(options.factory, options.seed);
  const report: WorkflowCancelReport = { kills: 0, problems: session.problems };
  try {
    const kinds = await commitsOf(session);
    for (let round = 0; round < options.rounds && report.problems.length === 0; round++) {
      const when = round % 2 === 0 ? "after" : "before";
      const kill: WorkflowKill = { point: kinds[(round >> 1) % kinds.length]!, when, nth: 1 };
      const dying = session.open([agent], kill);
      await dying.ready;
      const run = await session.start(dying, agent);
      // Every third time in the middle of the agent's step.
      if (round % 3 !== 2) await session.resting(dying, run);
      await session.cancel(dying, run);
      if (dying.alive) await session.resting(dying, run);
      await dying.kill();
      report.kills++;
      const next = session.open([agent]);
      await next.ready;
      // Nobody knows whether it was stored.
      if (run.cancels.some(({ outcome }) => outcome !== "accepted")) await session.cancel(next, run);
      const stored = await session.resting(next, run);
      if (stored?.status !== "canceled") session.violate("W6", `${run.id} is ${stored?.status}`);
      await session.unasked(next);
      await next.kill();
      if (report.problems.length > 0) report.problems.push(`killed ${JSON.stringify(kill)}`);
    }
  } catch (error) {
    report.problems.push(String(error));
  } finally {
    await session.close();
  }
  return report;
}

/** The kinds of commits of a run that is canceled at an approval. */
async function commitsOf(session: WorkflowSession): Promise<string[]> {
  const agent = FLOWS["agent"]!;
  const process = session.open([agent]);
  await process.ready;
  const run = await session.start(process, agent);
  await session.resting(process, run);
  const before = session.commits().length;
  await session.cancel(process, run);
  await session.unasked(process);
  await process.kill();
  return [...new Set(session.commits().slice(before))];
}
