import { setTimeout as delay } from "node:timers/promises";
import { ChildHandle } from "./child-handle.ts";
import { Inboxes } from "./inboxes.ts";
import { RECORD_POINTS } from "./kill-points.ts";
import type { KillPoint } from "./protocol.ts";
import { Session } from "./session.ts";
import { leaseFor, type StoreFactory } from "./store-factory.ts";

export interface DispatchReport {
  kills: number;
  /** Kills that happened at the named point; the others came when the child had not got there. */
  atPoint: number;
  sent: number;
  acknowledged: number;
  problems: string[];
}

/** A child that is to die at a point gets so many rounds of work to get there. */
const ROUNDS = 120;
const SETTLE_EVERY = 8;

/** Two processes file and dispatch notifications on one store, and one of them is killed again and again. */
export async function runDispatches(options: {
  factory: StoreFactory;
  kills: number;
  seed: number;
  onRound?: (round: number) => void;
}): Promise<DispatchReport> {
  const { factory, seed } = options;
  const session = await Session.open({ factory, seed, threads: 3 });
  const inboxes = new Inboxes(session);
  const report: DispatchReport = { kills: 0, atPoint: 0, sent: 0, acknowledged: 0, problems: [] };
  const start = (kill?: KillPoint) =>
    new ChildHandle({
      ...session.config,
      lease: leaseFor(factory),
      chunkDelayMs: 1,
      dispatches: true,
      ...(kill && { kill }),
    });
  const survivor = start();
  try {
    await survivor.ready;
    for (const point of plan(session, options.kills)) {
      const child = start(point);
      await child.ready;
      await work(session, inboxes, [child, survivor], point);
      if (point && !child.isAlive) report.atPoint++;
      await child.kill();
      report.kills++;
      options.onRound?.(report.kills);
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

/** Before and after each named point, and every third at a random moment. */
function* plan({ random }: Session, kills: number): Generator<KillPoint | undefined> {
  const points: KillPoint[] = RECORD_POINTS.flatMap((name) => [
    { name, when: "before" as const, nth: 1 },
    { name, when: "after" as const, nth: 1 },
  ]);
  for (let kill = 0, next = random.between(0, points.length - 1); kill < kills; kill++) {
    if (kill % 3 === 2) yield undefined;
    else yield { ...points[next++ % points.length]!, nth: random.between(1, 3) };
  }
}

/** Keeps both busy until the first one dies, or has had its rounds. */
async function work(
  session: Session,
  inboxes: Inboxes,
  children: readonly [ChildHandle, ChildHandle],
  point: KillPoint | undefined,
): Promise<void> {
  const [mortal] = children;
  const { random } = session;
  const rounds = point ? ROUNDS : random.between(1, 40);
  for (let round = 0; mortal.isAlive && round < rounds; round++) {
    const threadId = random.pick(session.threads);
    // The same thread at the same instant, through both.
    const sending = children.map((child) => inboxes.notify(child, threadId));
    if (random.chance(0.3))
      sending.push(session.send(random.pick(children), threadId, [], "message", true).then(() => {}));
    if (random.chance(0.1))
      sending.push(
        random
          .pick(children)
          .call({ do: "read", threadId })
          .then(() => {}),
      );
    await Promise.all(sending);
    await delay(random.between(0, 60));
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
    await inboxes.rest([child, survivor]);
    report.problems.push(...(await inboxes.problems()), ...(await session.problems()));
  } catch (error) {
    report.problems.push(`I7 ${String(error)}`);
  } finally {
    await child.kill();
  }
}
