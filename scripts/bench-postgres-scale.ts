import { fork } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { setTimeout as wait } from "node:timers/promises";
import { PostgresStore } from "@selvedge/pg";
import { startPostgres } from "../packages/pg/src/__fixtures__/embedded-server.ts";
import { LEASE, openApp, quantile } from "./bench-postgres/bench-app.ts";

// Many idle readers, and many idle threads, on PostgreSQL: npm run bench:postgres-scale

const { values } = parseArgs({
  options: {
    readers: { type: "string", default: "10000" },
    rate: { type: "string", default: "1000" },
    threads: { type: "string", default: "1000,1000000" },
    seconds: { type: "string", default: "10" },
  },
});
const FLAGS = ["--conditions=selvedge-source", "--no-warnings"];
const FILLED_AT_ONCE = 50_000;

const server = await startPostgres(["-c", "max_connections=200", "-c", "shared_buffers=512MB"]);
if ("missing" in server) throw new Error(server.missing);
const { connectionString, query } = server;
try {
  await idleReaders();
  await idleThreads();
} finally {
  await server.stop();
}

/** Readers of threads on which nothing happens, while another worker commits on others. */
async function idleReaders(): Promise<void> {
  const schemaName = "readers";
  const rows: string[][] = [];
  for (const [readers, rate] of [
    [0, 0],
    [0, Number(values.rate)],
    [Number(values.readers), 0],
    [Number(values.readers), Number(values.rate)],
  ] as const) {
    const store = new PostgresStore({ connectionString, schemaName });
    const { agent, mastra, counts } = openApp(store, () => "Hello.");
    await mastra.start();
    const address = (index: number) => ({ threadId: `idle-${index}`, resourceId: "bench" });
    const streams = [];
    for (let from = 0; from < readers; from += 100)
      streams.push(
        ...(await Promise.all(
          Array.from({ length: Math.min(100, readers - from) }, (_, index) =>
            agent.subscribeToThread(address(from + index)),
          ),
        )),
      );
    const reading = streams.map(async ({ stream }) => {
      for await (const _ of stream) break;
    });
    const writer = rate > 0 ? committer(schemaName, rate) : undefined;
    await writer?.ready;
    // Every reader first finds out where its thread is.
    const settling = performance.now();
    for (let before = -1; counts.reads - before > 20; await wait(1_000)) before = counts.reads;
    const settled = performance.now() - settling;
    counts.reads = 0;
    const before = process.cpuUsage();
    await wait(Number(values.seconds) * 1_000);
    const { user, system } = process.cpuUsage(before);
    const reads = counts.reads / Number(values.seconds);
    // One of them still hears of its thread.
    const began = performance.now();
    if (readers > 0) {
      await agent.sendMessage("Hello?", address(readers - 1)).admitted;
      await reading.at(-1);
    }
    const woke = performance.now() - began;
    const done = await writer?.stop();
    for (const stream of streams) stream.unsubscribe();
    await Promise.allSettled(reading);
    await mastra.close();
    rows.push([
      String(readers),
      done ? done.perSecond.toFixed(0) : "0",
      `${((user + system) / 10_000 / Number(values.seconds)).toFixed(1)} %`,
      reads.toFixed(1),
      readers > 0 ? `${(settled / 1_000).toFixed(0)} s` : "-",
      `${(process.memoryUsage().rss / 1_048_576).toFixed(0)} MiB`,
      readers > 0 ? ms(woke) : "-",
    ]);
  }
  print(
    [
      "idle readers",
      "foreign commits/s",
      "CPU of the worker",
      "reads/s",
      "began within",
      "RSS",
      "first chunk after a message",
    ],
    rows,
  );
}

function committer(schemaName: string, rate: number) {
  const file = new URL("bench-postgres/committer.ts", import.meta.url);
  const child = fork(file, [connectionString, schemaName, String(rate)], { execArgv: FLAGS });
  return {
    ready: once(child, "message"),
    stop: async (): Promise<{ perSecond: number }> => {
      const report = once(child, "message");
      child.send("stop");
      const [done] = (await report) as [{ perSecond: number }];
      await once(child, "exit");
      return done;
    },
  };
}

/** Looking for work, waking a thread and taking over from a dead worker, with few and with many idle threads. */
async function idleThreads(): Promise<void> {
  const schemaName = "idle";
  const rows: string[][] = [];
  let present = 0;
  const template = openApp(new PostgresStore({ connectionString, schemaName }), () => "Hello.");
  await template.agent.generate("Hello?", { memory: { thread: "template", resource: "bench" } });
  await template.mastra.close();
  for (const count of values.threads.split(",").map(Number)) {
    const filling = performance.now();
    for (; present < count; present += Math.min(FILLED_AT_ONCE, count - present))
      await fill(schemaName, present, Math.min(present + FILLED_AT_ONCE, count));
    await query(`ANALYZE`);
    const filled = (performance.now() - filling) / 1_000;
    const { agent, mastra, counts } = openApp(
      new PostgresStore({ connectionString, schemaName }),
      () => "Hello.",
      { lease: LEASE },
    );
    const opening = performance.now();
    await mastra.start();
    const started = performance.now() - opening;
    for (let index = 0; index < 10; index++) await turn(`warm-${count}-${index}`);
    counts.reads = 0;
    const before = process.cpuUsage();
    await wait(Number(values.seconds) * 1_000);
    const { user, system } = process.cpuUsage(before);
    const looks = counts.reads / Number(values.seconds);
    const took: number[] = [];
    for (let index = 0; index < 60; index++) {
      const began = performance.now();
      await turn(`idle-${Math.floor((index * count) / 60)}`);
      took.push(performance.now() - began);
    }
    const recovery = await takeOver(agent, schemaName, `victim-${count}`);
    await mastra.close();
    const [{ size }] = (await query(
      `SELECT pg_size_pretty(sum(pg_total_relation_size(c.oid))) AS size FROM pg_class c
       JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '${schemaName}' AND c.relkind = 'r'`,
    )) as [{ size: string }];
    rows.push([
      String(count),
      `${filled.toFixed(0)} s, ${size}`,
      ms(started),
      `${looks.toFixed(1)}, ${((user + system) / 10_000 / Number(values.seconds)).toFixed(1)} %`,
      `${ms(quantile(took, 0.5))}, ${ms(quantile(took, 0.99))}`,
      ms(recovery),
    ]);

    async function turn(thread: string): Promise<void> {
      await agent.generate("And now?", { memory: { thread, resource: "bench" } });
    }
  }
  print(
    [
      "idle threads",
      "filled in",
      "start",
      "idle: reads/s, CPU",
      "reply p50, p99",
      "20 runs of a killed worker are finished after",
    ],
    rows,
  );
}

/** From the kill of a worker to the end of its runs here. The lease is a part of it. */
async function takeOver(agent: ReturnType<typeof openApp>["agent"], schemaName: string, name: string) {
  const file = new URL("bench-postgres/victim.ts", import.meta.url);
  const child = fork(file, [connectionString, schemaName, name, "20"], { execArgv: FLAGS });
  await once(child, "message");
  const streams = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      agent.subscribeToThread({ threadId: `${name}-${index}`, resourceId: name }),
    ),
  );
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
  const began = performance.now();
  await Promise.all(
    streams.map(async ({ stream }) => {
      for await (const chunk of stream) if (chunk.type === "finish") return;
    }),
  );
  return performance.now() - began;
}

/** Copies of the thread `template`, with the numbers from `first` on. */
async function fill(schema: string, first: number, end: number): Promise<void> {
  for (const [table, key] of [
    ["threads", "id"],
    ["actors", "thread_id"],
    ["messages", "thread_id"],
  ] as const) {
    const columns = (await query(
      `SELECT column_name AS name FROM information_schema.columns
       WHERE table_schema = '${schema}' AND table_name = 'selvedge_${table}' AND is_identity = 'NO'`,
    )) as { name: string }[];
    const values = columns.map(({ name }) => {
      if (name === key) return `'idle-' || n`;
      return table === "messages" && name === "id" ? `"id" || '-' || n` : `"${name}"`;
    });
    await query(
      `INSERT INTO ${schema}.selvedge_${table} (${columns.map(({ name }) => `"${name}"`).join(", ")})
       SELECT ${values.join(", ")} FROM ${schema}.selvedge_${table}, generate_series(${first}, ${end - 1}) AS n
       WHERE "${key}" = 'template'`,
    );
  }
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}

function print(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  console.log(`${lines.join("\n")}\n`);
}
