import { setTimeout as delay } from "node:timers/promises";
import { ChildHandle } from "./child-handle.ts";
import { ACTORS } from "./kill-points.ts";
import { Session } from "./session.ts";
import { HANGS_AFTER_MS, type StoreFactory } from "./store-factory.ts";

export interface PauseReport {
  rounds: number;
  /** Rounds in which a process stood still while it had a thread, and another took it. */
  takeovers: number;
  slowestTakeoverMs: number;
  problems: string[];
}

const LEASE = { leaseMs: 250, renewMs: 80 };

/** Two or three processes on one store: the one that runs a thread is stopped past its lease, and then goes on. */
export async function runPauses(options: {
  factory: StoreFactory;
  rounds: number;
  processes: 2 | 3;
  seed: number;
  onRound?: (round: number) => void;
}): Promise<PauseReport> {
  const { factory, seed } = options;
  const session = await Session.open({ factory, seed, threads: 3 });
  const report: PauseReport = { rounds: 0, takeovers: 0, slowestTakeoverMs: 0, problems: [] };
  const config = { ...session.config, lease: LEASE, chunkDelayMs: 4 };
  const children = Array.from({ length: options.processes }, () => new ChildHandle(config));
  try {
    await Promise.all(children.map((child) => child.ready));
    for (let round = 0; round < options.rounds && report.problems.length === 0; round++) {
      await oneRound(session, children, round, report);
      report.rounds++;
      options.onRound?.(report.rounds);
    }
    report.problems.push(...(await session.problems()));
    return report;
  } catch (error) {
    report.problems.push(String(error));
    return report;
  } finally {
    await Promise.all(children.map((child) => child.kill()));
    await session.close();
  }
}

async function oneRound(
  session: Session,
  children: readonly ChildHandle[],
  round: number,
  report: PauseReport,
): Promise<void> {
  const owner = children[round % children.length]!;
  const others = children.filter((child) => child !== owner);
  const threadId = session.threads[round % session.threads.length]!;
  await session.send(owner, threadId, round % 3 === 0 ? ["plain", "approve"] : ["plain"], "message", false);
  await delay(session.random.between(0, 40));
  const before = await actor(session, threadId);
  await owner.stop();
  // Same-instant sends from those who go on.
  await Promise.all(
    others.map((child) =>
      session.send(child, threadId, ["plain"], session.random.chance(0.5) ? "queue" : "message", true),
    ),
  );
  const stopped = performance.now();
  const held = await actor(session, threadId);
  if (held.running && held.owner === before.owner) {
    await takenOver(session, threadId, held.fence, stopped, report);
  } else await delay(LEASE.leaseMs);
  owner.goOn();
  await session.rest(children, () => session.random.chance(0.7));
}

async function takenOver(
  session: Session,
  threadId: string,
  fence: number,
  since: number,
  report: PauseReport,
): Promise<void> {
  for (;;) {
    const took = performance.now() - since;
    const now = await actor(session, threadId);
    if (now.fence !== fence || !now.running) {
      report.takeovers++;
      report.slowestTakeoverMs = Math.max(report.slowestTakeoverMs, took);
      return;
    }
    if (took > HANGS_AFTER_MS) return void report.problems.push(`I12 no process took ${threadId} over`);
    await delay(10);
  }
}

async function actor(
  session: Session,
  threadId: string,
): Promise<{ owner: unknown; fence: number; running: boolean }> {
  const [row] = await session.store.select({ table: ACTORS, where: { thread_id: threadId } });
  return {
    owner: row?.["owner"],
    fence: (row?.["fence"] as number | undefined) ?? 0,
    running: row?.["run_state"] === "running",
  };
}
