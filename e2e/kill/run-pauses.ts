import { setTimeout as delay } from "node:timers/promises";
import { ChildHandle } from "./child-handle.ts";
import { ACTORS } from "./kill-points.ts";
import { Session } from "./session.ts";

export interface PauseReport {
  rounds: number;
  /** Rounds in which a process stood still while it had a thread, and another took it. */
  takeovers: number;
  slowestTakeoverMs: number;
  problems: string[];
}

const LEASE = { leaseMs: 250, renewMs: 80 };
const TAKE_OVER_WITHIN_MS = LEASE.leaseMs + 2_000;

/** Two or three processes on one file: the one that runs a thread is stopped past its lease, and then goes on. */
export async function runPauses(options: {
  rounds: number;
  processes: 2 | 3;
  onRound?: (round: number) => void;
}): Promise<PauseReport> {
  const session = new Session(3);
  const report: PauseReport = { rounds: 0, takeovers: 0, slowestTakeoverMs: 0, problems: [] };
  const config = { file: session.file, effects: session.effects, lease: LEASE, chunkDelayMs: 4 };
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
  await delay(Math.random() * 40);
  const before = await actor(session, threadId);
  await owner.stop();
  // Same-instant sends from those who go on.
  await Promise.all(
    others.map((child) =>
      session.send(child, threadId, ["plain"], Math.random() < 0.5 ? "queue" : "message", true),
    ),
  );
  const stopped = performance.now();
  const held = await actor(session, threadId);
  if (held.running && held.owner === before.owner) {
    await takenOver(session, threadId, held.fence, stopped, report);
  } else await delay(LEASE.leaseMs);
  owner.goOn();
  await session.rest(children, () => Math.random() < 0.7, 15_000);
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
    if (took > TAKE_OVER_WITHIN_MS)
      return void report.problems.push(`I12 nobody took ${threadId} over within ${TAKE_OVER_WITHIN_MS} ms`);
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
