import { setTimeout as delay } from "node:timers/promises";
import { ChildHandle } from "./child-handle.ts";
import { COMMIT_POINTS } from "./kill-points.ts";
import type { KillPoint } from "./protocol.ts";
import { Session } from "./session.ts";

export interface KillReport {
  kills: number;
  /** Kills that happened at the named point; the others came when the child had not got there in time. */
  atPoint: number;
  sent: number;
  acknowledged: number;
  /** The longest time from a restart to the moment an interrupted thread went on. */
  slowestMs: number;
  problems: string[];
}

const LEASE = { leaseMs: 15_000, renewMs: 5_000 };
/** A killed process is known to be gone: nobody waits for its lease. A run that was killed time after time waits up to 2 s. */
const GO_ON_WITHIN_MS = 4_000;
/** A restart is to be quick in a file that has been in use for a while. */
const IDLE_THREADS = 1_000;
const TOOLS = [
  [],
  ["plain"],
  ["plain", "idempotent"],
  ["approve"],
  ["plain", "approve", "idempotent"],
] as const;

/** Kills a process on a real file again and again, at every named point and at random times, and sees what is left. */
export async function runKills(options: {
  kills: number;
  threads?: number;
  onKill?: (kill: number, where: string) => void;
}): Promise<KillReport> {
  const session = new Session(options.threads ?? 4);
  const report: KillReport = { kills: 0, atPoint: 0, sent: 0, acknowledged: 0, slowestMs: 0, problems: [] };
  try {
    await session.crowd(IDLE_THREADS);
    for (const point of plan(options.kills)) {
      const child = new ChildHandle({
        file: session.file,
        effects: session.effects,
        lease: LEASE,
        chunkDelayMs: 1,
        ...(point && { kill: point }),
      });
      await goesOn(session, child, report);
      await work(session, child, point);
      if (point && !child.isAlive) report.atPoint++;
      await child.kill();
      report.kills++;
      options.onKill?.(report.kills, point ? `${point.when} ${point.name} ${point.nth}` : "at a random time");
      if (report.kills % 10 === 0) await settle(session, report);
      if (report.problems.length > 0) break;
    }
    await settle(session, report);
    report.sent = session.sent.length;
    report.acknowledged = session.sent.filter((sent) => sent.acknowledged).length;
    return report;
  } finally {
    await session.close();
  }
}

/** Half at a named point, half at a random time. */
function* plan(kills: number): Generator<KillPoint | undefined> {
  const points: KillPoint[] = [...COMMIT_POINTS, "tool" as const, "model" as const].flatMap((name) => [
    { name, when: "before" as const, nth: 1 },
    { name, when: "after" as const, nth: 1 },
  ]);
  for (let kill = 0; kill < kills; kill++) {
    const point = kill % 2 === 0 ? points[(kill / 2) % points.length]! : undefined;
    yield (
      point && { ...point, nth: 1 + Math.floor(kill / (2 * points.length)) + Math.floor(Math.random() * 2) }
    );
  }
}

/** After a restart, what was interrupted goes on by itself. */
async function goesOn(session: Session, child: ChildHandle, report: KillReport): Promise<void> {
  const before = await session.state();
  if (!(await child.ready)) return;
  const since = performance.now();
  while (child.isAlive) {
    const now = await session.state();
    const same = before.running.filter(
      (threadId) =>
        now.fences.get(threadId) === before.fences.get(threadId) && now.running.includes(threadId),
    );
    const took = performance.now() - since;
    report.slowestMs = Math.max(report.slowestMs, before.running.length > 0 ? took : 0);
    if (same.length === 0) return;
    if (took > GO_ON_WITHIN_MS)
      return void report.problems.push(
        `I12 ${same.join()} did not go on within ${GO_ON_WITHIN_MS} ms of a restart`,
      );
    await delay(5);
  }
}

/** Keeps the child busy until it dies, at the latest after a while. */
async function work(session: Session, child: ChildHandle, point: KillPoint | undefined): Promise<void> {
  const until = performance.now() + (point ? 1_500 : 20 + Math.random() * 250);
  while (child.isAlive && performance.now() < until) {
    const threadId = pick(session.threads);
    const sending = session.send(
      child,
      threadId,
      pick(TOOLS),
      Math.random() < 0.3 ? "queue" : "message",
      Math.random() < 0.5,
    );
    if (Math.random() < 0.5) await sending;
    if (Math.random() < 0.4) await session.decideAll([child], () => Math.random() < 0.7);
    await delay(Math.random() * 25);
    await sending;
  }
}

/** Lets everything come to rest in a process that nobody kills, and looks. */
async function settle(session: Session, report: KillReport): Promise<void> {
  const child = new ChildHandle({
    file: session.file,
    effects: session.effects,
    lease: LEASE,
    chunkDelayMs: 0,
  });
  try {
    await child.ready;
    await session.resend(child);
    await session.rest([child], () => Math.random() < 0.7, 20_000);
    report.problems.push(...(await session.problems()));
  } catch (error) {
    report.problems.push(`I12 ${String(error)}`);
  } finally {
    await child.kill();
  }
}

function pick<Value>(values: readonly Value[]): Value {
  return values[Math.floor(Math.random() * values.length)]!;
}
