import { setTimeout as delay } from "node:timers/promises";
import { ChildHandle } from "./child-handle.ts";
import { COMMIT_POINTS } from "./kill-points.ts";
import type { ChildConfig, KillPoint } from "./protocol.ts";
import { Session } from "./session.ts";
import { HANGS_AFTER_MS, leaseFor, type StoreFactory } from "./store-factory.ts";

export interface KillReport {
  kills: number;
  /** Kills that happened at the named point; the others came when the child had not got there. */
  atPoint: number;
  sent: number;
  acknowledged: number;
  /** The longest time from a restart to the moment an interrupted thread continued. */
  slowestMs: number;
  problems: string[];
}

/** A restart must be quick in a store that has been in use for a while. */
const IDLE_THREADS = 1_000;
/** A child that is to die at a point gets so many messages to get there. */
const MESSAGES = 60;
const TOOLS = [
  [],
  ["plain"],
  ["plain", "idempotent"],
  ["approve"],
  ["plain", "approve", "idempotent"],
] as const;

/** Kills a process on a real store again and again, at every named point and at random moments, and checks what is left. */
export async function runKills(options: {
  factory: StoreFactory;
  kills: number;
  seed: number;
  onRound?: (round: number) => void;
}): Promise<KillReport> {
  const { factory, kills, seed } = options;
  const session = await Session.open({ factory, seed, threads: 4 });
  const config = { ...session.config, lease: leaseFor(factory), chunkDelayMs: 1 };
  const report: KillReport = { kills: 0, atPoint: 0, sent: 0, acknowledged: 0, slowestMs: 0, problems: [] };
  try {
    await session.crowd(IDLE_THREADS);
    for (const point of plan(session, kills)) {
      const child = new ChildHandle({ ...config, ...(point && { kill: point }) });
      await continues(session, child, report);
      await work(session, child, point);
      if (point && !child.isAlive) report.atPoint++;
      await child.kill();
      report.kills++;
      options.onRound?.(report.kills);
      if (report.kills % 10 === 0) await settle(session, config, report);
      if (report.problems.length > 0) break;
    }
    await settle(session, config, report);
    report.sent = session.sent.length;
    report.acknowledged = session.sent.filter((sent) => sent.acknowledged).length;
    return report;
  } finally {
    await session.close();
  }
}

/** Half at a named point, half at a random moment. */
function* plan({ random }: Session, kills: number): Generator<KillPoint | undefined> {
  const points: KillPoint[] = [...COMMIT_POINTS, "tool" as const, "model" as const].flatMap((name) => [
    { name, when: "before" as const, nth: 1 },
    { name, when: "after" as const, nth: 1 },
  ]);
  const from = random.between(0, points.length - 1);
  for (let kill = 0; kill < kills; kill++) {
    const point = kill % 2 === 0 ? points[(from + kill / 2) % points.length]! : undefined;
    yield point && { ...point, nth: 1 + Math.floor(kill / (2 * points.length)) + random.between(0, 1) };
  }
}

/** After a restart, what was interrupted continues by itself. */
async function continues(session: Session, child: ChildHandle, report: KillReport): Promise<void> {
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
    if (took > HANGS_AFTER_MS)
      return void report.problems.push(`I12 ${same.join()} did not continue after a restart`);
    await delay(5);
  }
}

/** Keeps the child busy until it dies, or until it has had its messages. */
async function work(session: Session, child: ChildHandle, point: KillPoint | undefined): Promise<void> {
  const { random } = session;
  const messages = point ? MESSAGES : random.between(1, 12);
  for (let message = 0; child.isAlive && message < messages; message++) {
    const sending = session.send(
      child,
      random.pick(session.threads),
      random.pick(TOOLS),
      random.chance(0.3) ? "queue" : "message",
      random.chance(0.5),
    );
    if (random.chance(0.5)) await sending;
    if (random.chance(0.4)) await session.decideAll([child], () => random.chance(0.7));
    await delay(random.between(0, 25));
    await sending;
  }
}

/** Lets everything come to rest in a process that is not killed, and checks. */
async function settle(session: Session, config: ChildConfig, report: KillReport): Promise<void> {
  const child = new ChildHandle({ ...config, chunkDelayMs: 0 });
  try {
    await child.ready;
    await session.resend(child);
    await session.rest([child], () => session.random.chance(0.7));
    report.problems.push(...(await session.problems()));
  } catch (error) {
    report.problems.push(`I12 ${String(error)}`);
  } finally {
    await child.kill();
  }
}
