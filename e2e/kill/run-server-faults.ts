import { setTimeout as delay } from "node:timers/promises";
import { cuttingProxy } from "@selvedge/testing";
import { startPostgres } from "../../packages/pg/src/__fixtures__/embedded-server.ts";
import { ChildHandle } from "./child-handle.ts";
import { postgresStore } from "./postgres-store.ts";
import { Session } from "./session.ts";
import { leaseFor } from "./store-factory.ts";

/** What happens to the server: connections cut at random bytes, all of them ended by an admin, or the server killed. */
export const HARMS = ["cut", "terminate", "crash"] as const;
export type Harm = (typeof HARMS)[number];

export interface ServerFaultReport {
  harms: number;
  acknowledged: number;
  /** The longest that a sender waited for its acknowledgement. */
  slowestMs: number;
  problems: string[];
  skipped?: string;
}

const TOOLS = [[], ["plain"], ["plain", "idempotent"], ["approve"]] as const;

/** Harms a PostgreSQL server again and again while two processes work on it, and checks what is left. */
export async function runServerFaults(options: {
  harm: Harm;
  /** How many there are at least. A round of cuts cuts several connections. */
  harms: number;
  seed: number;
  onRound?: (round: number) => void;
}): Promise<ServerFaultReport> {
  const report: ServerFaultReport = { harms: 0, acknowledged: 0, slowestMs: 0, problems: [] };
  const server = await startPostgres();
  if ("missing" in server) return { ...report, skipped: server.missing };
  const proxy = await cuttingProxy(Number(new URL(server.connectionString).port));
  const url = new URL(server.connectionString);
  url.port = new URL(proxy.url).port;
  const factory = postgresStore(options.harm === "cut" ? url.href : server.connectionString);
  const session = await Session.open({ factory, seed: options.seed, threads: 6 });
  const { random } = session;
  const config = { ...session.config, lease: leaseFor(factory), chunkDelayMs: 1 };
  const children = [new ChildHandle(config), new ChildHandle(config)];
  const senders = new Set<Promise<unknown>>();

  const send = async (): Promise<void> => {
    const began = performance.now();
    const [child, api] = [random.pick(children), random.chance(0.3) ? "queue" : "message"] as const;
    const { acknowledged } = await session.send(
      child,
      random.pick(session.threads),
      random.pick(TOOLS),
      api,
      true,
    );
    if (acknowledged) report.slowestMs = Math.max(report.slowestMs, performance.now() - began);
  };
  const harm = async (): Promise<void> => {
    if (options.harm === "crash") return server.crash(random.between(0, 1_500));
    if (options.harm === "terminate") return void (await server.query(TERMINATE_ALL));
    // Opening a connection takes about 500 bytes of answers, a commit a few hundred in each direction.
    proxy.limit = () => random.between(1, 4_000);
    proxy.requestLimit = () => random.between(1, 12_000);
    proxy.cutAll();
    await delay(random.between(20, 200));
    proxy.limit = proxy.requestLimit = undefined;
    proxy.cutAll();
  };
  try {
    await Promise.all(children.map((child) => child.ready));
    for (let round = 1; report.harms < options.harms && report.problems.length === 0; round++) {
      for (let count = random.between(1, 4); count > 0; count--) {
        const sending = send().finally(() => senders.delete(sending));
        senders.add(sending);
      }
      await delay(random.between(0, 60));
      await harm();
      report.harms = options.harm === "cut" ? proxy.cuts : round;
      options.onRound?.(report.harms);
      if (round % 10 === 0 || report.harms >= options.harms) {
        await Promise.all(senders);
        await session.resend(children[0]!);
        await session.rest(children, () => random.chance(0.7));
        report.problems.push(...(await session.problems()));
      } else if (random.chance(0.3)) await session.decideAll(children.slice(0, 1), () => random.chance(0.7));
    }
    report.acknowledged = session.sent.filter((sent) => sent.acknowledged).length;
    const ended = children.filter((child) => !child.isAlive).length;
    if (ended > 0) report.problems.push(`${ended} processes ended`);
    return report;
  } catch (error) {
    return { ...report, problems: [...report.problems, `I12 ${String(error)}`] };
  } finally {
    await Promise.all(children.map((child) => child.kill()));
    await session.close();
    await proxy.close();
    await server.stop();
  }
}

const TERMINATE_ALL =
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'";
