import { setTimeout as delay } from "node:timers/promises";
import { ChildHandle } from "./child-handle.ts";
import { Inboxes, pick } from "./inboxes.ts";
import { RECORD_POINTS } from "./kill-points.ts";
import type { KillPoint } from "./protocol.ts";
import { Session } from "./session.ts";

export interface DispatchReport {
  kills: number;
  /** Kills that happened at the named point; the others came when the child had not got there in time. */
  atPoint: number;
  sent: number;
  acknowledged: number;
  problems: string[];
}

const LEASE = { leaseMs: 15_000, renewMs: 5_000 };
const SETTLE_EVERY = 8;

/** Two processes file and dispatch notifications on one file, and one of them is killed again and again. */
export async function runDispatches(options: {
  kills: number;
  onKill?: (kill: number, where: string) => void;
}): Promise<DispatchReport> {
  const session = new Session(3);
  const inboxes = new Inboxes(session);
  const report: DispatchReport = { kills: 0, atPoint: 0, sent: 0, acknowledged: 0, problems: [] };
  const start = (kill?: KillPoint) =>
    new ChildHandle({
      file: session.file,
      effects: session.effects,
      lease: LEASE,
      chunkDelayMs: 1,
      dispatches: true,
      ...(kill && { kill }),
    });
  const survivor = start();
  try {
    await survivor.ready;
    for (const point of plan(options.kills)) {
      const child = start(point);
      await child.ready;
      await work(session, inboxes, [child, survivor], point);
      if (point && !child.isAlive) report.atPoint++;
      await child.kill();
      report.kills++;
      options.onKill?.(report.kills, point ? `${point.when} ${point.name} ${point.nth}` : "at a random time");
      if (report.kills % SETTLE_EVERY === 0) await settle(session, inboxes, survivor, start, report);
      if (report.problems.length > 0) break;
    }
    await settle(session, inboxes, survivor, start, report);
    report.sent = inboxes.sent;
    report.acknowledged = [...inboxes.acknowledged.values()].reduce((sum, count) => sum + count, 0);
    return report;
  } finally {
    await survivor.kill();
    await session.close();
  }
}

/** Before and after each named point, and every third at a random time. */
function* plan(kills: number): Generator<KillPoint | undefined> {
  const points: KillPoint[] = RECORD_POINTS.flatMap((name) => [
    { name, when: "before" as const, nth: 1 },
    { name, when: "after" as const, nth: 1 },
  ]);
  for (let kill = 0, next = 0; kill < kills; kill++) {
    if (kill % 3 === 2) yield undefined;
    else yield { ...points[next++ % points.length]!, nth: 1 + Math.floor(Math.random() * 3) };
  }
}

/** Keeps both busy until the first one dies, at the latest after a while. */
async function work(
  session: Session,
  inboxes: Inboxes,
  children: readonly [ChildHandle, ChildHandle],
  point: KillPoint | undefined,
): Promise<void> {
  const [mortal] = children;
  const until = performance.now() + (point ? 3_000 : Math.random() * 1_500);
  while (mortal.isAlive && performance.now() < until) {
    const threadId = pick(session.threads);
    // The same thread at the same instant, through both.
    const sending = children.map((child) => inboxes.notify(child, threadId));
    if (Math.random() < 0.3)
      sending.push(session.send(pick(children), threadId, [], "message", true).then(() => {}));
    if (Math.random() < 0.1)
      sending.push(
        pick(children)
          .call({ do: "read", threadId })
          .then(() => {}),
      );
    await Promise.all(sending);
    await delay(Math.random() * 60);
  }
}

/** A new process repairs what the dead ones held; then everything must have arrived. */
async function settle(
  session: Session,
  inboxes: Inboxes,
  survivor: ChildHandle,
  start: () => ChildHandle,
  report: DispatchReport,
): Promise<void> {
  const child = start();
  try {
    await child.ready;
    await inboxes.rest([child, survivor], 20_000);
    report.problems.push(...(await inboxes.problems()), ...(await session.problems()));
  } catch (error) {
    report.problems.push(`I7 ${String(error)}`);
  } finally {
    await child.kill();
  }
}
