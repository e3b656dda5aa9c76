import type { FlowDef } from "@selvedge/testing/simulator";
import type { StoreFactory } from "../kill/store-factory.ts";
import type { WorkflowKill } from "./protocol.ts";
import { WorkflowSession } from "./workflow-session.ts";

export interface WorkflowKillReport {
  kills: number;
  /** The kinds of commits and the points in steps that processes died around. */
  points: Set<string>;
  problems: string[];
}

/** Kills a process around each kind of commit of a run, and inside steps, and lets another finish the run. */
export async function runWorkflowKills(options: {
  factory: StoreFactory;
  flows: Record<string, FlowDef>;
  kills: number;
  seed: number;
  onRound?: (round: number) => void;
}): Promise<WorkflowKillReport> {
  const { factory, seed } = options;
  const flows = Object.values(options.flows);
  const session = await WorkflowSession.open(factory, seed);
  const report: WorkflowKillReport = { kills: 0, points: new Set(), problems: session.problems };
  try {
    const points = await pointsOf(session, flows);
    const from = session.random.between(0, points.length - 1);
    for (let round = 0; round < options.kills && report.problems.length === 0; round++) {
      const { flow, ...kill } = points[(from + round * STRIDE) % points.length]!;
      const dying = session.open(flows, kill);
      await dying.ready;
      const run = await session.start(dying, flow);
      while (dying.alive) {
        const stored = await session.resting(dying, run);
        if (stored?.status !== "suspended") break;
        for (const path of Object.keys(stored.suspendedPaths ?? {})) await session.resume(dying, run, path);
      }
      // A coin fell so that the run did not get there.
      if (!dying.alive) report.points.add(`${flow.id}: ${kill.when} ${kill.point}`);
      await dying.kill();
      report.kills++;
      const next = session.open(flows);
      await next.ready;
      await session.finish(next, run);
      await next.kill();
      if (report.problems.length > 0) report.problems.push(`killed ${flow.id} ${JSON.stringify(kill)}`);
      options.onRound?.(report.kills);
    }
  } catch (error) {
    report.problems.push(String(error));
  } finally {
    await session.close();
  }
  return report;
}

/** Coprime to most numbers of points, so that a few kills are of all kinds. */
const STRIDE = 17;

/** Every kind of commit of every flow, each before and after, once early and once late. */
async function pointsOf(
  session: WorkflowSession,
  flows: readonly FlowDef[],
): Promise<(WorkflowKill & { flow: FlowDef })[]> {
  const process = session.open(flows);
  await process.ready;
  const points: (WorkflowKill & { flow: FlowDef })[] = [];
  for (const flow of flows) {
    const before = session.commits().length;
    await session.finish(process, await session.start(process, flow));
    const counts = new Map<string, number>();
    for (const kind of session.commits().slice(before)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    counts.set("step", 3);
    for (const [point, count] of counts)
      for (const when of ["before", "after"] as const)
        for (const nth of new Set([1, Math.ceil(count / 2)])) points.push({ flow, point, when, nth });
  }
  await process.kill();
  return points;
}
