import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { AgentError } from "@selvedge/core/errors";
import {
  type Change,
  insert,
  MESSAGES,
  realSystem,
  RESOURCES,
  type Storage,
  update,
} from "@selvedge/core/storage";
import { cuttingProxy } from "@selvedge/testing";
import { Random } from "@selvedge/testing/simulator";
import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../__fixtures__/embedded-server.ts";
import { PostgresStore } from "./postgres-store.ts";

const WRITER = fileURLToPath(new URL("../__fixtures__/writer.ts", import.meta.url));

const found = await startPostgres();
if ("missing" in found) console.warn(`skipped: faults of PostgreSQL: ${found.missing}`);
const { connectionString, query, stop } = found as PostgresServer;

function open(schemaName: string, url = connectionString): Storage {
  return new PostgresStore({ connectionString: url, schemaName });
}

/** Whoever waits in vain runs into the timeout of the test. */
async function until(reached: () => boolean): Promise<void> {
  while (!reached()) await wait(5);
}

/** A writer in a process of its own, with all it has printed so far. */
class Writer {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  constructor(schema: string, name: string, commits: number) {
    const flags = ["--conditions=selvedge-source", "--disable-warning=ExperimentalWarning"];
    const args = [...flags, WRITER, connectionString, schema, name, String(commits)];
    this.#child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#ended = once(this.#child, "close");
    createInterface({ input: this.#child.stdout! }).on("line", (line) => this.lines.push(line));
  }

  go(): void {
    this.#child.stdin!.write("go\n");
  }

  async until(count: number): Promise<void> {
    while (this.lines.length < count && this.#child.exitCode === null)
      await once(this.#child.stdout!, "data");
  }

  async end(): Promise<void> {
    await this.#ended;
  }

  kill(): Promise<unknown> {
    this.#child.kill("SIGKILL");
    return this.#ended;
  }
}

describe.skipIf("missing" in found)("PostgreSQL", () => {
  afterAll(() => stop());

  it("holds whole commits and every acknowledged one after a writer was killed, and the other goes on", async () => {
    const killed = new Writer("kill", "killed", 1_000_000);
    const living = new Writer("kill", "living", 300);
    await Promise.all([killed.until(1), living.until(1)]);
    killed.go();
    living.go();
    await Promise.all([killed.until(50), living.until(50)]);
    await killed.kill();
    await living.end();
    expect(living.lines.at(-1)).toBe("299");
    const storage = open("kill");
    const [counter] = await storage.select({ table: RESOURCES, where: { id: "counter" } });
    const messages = await storage.select({ table: MESSAGES, columns: ["id"] });
    expect(counter!.version).toBe(messages.length);
    const ids = new Set(messages.map(({ id }) => id));
    for (const { lines, name } of [
      { lines: killed.lines, name: "killed" },
      { lines: living.lines, name: "living" },
    ])
      for (const line of lines.slice(1)) expect(ids.has(`${name}-${line}`), line).toBe(true);
    await storage.close();
  });

  // The kernel's timers are visible in /proc, which only Linux has.
  it.runIf(process.platform === "linux")("checks idle connections every few seconds", async () => {
    const storage = open("idle");
    await storage.init();
    const changes: Change[] = [];
    const stopWatching = storage.watch((change) => changes.push(change));
    await until(() => changes.includes("unknown"));
    const port = Number(new URL(connectionString).port).toString(16).toUpperCase().padStart(4, "0");
    // The timer 02 keeps a connection alive; it is in hundredths of a second.
    const kept = (): number =>
      ["tcp", "tcp6"]
        .flatMap((name) => readFileSync(`/proc/net/${name}`, "utf8").split("\n"))
        .filter((row) => {
          const [, , remote, , , timer = ""] = row.trim().split(/\s+/);
          const [kind, when = ""] = timer.split(":");
          return remote?.endsWith(`:${port}`) && kind === "02" && Number.parseInt(when, 16) < 2_000;
        }).length;
    // One of the pool, and the one that listens.
    await expect.poll(kept).toBeGreaterThanOrEqual(2);
    stopWatching();
    await storage.close();
  });

  it("says that it cannot tell what changed after the connection that listens was lost", async () => {
    const [storage, other] = [open("news"), open("news")];
    await storage.init();
    const changes: Change[] = [];
    const stopWatching = storage.watch((change) => changes.push(change));
    await until(() => changes.includes("unknown"));
    await query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'");
    await until(() => changes.length === 2);
    await other.commit([insert(RESOURCES, { id: "a" })]);
    await until(() => changes.length === 3);
    expect(changes).toEqual(["unknown", "unknown", { keys: new Set(["a"]) }]);
    stopWatching();
    await storage.close();
    await other.close();
  });

  it("waits for its turn when others keep all connections for longer than connecting may take", async () => {
    // The time for which a server is waited for passes in a moment.
    const system = { ...realSystem, monotonic: () => performance.now() * 100 };
    const storage = new PostgresStore({ connectionString, schemaName: "busy", max: 1, system });
    await storage.commit([insert(RESOURCES, { id: "a" })]);
    const other = new pg.Client({ connectionString });
    await other.connect();
    await other.query("BEGIN; LOCK TABLE busy.selvedge_resources IN ACCESS EXCLUSIVE MODE");
    const [blocked, waiting] = [storage.count({ table: RESOURCES }), storage.count({ table: MESSAGES })];
    await wait(11_000);
    await other.query("COMMIT");
    expect(await Promise.all([blocked, waiting])).toEqual([1, 0]);
    await other.end();
    await storage.close();
  });

  it("continues in a pool of the caller after the server ended its idle connections", async () => {
    const pool = new pg.Pool({ connectionString, pipeline: true, application_name: "pool of a caller" });
    const storage = new PostgresStore({ pool, schemaName: "ended" });
    await storage.commit([insert(RESOURCES, { id: "before" })]);
    await query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pool of a caller'",
    );
    await until(() => pool.totalCount === 0);
    await storage.commit([insert(RESOURCES, { id: "after" })]);
    expect(await storage.count({ table: RESOURCES })).toBe(2);
    await storage.close();
    await pool.end();
  });

  it("sends a commit again if the server ends the connection at that moment, as it was idle for too long", async () => {
    const url = `${connectionString}?options=-c%20idle_session_timeout%3D50`;
    const storage = new PostgresStore({ connectionString: url, schemaName: "idle", max: 1 });
    await storage.init();
    for (let at = 0; at < 5; at++) {
      // The connection ends while this process is busy and does not notice.
      const end = performance.now() + 150;
      while (performance.now() < end);
      await storage.commit([insert(RESOURCES, { id: `${at}` })]);
    }
    expect(await storage.count({ table: RESOURCES })).toBe(5);
    await storage.close();
  });

  it("carries out each commit with an id once while connections are cut at any byte, in both directions", async () => {
    const random = new Random(3);
    const proxy = await cuttingProxy(Number(new URL(connectionString).port));
    const url = new URL(connectionString);
    url.port = new URL(proxy.url).port;
    const storage = open("cut", url.href);
    await storage.init();
    await storage.commit([insert(RESOURCES, { id: "counter", version: 0 })]);
    // Opening a connection takes about 500 bytes of answers, a commit about 150.
    proxy.limit = () => random.between(500, 3_000);
    proxy.requestLimit = () => random.between(300, 6_000);
    proxy.cutAll();
    const acknowledged: string[] = [];
    const lane = async (lane: number): Promise<void> => {
      for (let at = 0; at < 25; at++) {
        const id = `${lane}-${at}`;
        const writes = [
          insert(MESSAGES, { id, thread_id: "t", role: "user", content: {}, created_at: 0 }),
          update(RESOURCES, { where: { id: "counter" }, increment: { version: 1 }, require: true }),
        ];
        try {
          await storage.commit(writes, { id });
          acknowledged.push(id);
        } catch (error) {
          if (!AgentError.is(error, "storage-failed")) throw error;
        }
      }
    };
    await Promise.all([0, 1, 2, 3].map(lane));
    await storage.close();
    const cuts = proxy.cuts;
    await proxy.close();
    const direct = open("cut");
    const messages = await direct.select({ table: MESSAGES, columns: ["id"] });
    const [counter] = await direct.select({ table: RESOURCES });
    await direct.close();
    expect(cuts).toBeGreaterThan(20);
    expect(counter!.version).toBe(messages.length);
    expect(messages.map(({ id }) => id)).toEqual(expect.arrayContaining(acknowledged));
    expect(acknowledged.length).toBeGreaterThan(50);
  });
});
