import { setTimeout as delay } from "node:timers/promises";
import { ChildHandle } from "./child-handle.ts";
import { Session } from "./session.ts";
import { HANGS_AFTER_MS, leaseFor, type StoreFactory } from "./store-factory.ts";

export interface TakeoverReport {
  rounds: number;
  /** Rounds in which a process ended with a thread in its hands. */
  takeovers: number;
  slowestMs: number;
  problems: string[];
}

/**
 * Two processes on one store. The one that works is killed, or closes in order, and is not started again before the other
 * has finished everything: only the living can take over.
 */
export async function runTakeovers(options: {
  factory: StoreFactory;
  rounds: number;
  seed: number;
  onRound?: (round: number) => void;
}): Promise<TakeoverReport> {
  const { factory, seed } = options;
  const session = await Session.open({ factory, seed, threads: 4 });
  const report: TakeoverReport = { rounds: 0, takeovers: 0, slowestMs: 0, problems: [] };
  const config = { ...session.config, lease: leaseFor(factory), chunkDelayMs: 5 };
  let living = new ChildHandle(config);
  try {
    await living.ready;
    for (let round = 0; round < options.rounds && report.problems.length === 0; round++) {
      const working = new ChildHandle(config);
      await working.ready;
      for (const threadId of session.threads) {
        await session.send(working, threadId, round % 2 === 0 ? ["plain"] : ["idempotent"], "message", false);
        await session.send(working, threadId, [], "queue", false);
      }
      await delay(session.random.between(0, 40));
      if (round % 3 === 2) {
        void working.call({ do: "close" });
        await working.exited;
      } else await working.kill();
      await takesOver(session, living, report);
      report.rounds++;
      options.onRound?.(report.rounds);
      // The survivor works next time, and a new one survives.
      await living.kill();
      living = new ChildHandle(config);
      await living.ready;
    }
    report.problems.push(...(await session.problems()));
    return report;
  } catch (error) {
    report.problems.push(String(error));
    return report;
  } finally {
    await living.kill();
    await session.close();
  }
}

async function takesOver(session: Session, living: ChildHandle, report: TakeoverReport): Promise<void> {
  const before = await session.state();
  if (before.running.length === 0 && before.letters === 0) return;
  report.takeovers++;
  const since = performance.now();
  for (;;) {
    const now = await session.state();
    const same = before.running.filter(
      (id) => now.running.includes(id) && now.fences.get(id) === before.fences.get(id),
    );
    const took = performance.now() - since;
    if (same.length === 0) {
      report.slowestMs = Math.max(report.slowestMs, took);
      break;
    }
    if (took > HANGS_AFTER_MS) return void report.problems.push(`I16 ${same.join()} not taken over`);
    await delay(10);
  }
  await session.rest([living], () => true);
}
