import { setTimeout as delay } from "node:timers/promises";
import { cuttingProxy } from "@selvedge/testing";
import { ChildHandle } from "../kill/child-handle.ts";
import { postgresStore } from "../kill/postgres-store.ts";
import { Session } from "../kill/session.ts";
import { leaseFor } from "../kill/store-factory.ts";
import { startPair } from "./pair-of-servers.ts";

export interface FailoverReport {
  failovers: number;
  acknowledged: number;
  /** From the death of the primary to the first acknowledgement by the standby. */
  slowestPauseMs: number;
  /** Acknowledged messages that the standby does not have. Only an asynchronous one may lose any. */
  lost: number;
  problems: string[];
  skipped?: string;
}

const TOOLS = [[], ["idempotent"], ["plain", "idempotent"]] as const;

/** Kills the primary while two processes work on it, and promotes its standby. Runs must continue by themselves. */
export async function runFailovers(options: {
  isSynchronous: boolean;
  rounds: number;
  seed: number;
  onRound?: (round: number) => void;
}): Promise<FailoverReport> {
  const report: FailoverReport = { failovers: 0, acknowledged: 0, slowestPauseMs: 0, lost: 0, problems: [] };
  for (let round = 0; round < options.rounds && report.problems.length === 0; round++) {
    const skipped = await failOver(options.isSynchronous, options.seed + round, report);
    if (skipped !== undefined) return { ...report, skipped };
    report.failovers++;
    options.onRound?.(report.failovers);
  }
  return report;
}

async function failOver(
  isSynchronous: boolean,
  seed: number,
  report: FailoverReport,
): Promise<string | undefined> {
  const pair = await startPair(isSynchronous);
  if ("missing" in pair) return pair.missing;
  const proxy = await cuttingProxy(pair.primary);
  const port = new URL(proxy.url).port;
  const factory = postgresStore(`postgresql://postgres@127.0.0.1:${port}/postgres`);
  const session = await Session.open({ factory, seed, threads: 5 });
  const { random } = session;
  const config = { ...session.config, lease: leaseFor(factory), chunkDelayMs: 2 };
  const children = [new ChildHandle(config), new ChildHandle(config)];
  const send = (): Promise<{ acknowledged: boolean }> =>
    session.send(random.pick(children), random.pick(session.threads), random.pick(TOOLS), "message", true);
  try {
    await Promise.all(children.map((child) => child.ready));
    const sending: Promise<unknown>[] = [];
    for (let count = 0; count < 25; count++) {
      sending.push(send());
      await delay(random.between(0, 40));
    }
    pair.kill();
    const began = performance.now();
    sending.push(send());
    await pair.promote();
    proxy.port = pair.standby;
    while (!(await send()).acknowledged) await delay(10);
    report.slowestPauseMs = Math.max(report.slowestPauseMs, performance.now() - began);
    await Promise.all(sending);
    await session.resend(children[0]!);
    await session.rest(children, () => true);
    const problems = await session.problems();
    report.acknowledged += session.sent.filter((sent) => sent.acknowledged).length;
    report.lost += problems.filter((problem) => problem.startsWith("I1 ")).length;
    // What an asynchronous standby lacks is lost with all its traces.
    if (isSynchronous) report.problems.push(...problems);
  } catch (error) {
    report.problems.push(`I12 ${String(error)}`);
  } finally {
    await Promise.all(children.map((child) => child.kill()));
    await session.close();
    await proxy.close();
    await pair.stop();
  }
  return undefined;
}
