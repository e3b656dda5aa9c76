import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Storage } from "@selvedge/core/storage";
import { LibSQLStore } from "@selvedge/libsql";
import { PostgresStore } from "@selvedge/pg";
import { startPostgres } from "../packages/pg/src/__fixtures__/embedded-server.ts";
import { openApp, quantile, sentNow } from "./bench-postgres/bench-app.ts";

// Replies, loops and workers on PostgreSQL, beside libSQL: npm run bench:postgres. One part: -- --only turns

const { values } = parseArgs({
  options: {
    reps: { type: "string", default: "60" },
    seconds: { type: "string", default: "8" },
    threads: { type: "string", default: "16" },
    workers: { type: "string", default: "1,2,4" },
    only: { type: "string", default: "turns,workers,readers" },
  },
});

const TURNS = [
  { title: "reply", steps: 0, isFirst: true },
  { title: "reply with history", steps: 0, isFirst: false },
  { title: "10-step loop", steps: 10, isFirst: true },
] as const;

const server = await startPostgres(["-c", "fsync=on", "-c", "max_connections=200"]);
if ("missing" in server) throw new Error(server.missing);
const { connectionString, query } = server;
const folder = mkdtempSync(join(tmpdir(), "selvedge-bench-"));
const trips = await countingProxy(Number(new URL(connectionString).port));
try {
  const parts = { turns, workers, readers };
  for (const [name, part] of Object.entries(parts)) if (values.only.split(",").includes(name)) await part();
} finally {
  trips.close();
  rmSync(folder, { recursive: true });
  await server.stop();
}

/** A short reply, on an empty thread and on one with a history, and a loop of ten steps. */
async function turns(): Promise<void> {
  const postgres =
    (durability: "power-safe" | "process-safe", url = connectionString) =>
    (): Storage =>
      new PostgresStore({ connectionString: url, schemaName: durability.replace("-", "_"), durability });
  const stores: [name: string, open: () => Storage][] = [
    ["libSQL process-safe", () => new LibSQLStore({ url: `file:${join(folder, "a.db")}` })],
    [
      "libSQL power-safe",
      () => new LibSQLStore({ url: `file:${join(folder, "b.db")}`, durability: "power-safe" }),
    ],
    ["PostgreSQL process-safe", postgres("process-safe")],
    ["PostgreSQL power-safe", postgres("power-safe")],
  ];
  const rows: string[][] = [];
  for (const [name, open] of stores) {
    for (const kind of TURNS) {
      const { p50, p99, commits, reads } = await measure(open, kind, Number(values.reps));
      let flights = "-";
      if (name.startsWith("PostgreSQL")) {
        const before = trips.count;
        const reps = 20;
        await measure(postgres("power-safe", trips.url), kind, reps, () => void (trips.count = before));
        flights = ((trips.count - before) / reps).toFixed(1);
      }
      rows.push([name, kind.title, ms(p50), ms(p99), commits.toFixed(1), reads.toFixed(1), flights]);
    }
  }
  print(["store", "turn", "p50", "p99", "commits", "reads", "round trips"], rows);
}

async function measure(
  open: () => Storage,
  { steps, isFirst }: (typeof TURNS)[number],
  reps: number,
  onWarm = (): void => {},
) {
  const { agent, mastra, counts } = openApp(open(), (done) =>
    done < steps ? { toolCalls: [{ toolName: "step", input: {} }] } : { text: ["One ", "moment."] },
  );
  await mastra.start();
  const turn = (thread: string) => agent.generate("What next?", { memory: { thread, resource: "bench" } });
  const run = crypto.randomUUID();
  for (let index = 0; index < 15; index++) await turn(`warm-${run}-${index}`);
  Object.assign(counts, { commits: 0, transactions: 0, reads: 0 });
  onWarm();
  const took: number[] = [];
  for (let index = 0; index < reps; index++) {
    const began = performance.now();
    await turn(isFirst ? `${run}-${index}` : `warm-${run}-${index % 15}`);
    took.push(performance.now() - began);
  }
  const result = { commits: counts.commits / reps, reads: counts.reads / reps };
  await mastra.close();
  return { p50: quantile(took, 0.5), p99: quantile(took, 0.99), ...result };
}

/** Models take 200 ms and stream 20 chunks. Each worker has its own threads. */
async function workers(): Promise<void> {
  const [{ data_directory: data }] = (await query("SHOW data_directory")) as [{ data_directory: string }];
  const postmaster = Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]);
  const wal = async (): Promise<number> =>
    Number((await query("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn AS bytes"))[0]!["bytes"]);
  const rows: string[][] = [];
  for (const count of values.workers.split(",").map(Number)) {
    const file = new URL("bench-postgres/worker.ts", import.meta.url);
    const children = Array.from({ length: count }, (_, index) =>
      fork(file, [connectionString, `workers_${count}`, `w${index}`, values.threads, values.seconds], {
        execArgv: ["--conditions=selvedge-source", "--no-warnings"],
      }),
    );
    await Promise.all(children.map((child) => once(child, "message")));
    const [walBefore, cpuBefore] = [await wal(), serverCpuMs(postmaster)];
    for (const child of children) child.send("go");
    const reports = (await Promise.all(children.map((child) => once(child, "message")))).map(
      ([report]) => report as { took: number[]; commits: number; transactions: number; reads: number },
    );
    const [walAfter, cpuAfter] = [await wal(), serverCpuMs(postmaster)];
    const took = reports.flatMap((report) => report.took);
    const per = (sum: number): string => (sum / took.length).toFixed(1);
    rows.push([
      String(count),
      (took.length / Number(values.seconds)).toFixed(0),
      ms(quantile(took, 0.5)),
      ms(quantile(took, 0.99)),
      per(reports.reduce((sum, { commits }) => sum + commits, 0)),
      per(reports.reduce((sum, { transactions }) => sum + transactions, 0)),
      per(reports.reduce((sum, { reads }) => sum + reads, 0)),
      `${per(cpuAfter - cpuBefore)} ms`,
      `${per((walAfter - walBefore) / 1_024)} KiB`,
    ]);
    for (const child of children) if (child.exitCode === null) await once(child, "exit");
  }
  print(
    [
      "workers",
      "turns/s",
      "p50",
      "p99",
      "commits/turn",
      "transactions/turn",
      "reads/turn",
      "server CPU/turn",
      "WAL/turn",
    ],
    rows,
  );
}

/** A reader in another store object than the run, as in another process. */
async function readers(): Promise<void> {
  const open = (): Storage => new PostgresStore({ connectionString, schemaName: "readers" });
  const script = () => ({ text: Array.from({ length: 200 }, () => "time"), chunkDelayMs: 10 });
  const [runs, reads] = [openApp(open(), script), openApp(open(), script)];
  const thread = { threadId: "t", resourceId: "r" };
  await runs.agent.generate("Warm up.", { memory: { thread: "w", resource: "r" } });
  const { stream } = await reads.agent.subscribeToThread(thread);
  const took: number[] = [];
  await runs.agent.sendMessage("Go.", thread).admitted;
  for await (const chunk of stream) {
    if (chunk.type === "text-delta") took.push(Number(sentNow()) - Number(chunk.payload.text));
    if (chunk.type === "finish") break;
  }
  await runs.mastra.close();
  await reads.mastra.close();
  print(
    ["reader on another worker", "p50", "p99"],
    [[`${took.length} chunks`, ms(quantile(took, 0.5)), ms(quantile(took, 0.99))]],
  );
}

/** The time that the backends of the server have used, with those that ended, from /proc. */
function serverCpuMs(postmaster: number): number {
  let ticks = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
      const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number) as [
        number,
        number,
        number,
        number,
      ];
      if (Number(fields[1]) === postmaster) ticks += user + system;
      if (Number(pid) === postmaster) ticks += endedUser + endedSystem;
    } catch {
      // It ended.
    }
  }
  return ticks * 10;
}

/** Counts how often a client sends something. */
async function countingProxy(port: number) {
  const proxy = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    client.on("data", () => void counter.count++);
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) socket.on("error", () => {}).setNoDelay();
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const url = new URL(connectionString);
  url.port = String((proxy.address() as AddressInfo).port);
  const counter = { count: 0, url: url.href, close: () => void proxy.close() };
  return counter;
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}

function print(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  console.log(`${lines.join("\n")}\n`);
}
